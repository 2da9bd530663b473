//! The seed from which processes derive shared keys without talking to each other: for tickets,
//! fast open's cookies, and QUIC's address tokens. HKDF-SHA256 (RFC 5869), with one label for
//! each use.

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use aws_lc_rs::rand;
use zeroize::Zeroizing;

use crate::GateError;
use crate::config::SecretFrom;
use crate::judge::credentials::key_bytes;

const SALT: &[u8] = b"roundtrip gate seed 1";

pub(crate) struct Seed(Prk);

impl Seed {
    pub(crate) fn new(bytes: &[u8; 32]) -> Self {
        Self(Salt::new(HKDF_SHA256, SALT).extract(bytes))
    }

    /// Reads the seed; if none is configured, makes a random one for the life of the process.
    pub(crate) fn read(from: Option<&SecretFrom>) -> Result<Self, GateError> {
        let secret = match from {
            Some(from) => from.read()?,
            None => {
                let mut bytes = Zeroizing::new([0; 32]);
                rand::fill(&mut *bytes).map_err(|_| GateError::Cryptography)?;
                return Ok(Self::new(&bytes));
            }
        };
        let bytes = key_bytes(&secret).ok_or_else(|| GateError::Key {
            name: "tls.seed".into(),
            why: "it has to be 32 bytes: raw, in base64, or in hex",
        })?;
        Ok(Self::new(&bytes))
    }

    pub(super) fn ticket_key(&self, epoch: u64) -> Result<Zeroizing<[u8; 32]>, GateError> {
        self.derive("ticket", epoch).map(Zeroizing::new)
    }

    pub(super) fn fast_open_key(&self) -> Result<[u8; 16], GateError> {
        self.derive("fast open", 0)
    }

    /// The key for address tokens. Processes share no key for stateless resets.
    pub(super) fn quic_key(&self) -> Result<[u8; 32], GateError> {
        self.derive("quic", 0)
    }

    fn derive<const N: usize>(&self, label: &str, number: u64) -> Result<[u8; N], GateError> {
        struct Length<const N: usize>;
        impl<const N: usize> KeyType for Length<N> {
            fn len(&self) -> usize {
                N
            }
        }
        let number = number.to_be_bytes();
        let info = [label.as_bytes(), &[0], &number];
        let mut bytes = [0; N];
        self.0
            .expand(&info, Length::<N>)
            .and_then(|okm| okm.fill(&mut bytes))
            .map_err(|_| GateError::Cryptography)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_keys_and_each_use_another() {
        let (one, same, other) = (
            Seed::new(&[7; 32]),
            Seed::new(&[7; 32]),
            Seed::new(&[8; 32]),
        );
        let key = |seed: &Seed, epoch| *seed.ticket_key(epoch).unwrap();
        assert_eq!(key(&one, 3), key(&same, 3));
        assert_ne!(key(&one, 3), key(&one, 4));
        assert_ne!(key(&one, 3), key(&other, 3));
        assert_eq!(one.fast_open_key().unwrap(), same.fast_open_key().unwrap());
        assert_ne!(one.fast_open_key().unwrap()[..], key(&one, 0)[..16]);
    }

    #[test]
    fn a_seed_is_32_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seed");
        for (text, good) in [
            ("7".repeat(64), true),
            ("7".repeat(32), true),
            ("short".into(), false),
        ] {
            std::fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, mode).unwrap();
            let read = Seed::read(Some(&SecretFrom::File(path.clone())));
            assert_eq!(read.is_ok(), good);
        }
        let (one, two) = (Seed::read(None).unwrap(), Seed::read(None).unwrap());
        assert_ne!(one.fast_open_key().unwrap(), two.fast_open_key().unwrap());
    }
}
