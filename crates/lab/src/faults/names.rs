//! Name servers that slow a lookup down, each in a different way.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::time::Duration;

use roundtrip_wire::dns::{Data, Kind, Message, Name, Rcode, Record};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::peer::{self, FaultyPeer};

const ALIASES: usize = 3;
const TTL: u32 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NameServerFault {
    /// The server is near the client and answers with the given delay.
    Late,
    /// The server is near the client and answers each question late the first time, with a chain of
    /// three aliases.
    Aliases,
    /// The server is near the client and never answers queries for HTTPS records.
    NoHttps,
    /// The server is at the far end; its answers do not fit a datagram.
    Truncates,
}

impl NameServerFault {
    pub(super) fn is_far(self) -> bool {
        self == Self::Truncates
    }
}

/// Must be called in the namespace of the name server.
pub(super) fn spawn(
    manner: NameServerFault,
    at: Ipv4Addr,
    of: Ipv4Addr,
    late: Duration,
) -> io::Result<FaultyPeer> {
    let udp = UdpSocket::bind((at, 0))?;
    let place = udp.local_addr()?;
    let tcp = TcpListener::bind(place)?;
    udp.set_nonblocking(true)?;
    tcp.set_nonblocking(true)?;
    FaultyPeer::on_a_thread(place, async move {
        // If the sockets fail, so does the lookup, and that is reported.
        let _ = tokio::join!(over_udp(udp, manner, of, late), over_tcp(tcp, manner, of));
    })
}

async fn over_udp(
    socket: UdpSocket,
    manner: NameServerFault,
    of: Ipv4Addr,
    late: Duration,
) -> io::Result<()> {
    let socket = std::sync::Arc::new(tokio::net::UdpSocket::from_std(socket)?);
    let mut buffer = [0; 1500];
    let mut followed = HashSet::new();
    loop {
        let (n, from) = socket.recv_from(&mut buffer).await?;
        let Some(mut reply) = answer(buffer.get(..n).unwrap_or_default(), manner, of) else {
            continue;
        };
        reply.truncated = manner == NameServerFault::Truncates;
        let kind = reply.questions.first().map(|question| question.kind);
        let is_known = manner == NameServerFault::Aliases && !followed.insert(kind);
        let late = if is_known { Duration::ZERO } else { late };
        let socket = socket.clone();
        tokio::spawn(async move {
            peer::hold(late).await;
            let bytes = reply.encode().map_err(io::Error::other)?;
            socket.send_to(&bytes, from).await
        });
    }
}

async fn over_tcp(listener: TcpListener, manner: NameServerFault, of: Ipv4Addr) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut query = vec![0; stream.read_u16().await?.into()];
            stream.read_exact(&mut query).await?;
            if let Some(reply) = answer(&query, manner, of) {
                let bytes = reply.encode().map_err(io::Error::other)?;
                let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
                // One write: the length in a separate write would be a separate segment.
                let whole = [&length.to_be_bytes(), &*bytes].concat();
                stream.write_all(&whole).await?;
            }
            io::Result::Ok(())
        });
    }
}

/// Returns the answer to a query, if there is one.
fn answer(query: &[u8], manner: NameServerFault, of: Ipv4Addr) -> Option<Message> {
    let query = Message::parse(query).ok()?;
    let kind = query.questions.first()?.kind;
    if manner == NameServerFault::NoHttps && kind == Kind::HTTPS {
        return None;
    }
    let mut reply = reply(&query, of);
    if manner == NameServerFault::Aliases {
        lead_astray(&mut reply);
    }
    Some(reply)
}

/// An answer that contains only the host's address.
pub(super) fn reply(query: &Message, of: Ipv4Addr) -> Message {
    let mut reply = query.reply(Rcode::NO_ERROR);
    if let Some(question) = query.questions.first().filter(|q| q.kind == Kind::A) {
        reply.answers.push(Record {
            name: question.name.clone(),
            ttl: TTL,
            data: Data::A(of),
        });
    }
    reply
}

fn lead_astray(reply: &mut Message) {
    let Some(mut last) = reply.answers.pop() else {
        return;
    };
    let aliases = (0..ALIASES).filter_map(|n| format!("alias{n}.example").parse::<Name>().ok());
    for next in aliases {
        let name = std::mem::replace(&mut last.name, next);
        let data = Data::Cname(last.name.clone());
        reply.answers.push(Record {
            name,
            ttl: TTL,
            data,
        });
    }
    reply.answers.push(last);
}
