//! A TCP stream without records, for many connections; can start with fast open.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use socket2::{Domain, Protocol, SockRef, Type};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use crate::{TcpInfo, sys};

#[derive(Debug)]
pub struct Plain {
    stream: TcpStream,
    deferred: bool,
}

impl Plain {
    /// Connects. With fast open, if the kernel has the peer's cookie, this returns at once, and the
    /// first write leaves in the SYN: it can reach the peer twice (RFC 7413 §2.1). If the peer does
    /// not answer, later reads and writes report that.
    pub async fn connect(peer: SocketAddr, fast_open: bool) -> io::Result<Self> {
        if !fast_open {
            let stream = TcpStream::connect(peer).await?;
            stream.set_nodelay(true)?;
            let deferred = false;
            return Ok(Self { stream, deferred });
        }
        let domain = Domain::for_address(peer);
        let socket = socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        sys::set_fast_open_connect(&socket)?;
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = socket.connect(peer).await?;
        let deferred = TcpInfo::from_socket(&stream).is_some_and(|info| info.is_opening());
        Ok(Self { stream, deferred })
    }

    /// Whether the first write has to open the connection.
    pub fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// Whether the peer accepted the data in the SYN. Asks the kernel.
    pub fn saved_a_round_trip(&self) -> bool {
        self.deferred && TcpInfo::from_socket(&self.stream).is_some_and(|info| info.took_syn_data())
    }

    /// Whether the stream is open and has no byte to read. Needs no system call unless something
    /// arrived.
    pub fn is_quiet(&self) -> bool {
        let read = self.stream.try_read(&mut [0]);
        matches!(read, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Like [`Self::is_quiet`], but asks the kernel: the runtime may not have heard yet of what has
    /// arrived.
    pub fn is_quiet_now(&self) -> bool {
        let peeked = SockRef::from(&self.stream).peek(&mut [MaybeUninit::uninit()]);
        matches!(peeked, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// A fast-open SYN that could take no data reports `EINPROGRESS`: the data then waits for the
    /// SYN-ACK.
    fn poll_written(
        &mut self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match ready!(write(Pin::new(&mut self.stream), cx)) {
                Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {
                    let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                    let _ = self.stream.try_io(Interest::WRITABLE, nothing);
                    ready!(self.stream.poll_write_ready(cx))?;
                }
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncRead for Plain {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Plain {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(cx, |stream, cx| stream.poll_write(cx, data))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(cx, |stream, cx| stream.poll_write_vectored(cx, data))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
