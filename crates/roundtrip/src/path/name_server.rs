//! A small name server at the far end (RFC 1035), so that a lookup crosses the path as it does in
//! reality. It knows the names inside and, because an experiment may need more of them, everything
//! under `test` (RFC 6761 §6.2): all of them resolve to the server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use roundtrip_path::{CLIENT_NAMES, Path, SERVER_NAMES};
use roundtrip_wire::dns::{Data, Kind, Message, Name, Question, Rcode, Record};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

const PORT: u16 = 53;
/// How many seconds an answer may be cached.
const TIME_TO_LIVE: u32 = 60;
/// A datagram without EDNS. RFC 1035 §4.2.1.
const MIN_LIMIT: u16 = 512;
const MAX_DATAGRAM: usize = 4096;

#[derive(Debug)]
struct Zone {
    server: (Ipv4Addr, Ipv6Addr, Vec<Name>),
    client: (Ipv4Addr, Ipv6Addr, Vec<Name>),
    delay: Duration,
}

/// Starts it, on a thread inside the network that ends with the process. The returned value holds
/// nothing else.
pub(super) fn start(path: &Path, more: &[String], delay: Duration) -> Result<(), String> {
    let names = |all: &[&str]| all.iter().flat_map(|name| name.parse()).collect();
    let mut server: Vec<Name> = names(SERVER_NAMES);
    server.extend(more.iter().flat_map(|name| name.parse::<Name>()));
    let zone = Arc::new(Zone {
        server: (
            path.server().address_v4(),
            path.server().address_v6(),
            server,
        ),
        client: (
            path.client().address_v4(),
            path.client().address_v6(),
            names(CLIENT_NAMES),
        ),
        delay,
    });
    let started = path.server().run(|| -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let address = SocketAddr::new(IpAddr::V4(zone.server.0), PORT);
        let (datagrams, streams) = runtime.block_on(async {
            io::Result::Ok((
                UdpSocket::bind(address).await?,
                TcpListener::bind(address).await?,
            ))
        })?;
        thread::Builder::new()
            .name("name-server".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::join!(
                        answer_datagrams(Arc::new(datagrams), Arc::clone(&zone)),
                        answer_streams(streams, zone)
                    );
                });
            })?;
        Ok(())
    });
    let failed = |error: &dyn std::fmt::Display| format!("--dns: no name server: {error}");
    started
        .map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))
}

async fn answer_datagrams(socket: Arc<UdpSocket>, zone: Arc<Zone>) {
    let mut buffer = [0; MAX_DATAGRAM];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else {
            // An error that an earlier datagram caused on its way back.
            continue;
        };
        let Some(query) = buffer.get(..length).and_then(|q| Message::parse(q).ok()) else {
            continue;
        };
        let limit = usize::from(query.udp_size.unwrap_or(0).max(MIN_LIMIT));
        let (socket, zone) = (Arc::clone(&socket), Arc::clone(&zone));
        tokio::spawn(async move {
            tokio::time::sleep(zone.delay).await;
            if let Some(answer) = zone.answer(&query)
                && let Ok(bytes) = answer.encode_within(limit)
            {
                let _ = socket.send_to(&bytes, from).await;
            }
        });
    }
}

async fn answer_streams(listener: TcpListener, zone: Arc<Zone>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let zone = Arc::clone(&zone);
            tokio::spawn(async move {
                // If the client disconnects, that does not matter.
                let _ = converse(stream, &zone).await;
            });
        }
    }
}

/// Answers over TCP, where a length precedes each message. RFC 7766 §8.
async fn converse(mut stream: TcpStream, zone: &Zone) -> io::Result<()> {
    loop {
        let length = usize::from(stream.read_u16().await?);
        let mut query = vec![0; length];
        stream.read_exact(&mut query).await?;
        let query = Message::parse(&query).map_err(io::Error::other)?;
        tokio::time::sleep(zone.delay).await;
        let Some(answer) = zone.answer(&query) else {
            return Ok(());
        };
        let bytes = answer.encode().map_err(io::Error::other)?;
        let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
        stream
            .write_all(&[&length.to_be_bytes()[..], &bytes].concat())
            .await?;
    }
}

impl Zone {
    /// The answer to a query; `None` if the message is not a question.
    fn answer(&self, query: &Message) -> Option<Message> {
        let [question] = query.questions.as_slice() else {
            return (!query.response).then(|| query.reply(Rcode::FORMAT_ERROR));
        };
        if query.response {
            return None;
        }
        let Some((v4, v6)) = self.addresses(&question.name) else {
            return Some(query.reply(Rcode::NO_SUCH_NAME));
        };
        let mut reply = query.reply(Rcode::NO_ERROR);
        reply.authoritative = true;
        let data = match question.kind {
            Kind::A => Some(Data::A(v4)),
            Kind::AAAA => Some(Data::Aaaa(v6)),
            _ => None,
        };
        reply
            .answers
            .extend(data.map(|data| record(question, data)));
        Some(reply)
    }

    fn addresses(&self, name: &Name) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let (client, server) = (&self.client, &self.server);
        if client.2.contains(name) {
            return Some((client.0, client.1));
        }
        let is_test = name.labels().last() == Some(b"test");
        (server.2.contains(name) || is_test).then_some((server.0, server.1))
    }
}

fn record(question: &Question, data: Data) -> Record {
    Record {
        name: question.name.clone(),
        ttl: TIME_TO_LIVE,
        data,
    }
}
