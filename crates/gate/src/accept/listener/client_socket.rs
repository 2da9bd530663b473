//! A client's TCP socket. It is registered with the runtime only when it first has to wait: a
//! client whose request has already arrived, and whose answer the kernel takes at once, is never
//! registered.

use std::io::{self, IoSlice, Write};
use std::mem::{self, MaybeUninit};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use roundtrip_net::TcpInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SocketFlags, acceptfrom_with, recv};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop::poll_proceed;

use crate::accept::stream::Stream;
use crate::forward::exchange::TcpMeter;

/// The largest number of bytes that are read at once before the socket is registered: enough for
/// most heads.
const FIRST_READ: usize = 4096;

pub(crate) struct ClientSocket(Registration);

enum Registration {
    Unwatched(std::net::TcpStream),
    Watched(TcpStream),
    /// Registering failed, and the socket is closed.
    Lost,
}

impl ClientSocket {
    /// Accepts the next client of this non-blocking listener.
    pub(super) fn accept(listener: &std::net::TcpListener) -> io::Result<(Self, SocketAddr)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (socket, peer) = acceptfrom_with(listener, flags)?;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        // It has been reset; the reader will see that.
        let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok((socket.into(), peer))
    }

    /// Whether the SYN brought data that the kernel accepted.
    pub(super) fn took_syn_data(&self) -> bool {
        let info = match &self.0 {
            Registration::Unwatched(socket) => TcpInfo::from_socket(socket),
            Registration::Watched(socket) => TcpInfo::from_socket(socket),
            Registration::Lost => None,
        };
        info.is_some_and(|info| info.took_syn_data())
    }

    /// Registers the socket with the runtime.
    pub(super) fn watched(&mut self) -> io::Result<&mut TcpStream> {
        if let Registration::Unwatched(_) = self.0
            && let Registration::Unwatched(socket) = mem::replace(&mut self.0, Registration::Lost)
        {
            self.0 = Registration::Watched(TcpStream::from_std(socket)?);
        }
        match &mut self.0 {
            Registration::Watched(socket) => Ok(socket),
            Registration::Unwatched(_) | Registration::Lost => Err(lost()),
        }
    }

    /// Tries an operation at once, while the socket is not registered. Like the runtime's own
    /// sockets it consumes the task's budget, so that a busy client does not starve the others.
    fn poll_at_once<T>(
        &self,
        cx: &mut Context<'_>,
        attempt: impl FnOnce(&std::net::TcpStream) -> io::Result<T>,
    ) -> Poll<Option<io::Result<T>>> {
        let Registration::Unwatched(socket) = &self.0 else {
            return Poll::Ready(None);
        };
        let budget = ready!(poll_proceed(cx));
        match attempt(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Ready(None),
            outcome => {
                budget.made_progress();
                Poll::Ready(Some(outcome))
            }
        }
    }
}

impl From<OwnedFd> for ClientSocket {
    /// Wraps a non-blocking connection.
    fn from(socket: OwnedFd) -> Self {
        Self(Registration::Unwatched(socket.into()))
    }
}

impl ClientSocket {
    /// Whether the socket has one of these events, or an event that is always reported.
    fn polled(&self, events: PollFlags) -> bool {
        let socket = match &self.0 {
            Registration::Unwatched(socket) => socket.as_fd(),
            Registration::Watched(socket) => socket.as_fd(),
            Registration::Lost => return true,
        };
        let mut state = [PollFd::from_borrowed_fd(socket, events)];
        let now = Timespec::default();
        poll(&mut state, Some(&now)).is_ok_and(|changed| changed > 0)
    }
}

impl Stream for ClientSocket {
    fn has_left(&mut self) -> bool {
        self.polled(PollFlags::RDHUP)
    }

    fn was_reset(&mut self) -> bool {
        // The kernel always reports errors and hang-ups.
        self.polled(PollFlags::empty())
    }

    fn meter(&self) -> Option<TcpMeter> {
        match &self.0 {
            Registration::Unwatched(socket) => TcpMeter::new(socket),
            Registration::Watched(socket) => TcpMeter::new(socket),
            Registration::Lost => None,
        }
    }

    fn abandon(&mut self) {
        let now = Some(Duration::ZERO);
        // If this fails, the connection ends with a FIN.
        let _ = match &self.0 {
            Registration::Unwatched(socket) => SockRef::from(socket).set_linger(now),
            Registration::Watched(socket) => SockRef::from(socket).set_linger(now),
            Registration::Lost => Ok(()),
        };
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(self.poll_at_once(cx, |socket| receive(socket, into))) {
            Some(outcome) => Poll::Ready(outcome),
            None => Pin::new(self.watched()?).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match ready!(self.poll_at_once(cx, |mut socket| socket.write(data))) {
            Some(outcome) => Poll::Ready(outcome),
            None => Pin::new(self.watched()?).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match ready!(self.poll_at_once(cx, |mut socket| socket.write_vectored(parts))) {
            Some(outcome) => Poll::Ready(outcome),
            None => Pin::new(self.watched()?).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Registration::Unwatched(socket) => Poll::Ready(socket.shutdown(Shutdown::Write)),
            Registration::Watched(socket) => Pin::new(socket).poll_shutdown(cx),
            Registration::Lost => Poll::Ready(Err(lost())),
        }
    }
}

fn receive(socket: &std::net::TcpStream, into: &mut ReadBuf<'_>) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); FIRST_READ];
    let most = into.remaining().min(FIRST_READ);
    let room = room.get_mut(..most).unwrap_or_default();
    let ((received, _), _) = recv(socket, room, RecvFlags::empty())?;
    into.put_slice(received);
    Ok(())
}

fn lost() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream as Peer};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair() -> (Peer, ClientSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Peer::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, from) = ClientSocket::accept(&listener).unwrap();
        assert_eq!(from, peer.local_addr().unwrap());
        (peer, socket)
    }

    fn is_watched(socket: &ClientSocket) -> bool {
        matches!(socket.0, Registration::Watched(_))
    }

    #[tokio::test]
    async fn a_socket_that_is_ready_is_not_watched() {
        let (mut peer, mut socket) = pair();
        peer.write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        socket.read_exact(&mut heard).await.unwrap();
        socket.write_all(b"good").await.unwrap();
        let parts = [IoSlice::new(b"b"), IoSlice::new(b"ye")];
        assert_eq!(socket.write_vectored(&parts).await.unwrap(), 3);
        socket.shutdown().await.unwrap();
        assert_eq!(&heard, b"hello");
        let mut said = String::new();
        peer.read_to_string(&mut said).unwrap();
        assert_eq!(said, "goodbye");
        assert!(!is_watched(&socket));
        drop(peer);
        assert_eq!(socket.read(&mut heard).await.unwrap(), 0);
        assert!(!is_watched(&socket));
    }

    #[tokio::test]
    async fn a_silent_client_is_watched_and_heard() {
        let (mut peer, mut socket) = pair();
        let mut heard = Vec::new();
        let said = async {
            tokio::task::yield_now().await;
            peer.write_all(&[7; 3 * FIRST_READ]).unwrap();
            peer.shutdown(Shutdown::Write).unwrap();
        };
        let (read, ()) = tokio::join!(socket.read_to_end(&mut heard), said);
        assert_eq!(
            (read.unwrap(), heard),
            (3 * FIRST_READ, vec![7; 3 * FIRST_READ])
        );
        assert!(is_watched(&socket));
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_is_watched_and_gets_all() {
        const MUCH: usize = 16 << 20;
        let (mut peer, mut socket) = pair();
        let taken = std::thread::spawn(move || {
            let mut taken = Vec::new();
            peer.read_to_end(&mut taken).unwrap();
            taken.len()
        });
        socket.write_all(&vec![1; MUCH]).await.unwrap();
        assert!(is_watched(&socket), "no socket holds so much");
        drop(socket);
        assert_eq!(taken.join().unwrap(), MUCH);
    }

    #[tokio::test]
    async fn a_client_that_always_sends_does_not_keep_others_waiting() {
        const MUCH: usize = 2 << 20;
        let (mut peer, mut socket) = pair();
        let talk = std::thread::spawn(move || peer.write_all(&vec![1; MUCH]));
        let (mut heard, mut turns) = (0, 0);
        let listening = async {
            let mut byte = [0; 64];
            while heard < MUCH {
                heard += socket.read(&mut byte).await.unwrap();
            }
        };
        tokio::pin!(listening);
        std::future::poll_fn(|cx| {
            turns += 1;
            listening.as_mut().poll(cx)
        })
        .await;
        talk.join().unwrap().unwrap();
        // 64 bytes for each read, and a task has a budget of 128 reads.
        assert!(turns > MUCH / 64 / 256, "{turns}");
    }

    #[tokio::test]
    async fn an_abandoned_client_is_reset() {
        for watched in [false, true] {
            let (mut peer, mut socket) = pair();
            if watched {
                socket.watched().unwrap();
            }
            socket.write_all(b"part of an answer").await.unwrap();
            socket.abandon();
            drop(socket);
            let said = peer.read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(said.kind(), io::ErrorKind::ConnectionReset);
        }
    }
}
