//! Engines whose streams are futures, such as quinn and s2n-quic: one runtime on the calling
//! thread, a task for each lane of the client and for each stream of the server. The engines make
//! and count connections.

pub(super) mod client;
pub(super) mod server;

use std::future::Future;

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use crate::error::PerfError;

/// The largest number of pieces of a stream that are received at once.
const MAX_PIECES: usize = 32;

/// A connection of the client.
pub(super) trait ClientConnection: Clone + Send + Sync + 'static {
    type To: SendHalf;
    type From: ReceiveHalf;

    fn open(&self) -> impl Future<Output = Result<(Self::To, Self::From), PerfError>> + Send;
}

/// A connection of the server.
pub(super) trait ServerConnection: Send + 'static {
    type To: SendHalf;
    type From: ReceiveHalf;

    /// Accepts a stream; `None` when the connection has ended.
    fn accept(&mut self) -> impl Future<Output = Option<(Self::To, Self::From)>> + Send;
}

/// The sending half of a stream.
pub(super) trait SendHalf: Send + 'static {
    /// Sends the bytes as soon as there is room.
    fn send(&mut self, part: Bytes) -> impl Future<Output = Result<(), PerfError>> + Send;

    fn finish(&mut self) -> Result<(), PerfError>;
}

/// The receiving half of a stream.
pub(super) trait ReceiveHalf: Send + 'static {
    /// Fills pieces and returns how many; 0 at the end of the stream.
    fn receive(
        &mut self,
        pieces: &mut [Bytes],
    ) -> impl Future<Output = Result<Option<usize>, PerfError>> + Send;
}

pub(super) fn runtime() -> Result<Runtime, PerfError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(PerfError::io("cannot start a runtime"))
}

/// Reads and discards a stream to its end; calls `see` with each piece.
async fn drain(
    stream: &mut impl ReceiveHalf,
    mut see: impl FnMut(&[u8]) + Send,
) -> Result<(), PerfError> {
    let mut pieces: [Bytes; MAX_PIECES] = std::array::from_fn(|_| Bytes::new());
    while let Some(n) = stream.receive(&mut pieces).await? {
        for piece in pieces.iter_mut().take(n) {
            see(&std::mem::take(piece));
        }
    }
    Ok(())
}

/// Returns a part of the payload, at most `left` bytes long, without a copy.
fn part_of(payload: &Bytes, left: u64) -> Bytes {
    let n = payload
        .len()
        .min(usize::try_from(left).unwrap_or(usize::MAX));
    payload.slice(..n)
}
