//! A UDP socket for QUIC that writes down each datagram, and lets `hellos` look at what passes in clear.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use roundtrip_model::{Event, Moment, Recorder, TlsFacts};
use roundtrip_net::Stamps;

use super::hellos::Seen;

pub(super) struct Watched {
    inner: Arc<dyn AsyncUdpSocket>,
    /// Without stamps, times are those of the wake-up: a little later, not wrong.
    stamps: Option<Stamps>,
    recorder: Recorder,
    seen: Mutex<Seen>,
    burst: Mutex<Burst>,
}

/// Datagrams that are read without a wait between them. QUIC tells of what they hold only when all have been read.
#[derive(Default)]
struct Burst {
    over: bool,
    began: Option<Moment>,
}

impl Watched {
    pub(super) fn new(socket: UdpSocket, recorder: Recorder) -> io::Result<Arc<Self>> {
        let stamps = Stamps::of(&socket).ok();
        let inner = TokioRuntime.wrap_udp_socket(socket)?;
        Ok(Arc::new(Self {
            inner,
            stamps,
            recorder,
            seen: Mutex::default(),
            burst: Mutex::default(),
        }))
    }

    /// Was there a Retry, and a version negotiation?
    pub(super) fn detours(&self) -> (bool, bool) {
        let seen = self.lock();
        (seen.retry, seen.version_negotiation)
    }

    pub(super) fn describe(&self, facts: &mut TlsFacts) {
        self.lock().describe(facts);
    }

    /// When the first datagram came of those that were read in one go, last of all.
    pub(super) fn burst_began(&self) -> Option<Moment> {
        lock(&self.burst).began
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Burst {
    fn read(&mut self, first: Moment) {
        if std::mem::take(&mut self.over) || self.began.is_none() {
            self.began = Some(first);
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for Watched {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let at = self.recorder.now();
        self.inner.try_send(transmit)?;
        let bytes = transmit.contents.len() as u64;
        self.recorder.record_at(at, Event::Sent { bytes });
        self.lock().sent(transmit.contents);
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let stamps = self.stamps.as_ref();
        let first = stamps.and_then(|stamps| stamps.next(self.recorder.now()));
        let Poll::Ready(n) = self.inner.poll_recv(cx, bufs, meta)? else {
            lock(&self.burst).over = true;
            return Poll::Pending;
        };
        let now = self.recorder.now();
        let last = stamps.and_then(|stamps| stamps.last(now)).unwrap_or(now);
        lock(&self.burst).read(first.unwrap_or(last));
        for (place, (buffer, part)) in bufs.iter().zip(meta.iter()).take(n).enumerate() {
            let bytes = part.len as u64;
            // Of a batch, only the first datagram's stamp and the last one's can be had.
            let at = first.filter(|_| place == 0).unwrap_or(last);
            self.recorder.record_at(at, Event::Received { bytes });
            let mut seen = self.lock();
            let whole = buffer.get(..part.len).unwrap_or_default();
            for datagram in whole.chunks(part.stride.max(1)) {
                seen.received(datagram);
            }
        }
        Poll::Ready(Ok(n))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
