//! Why a stream cannot be used any more.

use roundtrip_quic::CloseReason;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// STOP_SENDING, with its application error code.
    #[error("the peer stopped the stream (code {0:#x})")]
    Stopped(u64),
    /// RESET_STREAM, with its application error code.
    #[error("the peer reset the stream (code {0:#x})")]
    Reset(u64),
    /// It was finished, reset or stopped here.
    #[error("the stream is over")]
    Ended,
    #[error("the connection is over: {0}")]
    ConnectionLost(#[from] CloseReason),
}
