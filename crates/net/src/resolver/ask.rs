//! Sends one query to the configured servers: over UDP, again if none answers, over TCP if the
//! answer is too long.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::dns::{Kind, Message, Name, Query, Rcode};
use roundtrip_wire::resolv_conf::ResolvConf;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout};

use super::ResolveError;
use crate::sys;

/// An answer, and the time that it took.
pub(super) struct TimedAnswer {
    pub(super) message: Message,
    pub(super) server: SocketAddr,
    pub(super) resent: u32,
    /// The number of queries that got no answer in time.
    pub(super) unanswered: u32,
    /// How long the query took over TCP, if the answer was too long for UDP.
    pub(super) over_tcp: Option<Duration>,
    /// When the answer arrived, by the kernel's wall clock; over UDP only.
    pub(super) arrived: Option<Duration>,
}

/// The answer to one attempt.
struct Answered {
    message: Message,
    over_tcp: Option<Duration>,
    arrived: Option<Duration>,
}

pub(super) async fn ask(
    conf: &ResolvConf,
    servers: &[SocketAddr],
    name: &Name,
    kind: Kind,
) -> Result<TimedAnswer, ResolveError> {
    let shown = || name.to_string();
    let (mut resent, mut unanswered) = (0, 0);
    let mut failure = None;
    for _ in 0..conf.attempts.max(1) {
        for server in servers {
            let mut query = Query::new(random_dns_id(), name.clone(), kind);
            match once(conf, *server, &mut query).await {
                Ok(answered) => match answered.message.rcode {
                    Rcode::NO_ERROR | Rcode::NO_SUCH_NAME => {
                        return Ok(TimedAnswer {
                            message: answered.message,
                            server: *server,
                            resent,
                            unanswered,
                            over_tcp: answered.over_tcp,
                            arrived: answered.arrived,
                        });
                    }
                    rcode => failure = Some((*server, rcode.to_string())),
                },
                Err(error) if error.kind() == io::ErrorKind::TimedOut => unanswered += 1,
                Err(error) => failure = Some((*server, error.to_string())),
            }
            resent += 1;
        }
    }
    Err(match failure {
        Some((server, why)) => ResolveError::Failed {
            name: shown(),
            server,
            why,
        },
        None => ResolveError::Silent {
            name: shown(),
            servers: servers.to_vec(),
            after: conf.timeout * conf.attempts.max(1) * servers.len() as u32,
        },
    })
}

/// Asks one server once: over UDP first, unless the configuration requires TCP.
async fn once(conf: &ResolvConf, server: SocketAddr, query: &mut Query) -> io::Result<Answered> {
    let limit = conf.timeout;
    if !conf.use_vc {
        let answer = timeout(limit, over_udp(server, query))
            .await
            .map_err(|_| io::ErrorKind::TimedOut)??;
        // Servers older than EDNS refuse the query because of its option: ask without it (RFC 6891
        // §7).
        if answer.message.rcode == Rcode::FORMAT_ERROR && query.udp_size.take().is_some() {
            return timeout(limit, over_udp(server, query))
                .await
                .map_err(|_| io::ErrorKind::TimedOut)?;
        }
        if !answer.message.truncated {
            return Ok(answer);
        }
    }
    let began = Instant::now();
    let message = timeout(limit, over_tcp(server, query))
        .await
        .map_err(|_| io::ErrorKind::TimedOut)??;
    Ok(Answered {
        message,
        over_tcp: Some(began.elapsed()),
        arrived: None,
    })
}

async fn over_udp(server: SocketAddr, query: &Query) -> io::Result<Answered> {
    let local: SocketAddr = if server.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(local).await?;
    // Without a stamp, the time of reading counts.
    let _ = sys::set_receive_stamps(&socket);
    socket.connect(server).await?;
    socket.send(&query.encode().map_err(invalid)?).await?;
    let mut buffer = vec![0; 4096];
    loop {
        let receive = || sys::receive(&socket, &mut buffer, false);
        let answer_or_error = Interest::READABLE | Interest::ERROR;
        let (n, arrived) = socket.async_io(answer_or_error, receive).await?;
        // Ignore answers to other queries and keep listening (RFC 5452 §9.1).
        if let Ok(message) = Message::parse(buffer.get(..n).unwrap_or_default())
            && message.answers_query(query)
        {
            return Ok(Answered {
                message,
                over_tcp: None,
                arrived,
            });
        }
    }
}

/// Asks over TCP. Two bytes with its length precede each message (RFC 1035 §4.2.2).
async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Message> {
    let bytes = query.encode().map_err(invalid)?;
    let mut framed = (bytes.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(&bytes);
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&framed).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; length.into()];
    stream.read_exact(&mut answer).await?;
    let message = Message::parse(&answer).map_err(invalid)?;
    if message.answers_query(query) {
        Ok(message)
    } else {
        Err(invalid("the answer belongs to another query"))
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The id of a query. It need not be secret on the path, only hard to guess off-path; the port is
/// random too (RFC 5452 §4).
pub fn random_dns_id() -> u16 {
    RandomState::new().build_hasher().finish() as u16
}
