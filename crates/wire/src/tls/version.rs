//! Protocol versions and their names.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u16);

impl Version {
    pub const TLS12: Self = Self(0x0303);
    pub const TLS13: Self = Self(0x0304);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0x0300 => f.write_str("SSLv3"),
            0x0301 => f.write_str("TLSv1.0"),
            0x0302 => f.write_str("TLSv1.1"),
            0x0303 => f.write_str("TLSv1.2"),
            0x0304 => f.write_str("TLSv1.3"),
            other => write!(f, "{other:#06x}"),
        }
    }
}
