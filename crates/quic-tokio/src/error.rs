//! Why a stream cannot be used any more.

use roundtrip_quic::CloseReason;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The peer sent STOP_SENDING, with this application error code.
    #[error("the peer stopped the stream (code {0:#x})")]
    Stopped(u64),
    /// The peer sent RESET_STREAM, with this application error code.
    #[error("the peer reset the stream (code {0:#x})")]
    Reset(u64),
    /// The stream was finished, reset or stopped by this side.
    #[error("the stream is over")]
    Ended,
    #[error("the connection is over: {0}")]
    ConnectionLost(#[from] CloseReason),
}
