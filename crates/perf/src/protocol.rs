//! What client and server exchange before payload flows: the heads of streams. Nothing here does
//! I/O.
//!
//! Over QUIC it is the performance draft's protocol (draft-banks-quic-performance): a stream begins
//! with eight bytes, big-endian, with the number of bytes that the server is asked to send; the
//! client's own bytes follow until it ends its half of the stream.
//!
//! A TCP connection ends only once, and carries one request after the other. So a head has eight
//! more bytes there: the number of the client's own bytes that follow. [`ENDLESS`] in either place
//! means: until the connection ends.

/// The draft's ALPN name.
pub(crate) const ALPN: &[u8] = b"perf";
/// The name in the server's certificate.
pub(crate) const NAME: &str = "perf";
/// Stands for "until the end". It is the largest value of QUIC's integers (RFC 9000 §16), which no
/// stream ever reaches.
pub(crate) const ENDLESS: u64 = (1 << 62) - 1;

pub(crate) const STREAM_HEAD: usize = 8;
pub(crate) const CHANNEL_HEAD: usize = 16;

/// The head of a stream, while it is being received.
#[derive(Default)]
pub(crate) struct StreamHead {
    bytes: [u8; STREAM_HEAD],
    known: usize,
}

impl StreamHead {
    /// Consumes the missing bytes of the head. The rest is the client's data.
    pub(crate) fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let missing = (STREAM_HEAD - self.known).min(bytes.len());
        let (head, body) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
        let end = self.known + head.len();
        if let Some(space) = self.bytes.get_mut(self.known..end) {
            space.copy_from_slice(head);
            self.known = end;
        }
        body
    }

    /// The number of bytes that the server is asked to send, once it is known.
    pub(crate) fn wanted(&self) -> Option<u64> {
        let wanted = u64::from_be_bytes(self.bytes).min(ENDLESS);
        (self.known == STREAM_HEAD).then_some(wanted)
    }
}

/// The head of a request or transfer on a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelHead {
    /// The bytes that the server is asked to send.
    pub(crate) wanted: u64,
    /// The bytes that the client sends first.
    pub(crate) follows: u64,
}

impl ChannelHead {
    pub(crate) fn encode(self) -> [u8; CHANNEL_HEAD] {
        (u128::from(self.wanted) << 64 | u128::from(self.follows)).to_be_bytes()
    }

    pub(crate) fn decode(bytes: [u8; CHANNEL_HEAD]) -> Self {
        let both = u128::from_be_bytes(bytes);
        Self {
            wanted: (both >> 64) as u64,
            follows: both as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_channel_begins_as_a_stream_does() {
        let head = ChannelHead {
            wanted: 0x0102,
            follows: ENDLESS,
        };
        let bytes = head.encode();
        assert_eq!(bytes[..STREAM_HEAD], 0x0102_u64.to_be_bytes());
        assert_eq!(ChannelHead::decode(bytes), head);
    }

    #[test]
    fn the_head_of_a_stream_comes_in_pieces() {
        let mut head = StreamHead::default();
        let wanted = 0x0102_0304_0506_0708_u64.to_be_bytes();
        assert_eq!(head.take(&wanted[..3]), b"");
        assert_eq!(head.wanted(), None);
        assert_eq!(head.take(&[&wanted[3..], b"body"].concat()), b"body");
        assert_eq!(head.take(b"more"), b"more");
        assert_eq!(head.wanted(), Some(0x0102_0304_0506_0708));
        head = StreamHead::default();
        head.take(&[0xff; STREAM_HEAD]);
        assert_eq!(head.wanted(), Some(ENDLESS), "no stream is longer");
    }
}
