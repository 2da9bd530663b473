//! Hosts as TLS knows them.

use rustls::pki_types::ServerName;

use crate::TlsError;

/// The name of a server for its certificate. An IPv6 address comes without brackets.
pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    // A trailing dot makes a name absolute for resolvers; certificates do not know it. RFC 6066 §3.
    let bare = host.strip_suffix('.').unwrap_or(host);
    ServerName::try_from(bare.to_owned())
        .map_err(|_| TlsError::ServerName(host.chars().take(80).collect()))
}
