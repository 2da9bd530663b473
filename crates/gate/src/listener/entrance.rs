//! One listening socket of a thread: who comes is taken in, and met: a proxy's header is read, TLS shakes hands.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roundtrip_net::TcpInfo;
use roundtrip_tls::TlsError;
use roundtrip_wire::proxy_header::{LONGEST, ProxyHeader};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::{Handshake, Incoming, Met, ThreadTls};
use crate::config::Network;

/// After an accept that failed, as when descriptors run out: trying again at once would only burn time.
const PAUSE: Duration = Duration::from_millis(50);

/// How clients are met: what a new configuration may change while sockets stay.
pub(crate) struct Manner {
    pub(crate) tls: Rc<ThreadTls>,
    /// From these a connection begins with a PROXY header.
    pub(crate) proxies: Vec<Network>,
    /// Is it worth asking the kernel about data in the SYN?
    pub(crate) fast_open: bool,
}

pub(crate) struct Entrance {
    listener: TcpListener,
    local: SocketAddr,
    secure: bool,
    failures: Arc<AtomicU64>,
}

/// A connection of which nothing was read yet.
pub(crate) struct Arrival {
    stream: TcpStream,
    /// Who is at the other end: a proxy, perhaps.
    pub(crate) peer: SocketAddr,
    local: SocketAddr,
    secure: bool,
}

/// Why a connection was given up before it could speak.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unmet {
    #[error("{0}")]
    Proxy(#[source] roundtrip_wire::Error),
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Quic(#[source] roundtrip_quic::CloseReason),
    #[error("it did not say enough in time")]
    TimedOut,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Entrance {
    /// Each accept that fails is counted in `failures`.
    pub(crate) fn open(
        listener: std::net::TcpListener,
        secure: bool,
        failures: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        Ok(Self {
            local: listener.local_addr()?,
            listener,
            secure,
            failures,
        })
    }

    /// The next client. Whatever goes wrong here is waited out.
    pub(crate) async fn next(&self) -> Arrival {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => return self.arrival(stream, peer),
                // It left before it was looked at: the next one may be there.
                Err(e) if is_the_peer_s(&e) => {}
                Err(_) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn arrival(&self, stream: TcpStream, peer: SocketAddr) -> Arrival {
        // Without it, the second small write of an answer would wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let local = if self.local.ip().is_unspecified() {
            stream.local_addr().unwrap_or(self.local)
        } else {
            self.local
        };
        Arrival {
            stream,
            peer,
            local,
            secure: self.secure,
        }
    }
}

/// accept(2): errors of the new connection come out of it as well.
fn is_the_peer_s(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

impl Arrival {
    /// Until the client may speak, or `within` is over.
    pub(crate) async fn meet(self, manner: &Manner, within: Duration) -> Result<Met, Unmet> {
        match timeout(within, self.welcome(manner)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Unmet::TimedOut),
        }
    }

    async fn welcome(mut self, manner: &Manner) -> Result<Met, Unmet> {
        let from_proxy = |network: &Network| network.contains(self.peer.ip());
        if manner.proxies.iter().any(from_proxy)
            && let ProxyHeader::For {
                source,
                destination,
            } = read_header(&mut self.stream).await?
        {
            (self.peer, self.local) = (source, destination);
        }
        let mut facts = Handshake {
            fast_open: manner.fast_open
                && TcpInfo::of(&self.stream).is_some_and(|info| info.took_syn_data()),
            ..Handshake::default()
        };
        let stream = if self.secure {
            let secure = manner.tls.accept(self.stream).await?;
            secure.describe(&mut facts);
            Incoming::Secure(Box::new(secure))
        } else {
            Incoming::Clear(self.stream)
        };
        Ok(Met {
            stream,
            peer: self.peer,
            local: self.local,
            facts,
        })
    }
}

/// Takes the header from the socket, and not a byte of what follows it.
async fn read_header(stream: &mut TcpStream) -> Result<ProxyHeader, Unmet> {
    let mut bytes = [0; LONGEST];
    let mut have = 0;
    loop {
        let room = bytes.get_mut(have..).unwrap_or_default();
        let seen = have + stream.peek(room).await?;
        if seen == have {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let parsed = ProxyHeader::parse(bytes.get(..seen).unwrap_or_default());
        let parsed = parsed.map_err(Unmet::Proxy)?;
        let end = parsed.map_or(seen, |(_, end)| end);
        let taken = bytes.get_mut(have..end).unwrap_or_default();
        stream.read_exact(taken).await?;
        if let Some((header, _)) = parsed {
            return Ok(header);
        }
        have = end;
    }
}
