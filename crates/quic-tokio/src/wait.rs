//! Waits repeatedly for one thing: the connection's progress, or streams that are opened and
//! accepted.

use std::task::{Context, Poll};

use roundtrip_quic::{CloseReason, Connection, StreamId};

use crate::connection_wakers::ConnectionWakers;
use crate::handle::ConnectionHandle;
use crate::state::EndpointClock;
use crate::wakers::{Interest, WaiterId};

/// A wait for one interest, which can be polled repeatedly. Dropping it removes its waker.
pub(crate) struct Wait {
    connection: ConnectionHandle,
    interest: Interest,
    id: Option<WaiterId>,
}

impl Wait {
    pub(crate) fn new(connection: &ConnectionHandle, interest: Interest) -> Self {
        Self {
            connection: connection.clone(),
            interest,
            id: None,
        }
    }

    pub(crate) fn connection(&self) -> &ConnectionHandle {
        &self.connection
    }

    /// The next stream that is opened or accepted, depending on the interest.
    pub(crate) fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, CloseReason>> {
        let interest = self.interest;
        self.poll(cx, |connection, _| match interest {
            Interest::Open(dir) => connection.open(dir),
            Interest::Accept(dir) => connection.accept(dir),
            Interest::Progress => None,
        })
    }

    /// Ready once `ask` returns a value, or the connection has ended.
    pub(crate) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Connection, &mut ConnectionWakers) -> Option<R>,
    ) -> Poll<Result<R, CloseReason>> {
        let (interest, id) = (self.interest, &mut self.id);
        let asked =
            |connection: &mut Connection, wakers: &mut ConnectionWakers, _: EndpointClock| {
                if let Some(answer) = ask(connection, wakers) {
                    return Poll::Ready(answer);
                }
                let id = id.get_or_insert_with(|| wakers.whole.new_waiter());
                wakers.whole.register(*id, interest, cx);
                Poll::Pending
            };
        // A failed open sends STREAMS_BLOCKED, so it counts as activity; the others do not.
        let polled = match interest {
            Interest::Open(_) => self.connection.update(asked),
            Interest::Accept(_) | Interest::Progress => self.connection.inspect(asked),
        };
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(reason) => Poll::Ready(Err(reason)),
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.connection.wakers(|wakers| wakers.whole.remove(id));
        }
    }
}
