//! Reads the extensions that a TLS 1.3 server sends after its hello, as far as they are needed
//! here. RFC 8446 §4.3.1.

use super::extension::{self, read_extensions};
use crate::Result;
use crate::cursor::Cursor;
use crate::text::printable;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncryptedExtensions {
    pub alpn: Option<String>,
    /// The client's early data is accepted.
    pub early_data: bool,
}

impl EncryptedExtensions {
    /// Parses the body of a handshake message of type `ENCRYPTED_EXTENSIONS`.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut all = Self::default();
        read_extensions(
            Cursor::new("EncryptedExtensions", body),
            |kind, mut value| {
                match kind {
                    extension::ALPN => {
                        let name = value.vector16()?.vector8()?;
                        all.alpn = Some(printable(name.rest()));
                    }
                    extension::EARLY_DATA => all.early_data = true,
                    _ => {}
                }
                Ok(())
            },
        )?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_and_early_data_are_read_and_damage_is_refused() {
        let body = [0, 13, 0, 42, 0, 0, 0, 16, 0, 5, 0, 3, 2, b'h', b'2'];
        let all = EncryptedExtensions::parse(&body).unwrap();
        assert_eq!((all.alpn.as_deref(), all.early_data), (Some("h2"), true));
        assert!(EncryptedExtensions::parse(&body[..9]).is_err());
        assert_eq!(
            EncryptedExtensions::parse(&[0, 0]).unwrap(),
            EncryptedExtensions::default()
        );
    }
}
