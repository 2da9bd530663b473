//! The key-exchange groups in use today, by number. IANA "TLS Supported Groups".

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(pub u16);

impl Group {
    pub const X25519: Self = Self(0x001d);
    pub const X25519_MLKEM768: Self = Self(0x11ec);

    /// The name in the IANA registry.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x0015 => "secp224r1",
            0x0016 => "secp256k1",
            0x0017 => "secp256r1",
            0x0018 => "secp384r1",
            0x0019 => "secp521r1",
            0x001a => "brainpoolP256r1",
            0x001b => "brainpoolP384r1",
            0x001c => "brainpoolP512r1",
            0x001d => "x25519",
            0x001e => "x448",
            0x001f => "brainpoolP256r1tls13",
            0x0020 => "brainpoolP384r1tls13",
            0x0021 => "brainpoolP512r1tls13",
            0x0029 => "curveSM2",
            0x0100 => "ffdhe2048",
            0x0101 => "ffdhe3072",
            0x0102 => "ffdhe4096",
            0x0103 => "ffdhe6144",
            0x0104 => "ffdhe8192",
            0x0200 => "MLKEM512",
            0x0201 => "MLKEM768",
            0x0202 => "MLKEM1024",
            0x11eb => "SecP256r1MLKEM768",
            0x11ec => "X25519MLKEM768",
            0x11ed => "SecP384r1MLKEM1024",
            0x6399 => "X25519Kyber768Draft00",
            0x639a => "SecP256r1Kyber768Draft00",
            _ => return None,
        })
    }

    /// Whether the group is safe against quantum computers; such a key share has over a kilobyte.
    pub fn is_post_quantum(self) -> bool {
        matches!(
            self.0,
            0x0200..=0x0202 | 0x11eb..=0x11ed | 0x6399 | 0x639a
        )
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}
