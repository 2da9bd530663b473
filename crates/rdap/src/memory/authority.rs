//! A host and a port: who is asked, and who must be asked politely. RFC 3986 §3.2.

use std::fmt::{self, Write as _};

use roundtrip_model::Target;

/// Longer names do not fit with their endings into the 255 bytes of a file's name.
const LONGEST_NAME: usize = 220;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authority {
    host: String,
    port: u16,
}

impl Authority {
    /// The same host in another case, or with the dot of the root, is the same host.
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

    /// How files of this authority begin; none if the host has no name that could be real.
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
        // Hidden files are those that are not yet in place.
        (name.len() <= LONGEST_NAME && !name.starts_with(['.', '_'])).then_some(name)
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
