//! Why a stream cannot be used any more.

use roundtrip_quic::CloseReason;

use crate::RequestError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// STOP_SENDING, with its application error code.
    #[error("the peer wants no more of the stream (code {0:#x})")]
    Stopped(u64),
    /// RESET_STREAM, with its application error code.
    #[error("the peer reset the stream (code {0:#x})")]
    Reset(u64),
    /// It was finished, reset or stopped here.
    #[error("the stream is over")]
    Ended,
    /// The read allowance is used up: see
    /// [`Connection::set_read_allowance`](crate::Connection::set_read_allowance).
    #[error("more came on the stream than it may carry")]
    TooMuch,
    #[error("the request is refused: {0}")]
    Refused(#[from] RequestError),
    #[error("the connection is over: {0}")]
    ConnectionLost(#[from] CloseReason),
}
