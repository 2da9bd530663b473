//! quinn's own socket with two additions: it counts system calls that transferred data, and it can
//! shorten bursts.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};

pub(super) struct CountingSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    burst: usize,
    calls: Arc<SocketCalls>,
}

#[derive(Debug, Default)]
pub(super) struct SocketCalls {
    sends: AtomicU64,
    receives: AtomicU64,
}

impl CountingSocket {
    pub(super) fn bind(
        at: SocketAddr,
        burst: Option<usize>,
    ) -> io::Result<(Arc<dyn AsyncUdpSocket>, Arc<SocketCalls>)> {
        let inner = TokioRuntime.wrap_udp_socket(UdpSocket::bind(at)?)?;
        let calls = Arc::new(SocketCalls::default());
        let counting = Self {
            inner,
            burst: burst.unwrap_or(usize::MAX),
            calls: calls.clone(),
        };
        Ok((Arc::new(counting), calls))
    }
}

impl SocketCalls {
    pub(super) fn sends(&self) -> u64 {
        self.sends.load(Ordering::Relaxed)
    }

    pub(super) fn receives(&self) -> u64 {
        self.receives.load(Ordering::Relaxed)
    }
}

impl AsyncUdpSocket for CountingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)?;
        self.calls.sends.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = ready!(self.inner.poll_recv(cx, buffers, meta))?;
        self.calls.receives.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments().min(self.burst)
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl fmt::Debug for CountingSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counting")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}
