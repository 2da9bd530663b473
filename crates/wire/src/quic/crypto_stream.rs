//! Assembles CRYPTO frames by offset, up to the first gap. RFC 9000 §19.6.

use super::{Frame, Frames};
use crate::{Error, Result};

/// The longest stream in bytes: many times the size of both hellos with the largest post-quantum
/// shares; RFC 9000 §7.5 asks for 4,096.
const MAX_STREAM: usize = 64 * 1024;

/// The handshake bytes of one side at one encryption level.
#[derive(Debug, Clone, Default)]
pub struct CryptoStream {
    /// The received bytes, by offset; frames can arrive in any order and more than once.
    slots: Vec<Option<u8>>,
    contiguous: Vec<u8>,
}

impl CryptoStream {
    pub fn push(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let too_large = Error::TooLarge {
            what: "a QUIC CRYPTO stream",
            limit: MAX_STREAM,
        };
        let start = usize::try_from(offset)
            .ok()
            .filter(|start| *start <= MAX_STREAM)
            .ok_or_else(|| too_large.clone())?;
        let end = start + data.len();
        if end > MAX_STREAM {
            return Err(too_large);
        }
        if self.slots.len() < end {
            self.slots.resize(end, None);
        }
        for (slot, byte) in self.slots.iter_mut().skip(start).zip(data) {
            // RFC 9000 §2.2: data at an offset must never change.
            if *slot.get_or_insert(*byte) != *byte {
                return Err(Error::malformed("a QUIC CRYPTO stream", "its data changed"));
            }
        }
        let come = self.slots.iter().skip(self.contiguous.len());
        let fresh: Vec<u8> = come.map_while(|slot| *slot).collect();
        self.contiguous.extend(fresh);
        Ok(())
    }

    /// Takes the CRYPTO frames from a decrypted payload.
    pub fn push_payload(&mut self, payload: &[u8]) -> Result<()> {
        for frame in Frames::new(payload) {
            if let Frame::Crypto { offset, data } = frame? {
                self.push(offset, data)?;
            }
        }
        Ok(())
    }

    /// Roughly the number of bytes of memory that the stream holds.
    pub fn held(&self) -> usize {
        self.slots.capacity() * size_of::<Option<u8>>() + self.contiguous.capacity()
    }

    /// All bytes before the first gap; [`crate::tls::Handshakes`] parses them.
    pub fn contiguous(&self) -> &[u8] {
        &self.contiguous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_do_not_matter() {
        let mut stream = CryptoStream::default();
        stream.push(3, b"lo w").unwrap();
        assert_eq!(stream.contiguous(), b"");
        stream.push(0, b"hel").unwrap();
        assert_eq!(stream.contiguous(), b"hello w");
        stream.push(5, b" world").unwrap();
        stream.push(0, b"hello").unwrap();
        assert_eq!(stream.contiguous(), b"hello world");
        assert!(stream.push(0, b"jello").is_err());
        assert_eq!(stream.contiguous(), b"hello world");
    }

    #[test]
    fn offsets_are_bounded() {
        let mut stream = CryptoStream::default();
        for offset in [MAX_STREAM as u64, u64::MAX, 1 << 40] {
            assert!(matches!(
                stream.push(offset, b"x"),
                Err(Error::TooLarge { .. })
            ));
        }
        assert!(stream.push(MAX_STREAM as u64 - 1, b"x").is_ok());
    }
}
