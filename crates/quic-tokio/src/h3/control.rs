//! The unidirectional streams of both sides: the common part of client and server.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::Bytes;
use roundtrip_wire::h3::{Code, ProtocolError, Settings, UniStream, UniStreams, open_control};
use roundtrip_wire::quic::Side;

use super::{H3Error, H3Receiving, H3Sending, H3Transport};
use crate::StreamError;

/// The largest number of bytes that are read at once.
const MAX_PIECE: usize = 16 << 10;
/// The largest number of the peer's streams that may end: those that are needed never do, and a
/// peer may open others endlessly.
const MAX_ENDED: u32 = 1024;
/// RFC 9114 §6.2.1.
const STOPPED: ProtocolError = ProtocolError {
    code: Code::H3_CLOSED_CRITICAL_STREAM,
    why: "our control stream was stopped",
};

const TOO_MANY: ProtocolError = ProtocolError {
    code: Code::H3_EXCESSIVE_LOAD,
    why: "too many streams that are not needed",
};

/// One side of a connection. Dropping it closes the connection.
pub(super) struct Control<T: H3Transport> {
    pub(super) transport: T,
    /// Our control stream, and the bytes that have not been written to it yet.
    sending: T::Sending,
    unsent: Bytes,
    peer: UniStreams,
    streams: Vec<(T::Receiving, UniStream)>,
    /// How many of its streams have ended, or are of an unknown type.
    ended: u32,
    bell: Arc<Bell>,
}

/// The waker of everything that is read here. The task that polls it also waits for requests, which
/// come far more often; when one of these wakes it, nothing is read here.
struct Bell {
    has_rung: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        self.task().wake_by_ref();
    }
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            has_rung: AtomicBool::new(true),
            task: Mutex::new(Waker::noop().clone()),
        })
    }

    /// Returns whether it has rung since the last call; otherwise it wakes this task when it rings.
    fn has_rung(&self, cx: &Context<'_>) -> bool {
        self.task().clone_from(cx.waker());
        self.has_rung.swap(false, Ordering::AcqRel)
    }

    /// No operation leaves the waker inconsistent, so a poisoned lock is harmless.
    fn task(&self) -> MutexGuard<'_, Waker> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: H3Transport> Control<T> {
    /// Opens our control stream as soon as the peer allows it.
    pub(super) async fn open(
        mut transport: T,
        peer: Side,
        settings: Settings,
    ) -> Result<Self, H3Error> {
        let mut sending = poll_fn(|cx| transport.poll_open_uni(cx)).await?;
        let mut unsent = Bytes::from(open_control(settings));
        poll_fn(|cx| sending.poll_write(cx, &mut unsent)).await?;
        Ok(Self {
            transport,
            sending,
            unsent,
            peer: UniStreams::new(peer),
            streams: Vec::new(),
            ended: 0,
            bell: Bell::new(),
        })
    }

    /// The largest field section that the peer accepts, if it has announced a limit. RFC 9114
    /// §4.2.2.
    pub(super) fn max_section(&self) -> u64 {
        let settings = self.peer.settings().unwrap_or_default();
        settings.max_field_section_size.unwrap_or(u64::MAX)
    }

    /// The peer has begun a request.
    pub(super) fn on_request(&mut self) {
        self.peer.on_request();
    }

    /// The id in the peer's last GOAWAY.
    pub(super) fn goaway(&self) -> Option<u64> {
        self.peer.goaway()
    }

    /// Sends a frame on the control stream.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Bytes,
    ) -> Poll<Result<(), H3Error>> {
        ready!(self.poll_unsent(cx))?;
        self.unsent = std::mem::take(frame);
        self.poll_unsent(cx)
    }

    /// Reads the peer's control streams. Never ready unless the connection has ended; it is closed
    /// if the peer violates a rule.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<H3Error> {
        // Bytes that were to be sent may have been waited for by another future, which was dropped.
        if !self.bell.has_rung(cx) && self.unsent.is_empty() {
            return Poll::Pending;
        }
        let waker = Waker::from(self.bell.clone());
        match self.try_read(&mut Context::from_waker(&waker)) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(error),
        }
    }

    /// Closes the connection because the peer violates a rule.
    pub(super) fn refuse(&self, error: ProtocolError) -> H3Error {
        self.transport.close(error.code, error.why);
        error.into()
    }

    fn poll_unsent(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), H3Error>> {
        if self.unsent.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let sent = ready!(self.sending.poll_write(cx, &mut self.unsent));
        Poll::Ready(sent.map_err(|error| match error {
            StreamError::Stopped(_) => self.refuse(STOPPED),
            error => error.into(),
        }))
    }

    fn try_read(&mut self, cx: &mut Context<'_>) -> Result<(), H3Error> {
        let _ = self.poll_unsent(cx)?;
        if self.sending.poll_stopped(cx).is_ready() {
            return Err(self.refuse(STOPPED));
        }
        while let Poll::Ready(stream) = self.transport.poll_accept_uni(cx) {
            self.streams.push((stream?, UniStream::default()));
        }
        let mut at = 0;
        while let Some((receiving, stream)) = self.streams.get_mut(at) {
            let read = match receiving.poll_read(cx, MAX_PIECE) {
                Poll::Pending => {
                    at += 1;
                    continue;
                }
                Poll::Ready(Ok(Some(bytes))) => self.peer.read(stream, &bytes),
                Poll::Ready(Err(error @ StreamError::ConnectionLost(_))) => {
                    return Err(error.into());
                }
                Poll::Ready(Ok(None) | Err(_)) => self.peer.end(stream).map(|()| false),
            };
            match read {
                Ok(true) => {}
                Ok(false) => {
                    // RFC 9114 §6.2.
                    receiving.stop(Code::H3_STREAM_CREATION_ERROR);
                    self.streams.swap_remove(at);
                    self.ended += 1;
                    if self.ended > MAX_ENDED {
                        return Err(self.refuse(TOO_MANY));
                    }
                }
                Err(error) => return Err(self.refuse(error)),
            }
        }
        Ok(())
    }
}

impl<T: H3Transport> Drop for Control<T> {
    fn drop(&mut self) {
        self.transport.close(Code::H3_NO_ERROR, "");
    }
}
