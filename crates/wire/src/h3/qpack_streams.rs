//! The two streams of QPACK, for an endpoint that announced no dynamic table and uses none: nearly
//! every instruction on them is an error. RFC 9204 §4.3 and §4.4.

use super::{Code, ProtocolError};

/// An integer of 62 bits has fewer bytes than this. RFC 9204 §4.1.1.
const MAX_INTEGER: u8 = 10;

/// Checks instructions of a peer's encoder. The only permitted one sets the capacity to 0.
pub(super) fn read_encoder_stream(bytes: &[u8]) -> Result<(), ProtocolError> {
    const NO_CAPACITY: u8 = 0x20;
    if bytes.iter().all(|byte| *byte == NO_CAPACITY) {
        return Ok(());
    }
    Err(ProtocolError {
        code: Code::QPACK_ENCODER_STREAM_ERROR,
        why: "an instruction for a dynamic table that does not exist",
    })
}

/// Reads instructions of a peer's decoder. The only permitted one reports that it has given up a
/// stream.
#[derive(Debug, Default)]
pub(super) struct DecoderStream {
    /// The number of bytes that have arrived of an incomplete integer.
    open: u8,
}

impl DecoderStream {
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        for byte in bytes {
            let more = match self.open {
                // Stream Cancellation, and the length of its integer's prefix.
                0 if byte >> 6 == 1 => byte & 0x3f == 0x3f,
                0 => return Err(wrong("an acknowledgement of nothing")),
                MAX_INTEGER => return Err(wrong("an integer that is too large")),
                _ => byte & 0x80 != 0,
            };
            self.open = if more { self.open + 1 } else { 0 };
        }
        Ok(())
    }
}

fn wrong(why: &'static str) -> ProtocolError {
    ProtocolError {
        code: Code::QPACK_DECODER_STREAM_ERROR,
        why,
    }
}
