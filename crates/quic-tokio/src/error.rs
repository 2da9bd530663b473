//! Why a stream cannot be used any more.

use roundtrip_quic::CloseReason;

use crate::RequestError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    #[error("the peer wants no more of the stream (code {0:#x})")]
    Stopped(u64),
    #[error("the peer reset the stream (code {0:#x})")]
    Reset(u64),
    #[error("the stream is over")]
    Over,
    #[error("more came on the stream than it may carry")]
    TooMuch,
    #[error("the request is refused: {0}")]
    Refused(#[from] RequestError),
    #[error("the connection is over: {0}")]
    Closed(#[from] CloseReason),
}
