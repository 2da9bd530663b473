//! A UDP socket for QUIC that writes down each datagram, and lets `hellos` look at what passes in clear.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use roundtrip_model::{Event, Moment, Recorder, TlsFacts};
use roundtrip_net::Stamps;
use tokio::task::yield_now;

use super::hellos::Seen;

pub(super) struct Watched {
    inner: Arc<dyn AsyncUdpSocket>,
    /// Without stamps, times are those of the wake-up: a little later, not wrong.
    stamps: Option<Stamps>,
    recorder: Recorder,
    seen: Mutex<Seen>,
    /// While responses are awaited: one datagram, then everybody else's turn, so that it is known which one brought it.
    awaited: AtomicUsize,
    others_turn: AtomicBool,
    /// Nobody cares any more what passes.
    hushed: AtomicBool,
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
            awaited: AtomicUsize::new(0),
            others_turn: AtomicBool::new(false),
            hushed: AtomicBool::new(false),
        }))
    }

    /// Writes nothing down from now on.
    pub(super) fn hush(&self) {
        self.hushed.store(true, Ordering::Relaxed);
    }

    fn record(&self, at: Moment, event: Event) {
        if !self.hushed.load(Ordering::Relaxed) {
            self.recorder.record_at(at, event);
        }
    }

    /// Was there a Retry, and a version negotiation?
    pub(super) fn detours(&self) -> (bool, bool) {
        let seen = self.lock();
        (seen.retry, seen.version_negotiation)
    }

    pub(super) fn describe(&self, facts: &mut TlsFacts) {
        self.lock().describe(facts);
    }

    /// Datagrams are handed on one by one while this is held. That costs throughput, and is for the time until a
    /// response begins.
    pub(super) fn one_by_one(&self) -> OneByOne<'_> {
        self.awaited.fetch_add(1, Ordering::Relaxed);
        OneByOne(&self.awaited)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct OneByOne<'a>(&'a AtomicUsize);

impl Drop for OneByOne<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
        self.record(at, Event::Sent { bytes });
        self.lock().sent(transmit.contents);
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let singly = self.awaited.load(Ordering::Relaxed) > 0;
        if self.others_turn.swap(false, Ordering::Relaxed) && singly {
            // Woken when everybody else has had it.
            return pin!(yield_now()).poll(cx).map(|()| Ok(0));
        }
        let most = if singly { 1 } else { bufs.len() };
        let stamps = self.stamps.as_ref();
        let first = stamps.and_then(|stamps| stamps.next(|| self.recorder.now()));
        let bufs = bufs.get_mut(..most).unwrap_or_default();
        let n = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        let now = self.recorder.now();
        let last = stamps
            .and_then(|stamps| stamps.last(|| self.recorder.now()))
            .unwrap_or(now);
        for (place, (buffer, part)) in bufs.iter().zip(meta.iter()).take(n).enumerate() {
            let bytes = part.len as u64;
            // Of a batch, only the first datagram's stamp and the last one's can be had.
            let at = first.filter(|_| place == 0).unwrap_or(last);
            self.record(at, Event::Received { bytes });
            let mut seen = self.lock();
            let whole = buffer.get(..part.len).unwrap_or_default();
            for datagram in whole.chunks(part.stride.max(1)) {
                seen.received(datagram);
            }
        }
        self.others_turn.store(singly, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;

    use roundtrip_model::Clock;

    use super::*;

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Moment {
            Moment::ZERO
        }
    }

    /// How many datagrams each of two polls brings when two are there; `None` where it is the others' turn.
    async fn two_polls(singly: bool) -> [Option<usize>; 2] {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let watched = Watched::new(socket, Recorder::new(Arc::new(Frozen))).unwrap();
        let _one_by_one = singly.then(|| watched.one_by_one());
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for datagram in [[0; 30].as_slice(), &[0; 40]] {
            sender.send_to(datagram, to).unwrap();
        }
        let poll = |cx: &mut Context<'_>| {
            let mut space = [[0; 2048]; 4];
            let mut bufs = space.each_mut().map(|part| IoSliceMut::new(part));
            watched.poll_recv(cx, &mut bufs, &mut [RecvMeta::default(); 4])
        };
        let first = poll_fn(poll).await.unwrap();
        let second = poll_fn(|cx| Poll::Ready(poll(cx))).await;
        let second = match second {
            Poll::Ready(n) => Some(n.unwrap()),
            Poll::Pending => None,
        };
        // Nobody is forgotten: what was left comes in the end.
        if second.is_none() && singly {
            assert_eq!(poll_fn(poll).await.unwrap(), 1);
        }
        [Some(first), second]
    }

    #[tokio::test]
    async fn a_response_is_awaited_datagram_by_datagram() {
        assert_eq!(two_polls(false).await, [Some(2), None]);
        assert_eq!(two_polls(true).await, [Some(1), None]);
    }

    #[tokio::test]
    async fn what_passes_after_the_end_is_not_written_down() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let recorder = Recorder::new(Arc::new(Frozen));
        let watched = Watched::new(socket, recorder.clone()).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for hushed in [false, true] {
            if hushed {
                watched.hush();
            }
            sender.send_to(&[0; 30], to).unwrap();
            let poll = |cx: &mut Context<'_>| {
                let mut space = [0; 2048];
                let bufs = &mut [IoSliceMut::new(&mut space)];
                watched.poll_recv(cx, bufs, &mut [RecvMeta::default()])
            };
            assert_eq!(poll_fn(poll).await.unwrap(), 1);
            assert_eq!(recorder.snapshot().iter().count(), 1);
        }
    }
}
