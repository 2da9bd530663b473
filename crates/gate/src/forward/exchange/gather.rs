//! What happens to an answer while its client takes nothing.

use std::task::Context;

use tokio::io::AsyncRead;

use crate::forward::split::Reading;
use crate::forward::upstream::Wire;

pub(super) trait Gather: AsyncRead + Unpin {
    /// Takes what has arrived on a stream of a shared connection. Bytes of other connections wait
    /// in their sockets.
    fn gather(&mut self, cx: &mut Context<'_>);
}

impl Gather for Reading<'_, '_, Wire> {
    fn gather(&mut self, cx: &mut Context<'_>) {
        if let Wire::Shared(stream) = &mut **self.stream() {
            stream.gather(cx);
        }
    }
}
