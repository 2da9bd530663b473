//! One listening socket of a thread: accepts clients, reads a PROXY header and performs the TLS
//! handshake.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use roundtrip_net::{Watch, defer_accept, start_listening};
use roundtrip_tls::TlsError;
use roundtrip_wire::proxy_header::{MAX_LENGTH, ProxyHeader};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{SockFilter, SockRef};
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};

use super::{AcceptedConnection, ClientSocket, ClientStream, HandshakeFacts, ThreadTls};
use crate::config::Network;

/// The pause after an accept that failed, as when descriptors run out: trying again at once would
/// only use CPU time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Drops a SYN, and passes everything else (classic BPF; a TCP socket's filter sees the segment
/// from its header on).
const WITHOUT_SYN: [(u16, u8, u8, u32); 5] = [
    // BPF_LD | BPF_B | BPF_ABS: load the flags.
    (0x30, 0, 0, 13),
    // BPF_ALU | BPF_AND | BPF_K: keep SYN and ACK.
    (0x54, 0, 0, 0x12),
    // BPF_JMP | BPF_JEQ | BPF_K: SYN without ACK skips the next instruction.
    (0x15, 1, 0, 0x02),
    // BPF_RET | BPF_K.
    (0x06, 0, 0, u32::MAX),
    (0x06, 0, 0, 0),
];

/// The settings that a new configuration may change while sockets stay open.
pub(crate) struct AcceptConfig {
    pub(crate) tls: Rc<ThreadTls>,
    /// Connections from these networks begin with a PROXY header.
    pub(crate) proxies: Vec<Network>,
    /// Whether to ask the kernel about data in the SYN.
    pub(crate) fast_open: bool,
}

impl AcceptConfig {
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(peer))
    }
}

/// Whether the kernel may accept data in SYNs for listeners; if not, connections need not be asked.
/// Read when a configuration is read.
pub(crate) fn kernel_takes_syn_data() -> bool {
    let bits = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_fastopen");
    takes_syn_data(bits.as_deref().unwrap_or_default())
}

/// The second bit is for listeners (Documentation/networking/ip-sysctl.rst in Linux). If in doubt,
/// `true`.
fn takes_syn_data(bits: &str) -> bool {
    bits.trim().parse::<u32>().is_ok_and(|bits| bits & 2 != 0) || bits.trim().is_empty()
}

pub(crate) struct Listener {
    socket: TcpListener,
    watch: Watch,
    secure: bool,
    /// Whether the service manager opened the socket.
    inherited: bool,
    failures: Arc<AtomicU64>,
    /// Whether a client was accepted, so that another may be waiting behind it.
    accepted: Cell<bool>,
    /// Whether the last client came alone: no other client was waiting behind it.
    come_alone: Cell<bool>,
}

/// A connection that has not been read from yet.
pub(crate) struct AcceptedSocket {
    stream: ClientSocket,
    /// The peer, which may be a proxy.
    pub(crate) peer: SocketAddr,
    secure: bool,
}

/// Why a connection was closed before it could send a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AcceptError {
    #[error("{0}")]
    Proxy(#[source] roundtrip_wire::Error),
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Quic(#[source] roundtrip_quic::CloseReason),
    #[error("it did not send a complete request in time")]
    TimedOut,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Listener {
    /// Listens on a bound socket. `failures` counts each accept that fails.
    pub(crate) fn open(
        socket: TcpListener,
        backlog: u32,
        secure: bool,
        failures: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        // Accepted sockets inherit it. Without it, the second small write of an answer would wait
        // for an acknowledgement.
        SockRef::from(&socket).set_tcp_nodelay(true)?;
        // Clients speak first, with TLS and without. The kernel reports a connection only when its
        // request has arrived, so gate need not wait for the request.
        defer_accept(&socket)?;
        // Gate's own sockets only begin to listen here.
        let inherited = SockRef::from(&socket).is_listener()?;
        start_listening(&socket, backlog)?;
        Ok(Self {
            watch: Watch::new(&socket)?,
            socket,
            secure,
            inherited,
            failures,
            accepted: Cell::new(false),
            come_alone: Cell::new(false),
        })
    }

    /// Returns the next client. After an error it waits and tries again.
    pub(crate) async fn next(&self) -> AcceptedSocket {
        loop {
            match poll_fn(|cx| self.poll_accept(cx)).await {
                Ok((stream, peer)) => return self.arrival(stream, peer),
                // The client left before it was accepted: try the next one.
                Err(e) if is_the_peer_s(&e) => {}
                Err(_) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Returns a client that is waiting now, if there is one.
    pub(crate) fn waiting(&self) -> Option<AcceptedSocket> {
        loop {
            match ClientSocket::accept(&self.socket) {
                Ok((stream, peer)) => return Some(self.arrival(stream, peer)),
                Err(e) if is_the_peer_s(&e) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether the socket outlives this process, so that another one can accept the connections
    /// that wait.
    pub(crate) fn is_inherited(&self) -> bool {
        self.inherited
    }

    /// Stops new connections here; connections that have begun can still be accepted. The kernel
    /// would reset them if the listener closed during their handshake. Clients repeat a SYN after 1
    /// s, and another process on the same address may answer it.
    pub(crate) fn drop_syns(&self) -> io::Result<()> {
        let filter = WITHOUT_SYN.map(|(code, jt, jf, k)| SockFilter::new(code, jt, jf, k));
        SockRef::from(&self.socket).attach_filter(&filter)
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(ClientSocket, SocketAddr)>> {
        loop {
            let mut somebody = ready!(self.watch.poll_readable(cx))?;
            let behind_another = self.accepted.replace(false);
            if behind_another && self.come_alone.get() && !is_waiting(&self.socket) {
                somebody.clear_ready();
                continue;
            }
            let accepted = somebody.try_io(|_| ClientSocket::accept(&self.socket));
            if behind_another {
                self.come_alone.set(accepted.is_err());
            }
            // If no client is waiting, wait for the next one.
            if let Ok(accepted) = accepted {
                self.accepted.set(true);
                return Poll::Ready(accepted);
            }
        }
    }

    fn arrival(&self, stream: ClientSocket, peer: SocketAddr) -> AcceptedSocket {
        AcceptedSocket {
            stream,
            peer,
            secure: self.secure,
        }
    }
}

/// Whether a client is waiting. accept(2) would show that too, but it creates a socket before it
/// checks, so an unsuccessful call costs ten times as much.
fn is_waiting(listener: &TcpListener) -> bool {
    let mut state = [PollFd::new(listener, PollFlags::IN)];
    let now = Timespec::default();
    !matches!(poll(&mut state, Some(&now)), Ok(0))
}

/// accept(2) also returns errors of the new connection.
fn is_the_peer_s(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

impl AcceptedSocket {
    /// Ends when the client may send a request, or after `within`.
    pub(crate) async fn meet(
        self: Box<Self>,
        accept_config: &AcceptConfig,
        within: Duration,
    ) -> Result<AcceptedConnection, AcceptError> {
        if !self.secure && !self.is_from_proxy(accept_config) {
            // It may send a request at once.
            let facts = self.facts(accept_config);
            return Ok(AcceptedConnection {
                stream: ClientStream::Clear(self.stream),
                peer: self.peer,
                facts,
            });
        }
        // Boxed, because most clear-text clients do not need the memory.
        match Box::pin(timeout(within, self.welcome(accept_config))).await {
            Ok(outcome) => outcome,
            Err(_) => Err(AcceptError::TimedOut),
        }
    }

    async fn welcome(
        mut self: Box<Self>,
        accept_config: &AcceptConfig,
    ) -> Result<AcceptedConnection, AcceptError> {
        if self.is_from_proxy(accept_config)
            && let ProxyHeader::For { source, .. } = read_header(&mut self.stream).await?
        {
            self.peer = source;
        }
        let mut facts = self.facts(accept_config);
        let stream = if self.secure {
            let secure = accept_config
                .tls
                .accept(self.stream, self.peer.ip())
                .await?;
            secure.describe(&mut facts);
            ClientStream::Secure(Box::new(secure))
        } else {
            ClientStream::Clear(self.stream)
        };
        Ok(AcceptedConnection {
            stream,
            peer: self.peer,
            facts,
        })
    }

    fn is_from_proxy(&self, accept_config: &AcceptConfig) -> bool {
        accept_config.is_proxy(self.peer.ip())
    }

    fn facts(&self, accept_config: &AcceptConfig) -> HandshakeFacts {
        HandshakeFacts {
            fast_open: accept_config.fast_open && self.stream.took_syn_data(),
            ..HandshakeFacts::default()
        }
    }
}

/// Reads the header and nothing beyond it.
async fn read_header(stream: &mut ClientSocket) -> Result<ProxyHeader, AcceptError> {
    let stream = stream.watched()?;
    let mut bytes = [0; MAX_LENGTH];
    let mut have = 0;
    loop {
        let room = bytes.get_mut(have..).unwrap_or_default();
        let seen = have + stream.peek(room).await?;
        if seen == have {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let parsed = ProxyHeader::parse(bytes.get(..seen).unwrap_or_default());
        let parsed = parsed.map_err(AcceptError::Proxy)?;
        let end = parsed.map_or(seen, |(_, end)| end);
        let taken = bytes.get_mut(have..end).unwrap_or_default();
        stream.read_exact(taken).await?;
        if let Some((header, _)) = parsed {
            return Ok(header);
        }
        have = end;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_a_kernel_whose_listeners_take_data_is_asked_about_it() {
        for (bits, takes) in [
            ("1\n", false),
            ("0", false),
            ("3\n", true),
            ("1027", true),
            ("", true),
        ] {
            assert_eq!(takes_syn_data(bits), takes, "{bits:?}");
        }
    }

    #[tokio::test]
    async fn clients_that_come_alone_or_together_are_all_accepted() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let listener = Listener::open(socket, 16, false, Arc::default()).unwrap();
        for together in [1, 1, 1, 5, 1, 2, 1, 1, 3] {
            let clients: Vec<_> = (0..together)
                .map(|_| {
                    let mut client =
                        std::net::TcpStream::connect(listener.socket.local_addr().unwrap())
                            .unwrap();
                    // Clients are accepted when they have sent something.
                    client.write_all(b"x").unwrap();
                    client.local_addr().unwrap()
                })
                .collect();
            for client in clients {
                let next = timeout(Duration::from_mins(1), listener.next());
                assert_eq!(next.await.unwrap().peer, client);
            }
            // No other client is waiting, so the wait for the next one starts again.
            let nobody = timeout(Duration::from_millis(1), listener.next()).await;
            assert!(nobody.is_err());
        }
    }

    #[tokio::test]
    async fn clients_sockets_send_small_writes_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = Listener::open(listener, 16, false, Arc::default()).unwrap();
        let _client = std::net::TcpStream::connect(listener.socket.local_addr().unwrap()).unwrap();
        let mut arrival = listener.next().await;
        assert!(arrival.stream.watched().unwrap().nodelay().unwrap());
    }
}
