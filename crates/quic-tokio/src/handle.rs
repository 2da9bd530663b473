//! The handle with which connections, streams and futures keep one connection open. The connection
//! is closed when the last handle is dropped.

use std::sync::Arc;
use std::task::{Context, Poll};

use roundtrip_quic::{CloseReason, Connection, Handle, StreamId};

use crate::connection_wakers::ConnectionWakers;
use crate::state::{EndpointClock, Shared};

#[derive(Clone)]
pub(crate) struct ConnectionHandle(Arc<ConnectionInner>);

struct ConnectionInner {
    shared: Shared,
    handle: Handle,
}

impl ConnectionHandle {
    pub(crate) fn new(shared: Shared, handle: Handle) -> Self {
        Self(Arc::new(ConnectionInner { shared, handle }))
    }

    /// Does something to the live connection that its peer may notice.
    pub(crate) fn update<R>(
        &self,
        update: impl FnOnce(&mut Connection, &mut ConnectionWakers, EndpointClock) -> R,
    ) -> Result<R, CloseReason> {
        self.0.shared.lock().update(self.0.handle, update)
    }

    /// Reads from the live connection.
    pub(crate) fn read<R>(
        &self,
        read: impl FnOnce(&mut Connection, &mut ConnectionWakers) -> R,
    ) -> Result<R, CloseReason> {
        self.0.shared.lock().read(self.0.handle, read)
    }

    /// Does something to the live connection that its peer will not notice.
    pub(crate) fn inspect<R>(
        &self,
        inspect: impl FnOnce(&mut Connection, &mut ConnectionWakers, EndpointClock) -> R,
    ) -> Result<R, CloseReason> {
        self.0.shared.lock().inspect(self.0.handle, inspect)
    }

    /// Uses the wakers of the connection, which may be over.
    pub(crate) fn wakers<R>(&self, work: impl FnOnce(&mut ConnectionWakers) -> R) -> Option<R> {
        self.0.shared.lock().wakers(self.0.handle).map(work)
    }

    /// Queries the connection, which may be over.
    pub(crate) fn get<R>(&self, get: impl FnOnce(&Connection) -> R) -> Option<R> {
        let mut state = self.0.shared.lock();
        state
            .connection(self.0.handle)
            .map(|connection| get(connection))
    }

    /// Lets a connection that a client opened send.
    pub(crate) fn answer(&self) {
        self.0.shared.lock().answer(self.0.handle);
    }

    /// Closes the connection. Undelivered data is lost.
    pub(crate) fn close(&self, code: u64, reason: &[u8]) {
        // A connection that has ended is already closed.
        let _ = self.update(|connection, _, clock| connection.close(clock.now(), code, reason));
    }

    /// Ready once the peer has stopped the stream; it can do so as long as the stream has a sender.
    pub(crate) fn poll_stopped(
        &self,
        stream: StreamId,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<u64>, CloseReason>> {
        let stopped = self.inspect(|_, wakers, _| {
            let Some(sender) = wakers.sender(stream) else {
                return Poll::Ready(None);
            };
            if sender.stopped.is_none() {
                sender.watch_for_stop(cx);
                return Poll::Pending;
            }
            Poll::Ready(sender.stopped)
        });
        match stopped {
            Ok(stopped) => stopped.map(Ok),
            Err(reason) => Poll::Ready(Err(reason)),
        }
    }

    pub(crate) fn id(&self) -> Handle {
        self.0.handle
    }
}

impl Drop for ConnectionInner {
    fn drop(&mut self) {
        self.shared.lock().orphan(self.handle);
    }
}
