//! Opens an HTTP connection to one of several addresses: TLS over a stream, or QUIC. The caller
//! chooses between them and chooses the offer; `race` tries both side by side.

mod error;
mod quic;
mod race;
mod transport;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use roundtrip_model::{Attempt, Recorder, TlsFacts};
use roundtrip_net::{Bind, Connect, Gauge};
use roundtrip_tls::{Client, Offer};

use crate::stream::EndChecked;
use crate::{ByteStream, Connection, QuicGauge, Tokens};
pub use error::OpenError;
pub use race::{Raced, race};
pub use transport::Transport;

/// The settings that every way to a peer shares.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// The peer, as its certificate knows it.
    pub host: &'a str,
    /// Needed for TLS and QUIC.
    pub client: Option<&'a Client>,
    pub tokens: &'a Tokens,
    pub bind: Option<&'a Bind>,
    /// The address that is tried first, if the peer has it.
    pub first: Option<IpAddr>,
    pub recorder: &'a Recorder,
}

/// The protocol that is spoken over a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamProtocol {
    pub tls: Option<Offer>,
    /// Whether the request may leave before the handshake is complete, if a ticket allows it.
    pub early_data: bool,
    /// Whether the server is known to speak HTTP/2 without TLS. RFC 9113 §3.3.
    pub prior_knowledge: bool,
    /// The only protocol that is accepted.
    pub insists: Option<&'static str>,
}

/// An open HTTP connection.
pub struct Opened {
    pub connection: Connection,
    pub transport: Transport,
    /// The handshake is not over: the first request leaves as early data.
    pub early_data: bool,
}

/// The facts about opening a connection, even if it failed.
#[derive(Default)]
pub struct OpeningFacts {
    pub attempts: Vec<Attempt>,
    pub over_quic: bool,
    /// The gauge of the last attempt over QUIC.
    pub quic: Option<Arc<QuicGauge>>,
    pub gauge: Option<Gauge>,
    pub tls: Option<Arc<OnceLock<TlsFacts>>>,
}

impl Opening<'_> {
    /// Races the addresses, and opens HTTP on the stream that wins.
    pub async fn over_tcp(
        &self,
        peers: &[SocketAddr],
        fast_open: bool,
        protocol: &StreamProtocol,
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        let bind = self.bind.cloned();
        let connect = Connect {
            fast_open,
            bind,
            first: self.first,
        };
        let opening = connect.open(peers, self.recorder, &mut opening_facts.attempts);
        let socket = opening.await?;
        let gauge = socket.gauge().map_err(roundtrip_net::NetError::Socket)?;
        opening_facts.gauge = socket.gauge().ok();
        self.over_stream(Box::new(socket), gauge, protocol, opening_facts)
            .await
    }

    /// Speaks TLS, if it is wanted, and the protocol that both sides agree on. `gauge` watches the
    /// socket below.
    pub async fn over_stream(
        &self,
        stream: Box<dyn ByteStream>,
        gauge: Gauge,
        protocol: &StreamProtocol,
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        let Some(offer) = &protocol.tls else {
            let connection = if protocol.prior_knowledge {
                Connection::h2(stream).await?
            } else {
                Connection::h1(stream)
            };
            return Ok(Opened {
                connection,
                transport: Transport::Tcp { gauge, tls: None },
                early_data: false,
            });
        };
        let client = self.client.ok_or(OpenError::NoTls)?;
        let mut tls = client.connect(stream, offer, self.host, self.recorder)?;
        let facts = tls.facts();
        opening_facts.tls = Some(facts.clone());
        let early_data = protocol.early_data && tls.takes_early_data();
        if !early_data {
            tls.handshake().await?;
        }
        let alpn = match (early_data, tls.connection().alpn_protocol()) {
            // Early data uses the protocol of the ticket's connection, which is the only one
            // offered.
            (true, _) => offer.alpn.first().copied().unwrap_or("http/1.1").to_owned(),
            (false, got) => got.map_or_else(
                || "http/1.1".into(),
                |p| String::from_utf8_lossy(p).into_owned(),
            ),
        };
        if let Some(wanted) = protocol.insists.filter(|w| *w != alpn) {
            return Err(OpenError::Alpn { wanted, got: alpn });
        }
        let connection = if alpn == "h2" {
            Connection::h2(tls).await?
        } else {
            Connection::h1(EndChecked(tls))
        };
        let tls = Some(facts);
        Ok(Opened {
            connection,
            transport: Transport::Tcp { gauge, tls },
            early_data,
        })
    }
}
