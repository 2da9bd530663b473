//! Server names in the form that TLS uses.

use roundtrip_model::excerpt;
use rustls::pki_types::ServerName;

use crate::TlsError;

/// Converts a host to a server name for certificate verification. IPv6 addresses come without
/// brackets.
pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    // A trailing dot makes a name absolute for resolvers; certificates do not use it. RFC 6066 §3.
    let bare = host.strip_suffix('.').unwrap_or(host);
    ServerName::try_from(bare.to_owned()).map_err(|_| TlsError::ServerName(excerpt(host, 80)))
}
