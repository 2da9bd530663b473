//! A client's TLS over TCP, once it may speak; and whether what it said last may be a replay.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use roundtrip_tls::{Stream, TlsError};
use rustls::HandshakeKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::Handshake;

pub(crate) struct Secure {
    stream: Stream<TcpStream>,
    pub(super) early: Early,
}

/// Whether a connection's handshake is over, for those who see its stream no more. Until then, what arrives was sent by
/// the client at some time, but perhaps not now. RFC 8446 §8.
#[derive(Clone, Default)]
pub(crate) struct Early(Rc<State>);

#[derive(Default)]
struct State {
    phase: Cell<Phase>,
    changed: Notify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Open,
    Complete,
    /// It will never be.
    Gone,
}

impl Early {
    /// Has the client not shown yet that it is there? Nothing but early data can be read before that.
    pub(crate) fn is_now(&self) -> bool {
        self.0.phase.get() == Phase::Open
    }

    /// Waits for the end of the handshake; false: it never came. Somebody has to read from the stream meanwhile.
    pub(crate) async fn over(&self) -> bool {
        loop {
            let changed = self.0.changed.notified();
            match self.0.phase.get() {
                Phase::Open => changed.await,
                Phase::Complete => return true,
                Phase::Gone => return false,
            }
        }
    }

    pub(super) fn enter(&self, phase: Phase) {
        if self.0.phase.get() == Phase::Open {
            self.0.phase.set(phase);
            self.0.changed.notify_waiters();
        }
    }
}

impl Secure {
    /// Shakes hands: to the end, or to where early data may be read.
    pub(super) async fn accept(mut stream: Stream<TcpStream>) -> Result<Self, TlsError> {
        stream.accept().await?;
        let secure = Self {
            stream,
            early: Early::default(),
        };
        secure.notice();
        Ok(secure)
    }

    pub(crate) fn is_h2(&self) -> bool {
        self.stream.connection().alpn_protocol() == Some(b"h2")
    }

    pub(super) fn describe(&self, facts: &mut Handshake) {
        let tls = self.stream.connection();
        facts.resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        facts.version = tls.protocol_version();
        facts.early_data = self.stream.is_handshaking();
    }

    fn notice(&self) {
        if !self.stream.is_handshaking() {
            self.early.enter(Phase::Complete);
        }
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.early.enter(Phase::Gone);
    }
}

impl crate::front::Stream for Secure {
    fn is_early(&self) -> bool {
        self.early.is_now()
    }

    fn poll_confirmed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = self.stream.poll_handshake(cx);
        self.notice();
        outcome
    }

    fn abandon(&mut self) {
        self.stream.get_mut().abandon();
    }
}

impl AsyncRead for Secure {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, into);
        self.notice();
        outcome
    }
}

impl AsyncWrite for Secure {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
