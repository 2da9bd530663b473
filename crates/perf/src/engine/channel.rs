//! A connection of the TCP family as the lanes use it: blocking, with one large read buffer and
//! counted system calls.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use roundtrip_net::TcpInfo;
use socket2::{Domain, Protocol, Socket, Type};

use super::{PEER_TIMEOUT, WireCounters};
use crate::error::PerfError;
use crate::plan::Congestion;

/// The largest number of bytes that one system call reads.
const READ_AT_ONCE: usize = 256 * 1024;
const BACKLOG: i32 = 1024;

pub(super) trait Channel: BufRead + Send {
    /// Passes all bytes to the kernel.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Ends the sending direction.
    fn finish(&mut self) -> io::Result<()>;

    fn line(&self) -> &BufferedSocket;
}

/// A connected socket with a read buffer.
#[derive(Debug)]
pub(super) struct BufferedSocket(BufReader<CountedSocket>);

/// Counts the system calls that transferred data.
#[derive(Debug)]
struct CountedSocket {
    stream: TcpStream,
    sends: u64,
    receives: u64,
}

pub(super) fn listen(at: SocketAddr, congestion: Congestion) -> Result<TcpListener, PerfError> {
    let socket = socket(at, congestion)?;
    let listening = || {
        socket.set_reuse_address(true)?;
        socket.bind(&at.into())?;
        socket.listen(BACKLOG)?;
        // On Linux, this timeout also limits `accept`.
        socket.set_read_timeout(Some(PEER_TIMEOUT))
    };
    listening().map_err(|source| PerfError::Listen { at, source })?;
    Ok(socket.into())
}

pub(super) fn connect(to: SocketAddr, congestion: Congestion) -> Result<BufferedSocket, PerfError> {
    let socket = socket(to, congestion)?;
    let connecting = || {
        socket.connect_timeout(&to.into(), PEER_TIMEOUT)?;
        BufferedSocket::new(socket.into())
    };
    connecting().map_err(|source| PerfError::Connect { to, source })
}

fn socket(address: SocketAddr, congestion: Congestion) -> Result<Socket, PerfError> {
    let (domain, protocol) = (Domain::for_address(address), Some(Protocol::TCP));
    let socket = Socket::new(domain, Type::STREAM, protocol)
        .map_err(PerfError::io("cannot make a TCP socket"))?;
    let name = congestion.word();
    socket
        .set_tcp_congestion(name.as_bytes())
        .map_err(|source| PerfError::Congestion { name, source })?;
    Ok(socket)
}

impl BufferedSocket {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PEER_TIMEOUT))?;
        stream.set_write_timeout(Some(PEER_TIMEOUT))?;
        let counted = CountedSocket {
            stream,
            sends: 0,
            receives: 0,
        };
        Ok(Self(BufReader::with_capacity(READ_AT_ONCE, counted)))
    }

    /// Limits reads to this time; then they fail with `WouldBlock`.
    pub(super) fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        self.stream().set_read_timeout(Some(time))
    }

    pub(super) fn shut(&self) -> io::Result<()> {
        self.stream().shutdown(Shutdown::Write)
    }

    /// The counters of the kernel, and our own.
    pub(super) fn wire(&self) -> WireCounters {
        let counted = self.0.get_ref();
        let mut wire = WireCounters {
            send_calls: Some(counted.sends),
            receive_calls: Some(counted.receives),
            ..WireCounters::default()
        };
        if let Some(info) = TcpInfo::from_socket(&counted.stream) {
            let segments = info.segments();
            wire.packets_sent = Some(segments.sent);
            wire.packets_received = Some(segments.received);
            wire.acks_sent = Some(segments.sent.saturating_sub(segments.sent_with_data));
            wire.acks_received = Some(
                segments
                    .received
                    .saturating_sub(segments.received_with_data),
            );
            wire.retransmitted = Some(segments.resent);
            wire.largest = Some(segments.largest);
            wire.held_by_window = info.held_by_window();
        }
        wire
    }

    fn stream(&self) -> &TcpStream {
        &self.0.get_ref().stream
    }
}

impl BufRead for BufferedSocket {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl Read for BufferedSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for BufferedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().sent(|stream| stream.write(bytes))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_mut().sent(|stream| stream.write_vectored(parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CountedSocket {
    fn sent(
        &mut self,
        send: impl FnOnce(&mut TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let n = send(&mut self.stream)?;
        self.sends += 1;
        Ok(n)
    }
}

impl Read for CountedSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(into)?;
        self.receives += 1;
        Ok(n)
    }
}
