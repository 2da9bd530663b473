//! Why an HTTP/3 message or connection cannot continue.

use roundtrip_wire::h3::{Code, MessageError, ProtocolError};

use crate::StreamError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum H3Error {
    /// The peer's message violates a rule, or exceeds one of our limits.
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// Our message has a field section that the peer does not accept. RFC 9114 §4.2.2.
    #[error("a field section of {size} bytes, but the peer accepts {limit}")]
    SectionTooLarge { size: u64, limit: u64 },
    /// The peer's GOAWAY says that the peer does not accept this request.
    #[error("the peer accepts no more requests on this connection")]
    GoingAway,
}

impl From<ProtocolError> for H3Error {
    fn from(error: ProtocolError) -> Self {
        Self::Message(error.into())
    }
}

impl H3Error {
    /// The code with which the peer reset or stopped the stream.
    pub fn reset_code(&self) -> Option<Code> {
        match self {
            Self::Stream(StreamError::Reset(code) | StreamError::Stopped(code)) => {
                Some(Code::from_value(*code))
            }
            _ => None,
        }
    }
}
