//! A connection, as those who use it hold it. When the last of them lets go, it is closed.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_quic::{CloseReason, Connection, Dir, Handle, Stats, StreamId, Time};
use roundtrip_wire::qpack::status_section;
use rustls::pki_types::CertificateDer;

use crate::connection_wakers::Berth;
use crate::state::Harbour;
use crate::wakers::{Place, Wish};
use crate::{Receiving, RequestError, Sending};

/// A frame's type. RFC 9114 §7.2.2.
const HEADERS: u8 = 1;

#[derive(Clone)]
pub struct Link(Arc<Grip>);

struct Grip {
    harbour: Harbour,
    handle: Handle,
}

impl Link {
    pub(crate) fn new(harbour: Harbour, handle: Handle) -> Self {
        Self(Arc::new(Grip { harbour, handle }))
    }

    /// Waits until the handshake is complete.
    pub async fn connected(&self) -> Result<(), CloseReason> {
        self.when(|connection| connection.is_connected().then_some(()))
            .await
    }

    /// Waits until the peer's hello was read: a server can answer early data from then on.
    pub async fn greeted(&self) -> Result<(), CloseReason> {
        self.when(|connection| {
            let greeted = connection.is_connected() || connection.alpn().is_some();
            greeted.then_some(())
        })
        .await
    }

    /// Ends when the handshake is complete, and never where it never is: what came before that stays unproved, and may be a
    /// replay.
    pub async fn confirmed(&self) {
        if self.connected().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Is the handshake complete, or was it once?
    pub fn is_connected(&self) -> bool {
        self.look(Connection::is_connected).unwrap_or(false)
    }

    /// Waits for the end.
    pub async fn closed(&self) -> CloseReason {
        let ended = self.when(|_| None::<std::convert::Infallible>).await;
        match ended {
            Err(reason) => reason,
            Ok(never) => match never {},
        }
    }

    pub fn close_reason(&self) -> Option<CloseReason> {
        let mut state = self.0.harbour.lock();
        state.berth(self.0.handle)?.ended.clone()
    }

    /// Ends the connection; what was not delivered is lost.
    pub fn close(&self, code: u64, reason: &[u8]) {
        // Where it is over, it is closed.
        let _ = self.act(|connection, _, now| connection.close(now, code, reason));
    }

    /// The application protocol that was agreed on, if one was.
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.look(|connection| connection.alpn().map(<[u8]>::to_vec))?
    }

    /// The name that the client asked for.
    pub fn server_name(&self) -> Option<String> {
        self.look(|connection| connection.server_name().map(str::to_owned))?
    }

    pub fn peer_certificates(&self) -> Option<Vec<CertificateDer<'static>>> {
        self.look(|connection| connection.peer_certificates().map(<[_]>::to_vec))?
    }

    /// A client's: what is written now leaves as early data.
    pub fn is_early(&self) -> bool {
        self.look(Connection::is_early).unwrap_or(false)
    }

    /// Did the server take early data? None where none was offered, or nothing is known yet.
    pub fn early_accepted(&self) -> Option<bool> {
        self.look(Connection::early_accepted)?
    }

    pub fn handshake_kind(&self) -> Option<rustls::HandshakeKind> {
        self.look(Connection::handshake_kind)?
    }

    pub fn remote(&self) -> Option<SocketAddr> {
        self.look(Connection::remote)
    }

    pub fn stats(&self) -> Option<Stats> {
        self.look(Connection::stats)
    }

    /// False while that is not permitted.
    pub fn update_keys(&self) -> bool {
        self.act(|connection, _, _| connection.update_keys())
            .unwrap_or(false)
    }

    /// The next token that the server gave for a next connection, as soon as there is one. None: no other comes.
    pub async fn next_token(&self) -> Option<Bytes> {
        let mut turn = Turn::new(self, Wish::Stage);
        let token = poll_fn(move |cx| turn.poll(cx, |_, berth| berth.tokens.pop_front())).await;
        let left = || self.note(|berth| berth.tokens.pop_front())?;
        token.ok().or_else(left)
    }

    pub async fn open_bidi(&self) -> Result<(Sending, Receiving), CloseReason> {
        let id = self.get(Wish::Open(Dir::Bidi)).await?;
        Ok((Sending::new(self, id, true), Receiving::new(self, id, None)))
    }

    pub async fn open_uni(&self) -> Result<Sending, CloseReason> {
        let id = self.get(Wish::Open(Dir::Uni)).await?;
        Ok(Sending::new(self, id, true))
    }

    pub async fn accept_bidi(&self) -> Result<(Sending, Receiving), CloseReason> {
        let id = self.get(Wish::Accept(Dir::Bidi)).await?;
        Ok((Sending::new(self, id, true), Receiving::new(self, id, None)))
    }

    pub async fn accept_uni(&self) -> Result<Receiving, CloseReason> {
        let id = self.get(Wish::Accept(Dir::Uni)).await?;
        Ok(Receiving::new(self, id, None))
    }

    /// Waits until the peer wants no more of a stream, or that is over.
    pub async fn stopped(&self, stream: u64) {
        poll_fn(|cx| {
            let goes_on = self.peep(|_, berth, _| {
                let sender = berth.sender(StreamId(stream));
                let sender = sender.filter(|sender| sender.stopped.is_none());
                sender.map(|sender| sender.watch(cx)).is_some()
            });
            match goes_on {
                Ok(true) => Poll::Pending,
                Ok(false) | Err(_) => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Why a request that came on a stream is not passed on, if it is not.
    pub fn refusal(&self, stream: u64) -> Option<RequestError> {
        self.note(|berth| berth.receiver(StreamId(stream))?.refused)?
    }

    /// Answers a request that was not passed on: with a status, and nothing more.
    pub fn answer(&self, stream: u64, status: u16) {
        let section = status_section(status);
        let head = [HEADERS, section.len() as u8];
        let frame = [head.as_slice(), &section].concat();
        // Where there is no room for ten bytes, nobody waits for them.
        let _ = self.act(|connection, _, _| {
            let written = connection.write(StreamId(stream), frame.into());
            written.and_then(|_| connection.finish(StreamId(stream)))
        });
    }

    fn get(&self, wish: Wish) -> impl Future<Output = Result<StreamId, CloseReason>> + use<> {
        let mut turn = Turn::new(self, wish);
        poll_fn(move |cx| turn.poll_stream(cx))
    }

    pub(crate) async fn when<R>(
        &self,
        mut ask: impl FnMut(&mut Connection) -> Option<R>,
    ) -> Result<R, CloseReason> {
        let mut turn = Turn::new(self, Wish::Stage);
        poll_fn(move |cx| turn.poll(cx, |connection, _| ask(connection))).await
    }

    /// Does something that the peer may come to see.
    pub(crate) fn act<R>(
        &self,
        act: impl FnOnce(&mut Connection, &mut Berth, Time) -> R,
    ) -> Result<R, CloseReason> {
        self.0.harbour.lock().act(self.0.handle, act)
    }

    /// Does something that it does not.
    pub(crate) fn peep<R>(
        &self,
        act: impl FnOnce(&mut Connection, &mut Berth, Time) -> R,
    ) -> Result<R, CloseReason> {
        self.0.harbour.lock().look(self.0.handle, act)
    }

    /// Notes something about a connection that may be over.
    pub(crate) fn note<R>(&self, note: impl FnOnce(&mut Berth) -> R) -> Option<R> {
        self.0.harbour.lock().berth(self.0.handle).map(note)
    }

    pub(crate) fn unmute(&self) {
        self.0.harbour.lock().unmute(self.0.handle);
    }

    fn look<R>(&self, look: impl FnOnce(&Connection) -> R) -> Option<R> {
        let mut state = self.0.harbour.lock();
        state
            .connection(self.0.handle)
            .map(|connection| look(connection))
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        self.harbour.lock().forsake(self.handle);
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&self.0.handle).finish()
    }
}

/// Waits for one thing after the other, at one place, which is given up with it.
pub(crate) struct Turn {
    link: Link,
    wish: Wish,
    place: Option<Place>,
}

impl Turn {
    pub(crate) fn new(link: &Link, wish: Wish) -> Self {
        Self {
            link: link.clone(),
            wish,
            place: None,
        }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// A stream that is opened or accepted, as was wished.
    pub(crate) fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, CloseReason>> {
        let wish = self.wish;
        self.poll(cx, |connection, _| match wish {
            Wish::Open(dir) => connection.open(dir),
            Wish::Accept(dir) => connection.accept(dir),
            Wish::Stage => None,
        })
    }

    fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Connection, &mut Berth) -> Option<R>,
    ) -> Poll<Result<R, CloseReason>> {
        let (wish, place) = (self.wish, &mut self.place);
        let asked = |connection: &mut Connection, berth: &mut Berth, _: Time| {
            if let Some(got) = ask(connection, berth) {
                return Poll::Ready(got);
            }
            let place = place.get_or_insert_with(|| berth.crowd.place());
            berth.crowd.wait(*place, wish, cx);
            Poll::Pending
        };
        // To be refused a stream is something that the peer is told; the other two are not.
        let polled = match wish {
            Wish::Open(_) => self.link.act(asked),
            Wish::Accept(_) | Wish::Stage => self.link.peep(asked),
        };
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(reason) => Poll::Ready(Err(reason)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.link.note(|berth| berth.crowd.leave(place));
        }
    }
}
