//! A host and a port: the server to ask, to which limits apply. RFC 3986 §3.2.

use std::fmt::{self, Write as _};

use roundtrip_model::Target;

/// Longer names, with their suffixes, do not fit into the 255 bytes of a file name.
const MAX_NAME: usize = 220;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authority {
    host: String,
    port: u16,
}

impl Authority {
    /// Ignores case and a trailing dot, because they do not change the host.
    pub fn new(host: &str, port: u16) -> Self {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        Self { host, port }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The start of the names of this authority's files; `None` if the host name is invalid.
    pub(super) fn file_name(&self) -> Option<String> {
        let mut name = String::with_capacity(self.host.len() + 8);
        for byte in self.host.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-' {
                name.push(char::from(byte));
            } else {
                let _ = write!(name, "%{byte:02x}");
            }
        }
        let _ = write!(name, "_{}", self.port);
        // A leading dot marks unfinished files.
        (name.len() <= MAX_NAME && !name.starts_with(['.', '_'])).then_some(name)
    }
}

impl From<&Target> for Authority {
    fn from(target: &Target) -> Self {
        Self::new(&target.host_name(), target.port)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        match self.port {
            443 => f.write_str(host),
            port if host.contains(':') => write!(f, "[{host}]:{port}"),
            port => write!(f, "{host}:{port}"),
        }
    }
}
