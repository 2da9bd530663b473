//! HTTP/3 over our own QUIC engine, as a client speaks it. RFC 9114, RFC 9000.

mod attempt;
mod error;
mod hellos;
mod layer;
mod listening;
mod stream;
mod tokens;
mod watch;

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roundtrip_model::{EarlyData, Event, QuicFacts, Recorder, Task, TlsFacts};
use roundtrip_quic::{ClientConfig, CloseReason, ConnectError, Endpoint, Transport};
use roundtrip_tls::{Client, Offer, Witness, peer_facts};

use crate::dock::{Dock, Link};
use crate::turn::all;
use crate::{Ended, HttpError, Turn};
pub use attempt::Attempt as QuicAttempt;
use attempt::Keeping;
pub use error::QuicError;
use layer::Layer;
use listening::Attentive;
pub use tokens::Tokens;
use watch::Watched;

/// How long a peer may be silent; also bounds a handshake that nobody answers.
const IDLE: Duration = Duration::from_secs(30);
/// How long our goodbye may take to leave. Nobody waits for it to arrive.
const FAREWELL: Duration = Duration::from_millis(5);
/// H3_NO_ERROR. RFC 9114 §8.1.
const NO_ERROR: u64 = 0x100;

/// When it is let go of, its connection is closed.
pub struct Quic {
    dock: Dock,
    layer: Layer,
    gauge: Arc<QuicGauge>,
}

/// A view of a QUIC connection beside the exchange that runs on it.
pub struct QuicGauge {
    link: Link,
    watched: Arc<Watched>,
    local: SocketAddr,
    witness: Witness,
    offered_early: bool,
    /// Packets that were lost by the end of the handshake.
    lost: Arc<OnceLock<u64>>,
}

impl Quic {
    /// Begins to open a connection. Where a ticket may be shown, an address token may be as well.
    pub fn begin(
        peer: SocketAddr,
        socket: UdpSocket,
        host: &str,
        client: &Client,
        offer: &Offer,
        tokens: &Tokens,
        recorder: &Recorder,
    ) -> Result<QuicAttempt, HttpError> {
        recorder.record(Event::AttemptStarted { peer });
        recorder.record(Event::HandshakeStarted);
        let mut config = recorder.timed(Task::Configure, || client_config(client, offer))?;
        config.token = offer.resume.then(|| tokens.show(host)).flatten();
        // Then it is known from which address datagrams leave, and at once if there is no way to the peer.
        socket.connect(peer).map_err(HttpError::Io)?;
        let watched = Watched::new(recorder.clone());
        let endpoint = Endpoint::new(None, seed(&config)?);
        let dock = Dock::open_watched(socket, endpoint, watched.clone()).map_err(HttpError::Io)?;
        let name = host.strip_suffix('.').unwrap_or(host);
        let link = recorder.timed(Task::GenerateKeys, || dock.connect(&config, peer, name))?;
        let gauge = QuicGauge {
            offered_early: link.is_early(),
            link,
            watched,
            local: dock.local_addr(),
            witness: client.witness(),
            lost: Arc::default(),
        };
        let keeping = keep_tokens(gauge.link.clone(), tokens.clone(), name.to_owned());
        Ok(QuicAttempt::new(dock, gauge, recorder.clone(), keeping))
    }

    pub fn gauge(&self) -> Arc<QuicGauge> {
        self.gauge.clone()
    }

    /// Was there a ticket that lets the request leave before the handshake is over?
    pub fn is_early(&self) -> bool {
        self.gauge.offered_early
    }

    pub(crate) fn is_open(&self) -> bool {
        self.gauge.link.close_reason().is_none()
    }

    pub(crate) async fn close(&self) {
        self.dock.close(NO_ERROR, b"");
        let _ = tokio::time::timeout(FAREWELL, self.dock.closed()).await;
    }

    /// All requests are queued before the dock's task may write: with a ticket they leave in the first flight.
    pub(crate) async fn exchange_all(&self, turns: Vec<Turn<'_>>, ended: &mut Ended<'_>) {
        all(turns.into_iter().map(|turn| self.exchange(turn)), ended).await;
    }

    /// One request among others that come and go. What left as early data and was refused leaves again as it was, once:
    /// the server has seen nothing of it, and nothing of it depended on what the server had said before. RFC 9001 §4.6.2.
    pub(crate) async fn exchange(&self, mut turn: Turn<'_>) -> Result<(), HttpError> {
        let sender = self.layer.sender();
        let (link, watched) = (&self.gauge.link, &self.gauge.watched);
        let outcome = stream::carry(sender, &mut turn, link, watched).await;
        outcome.map_err(|error| self.gauge.reason(error))
    }
}

impl Drop for Quic {
    fn drop(&mut self) {
        self.dock.close(NO_ERROR, b"");
    }
}

fn client_config(client: &Client, offer: &Offer) -> Result<ClientConfig, HttpError> {
    let tls = client.config(offer).map_err(HttpError::Tls)?;
    let transport = Transport {
        idle_timeout: IDLE,
        stream_window: 10 << 20,
        window: 32 << 20,
        ..Transport::default()
    };
    let mut config = ClientConfig::new(Arc::new(tls), Arc::new(transport));
    config.observer = Some(Attentive::ear);
    Ok(config)
}

fn seed(config: &ClientConfig) -> Result<[u8; 32], ConnectError> {
    let mut seed = [0; 32];
    let random = config.tls.crypto_provider().secure_random;
    random
        .fill(&mut seed)
        .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
    Ok(seed)
}

/// As long as the connection lives.
fn keep_tokens(link: Link, tokens: Tokens, host: String) -> Keeping {
    Box::pin(async move {
        while let Some(token) = link.next_token().await {
            tokens.insert(&host, token);
        }
    })
}

impl QuicGauge {
    /// Waits until the handshake is over, and writes that down.
    fn proof(
        &self,
        recorder: Recorder,
    ) -> impl Future<Output = Result<(), CloseReason>> + Send + use<> {
        let (link, lost, early) = (self.link.clone(), self.lost.clone(), self.offered_early);
        async move {
            link.connected().await?;
            recorder.record(Event::HandshakeFinished);
            let _ = lost.set(link.stats().unwrap_or_default().packets_lost);
            if early && link.early_accepted() == Some(false) {
                recorder.record(Event::EarlyDataRefused);
            }
            Ok(())
        }
    }

    /// What closed the connection says more than what it did to a stream, unless the server said that it did nothing.
    fn reason(&self, error: HttpError) -> HttpError {
        let closed = self.link.close_reason();
        match closed.filter(|_| matches!(error, HttpError::H3(_))) {
            Some(closed) => self.broken(closed),
            None => error,
        }
    }

    fn broken(&self, reason: CloseReason) -> HttpError {
        HttpError::Quic(QuicError::new(reason, self.witness.refusal()))
    }

    /// Waits until the handshake is over, where a request may leave before. `false`: it never will be.
    pub async fn proven(&self) -> bool {
        !self.offered_early || self.link.connected().await.is_ok()
    }

    /// What became of early data, once that is known.
    pub fn early_data(&self) -> EarlyData {
        match self.link.early_accepted().filter(|_| self.offered_early) {
            Some(true) => EarlyData::Accepted,
            Some(false) => EarlyData::Refused,
            None => EarlyData::NotOffered,
        }
    }

    pub fn facts(&self) -> QuicFacts {
        let stats = self.link.stats().unwrap_or_default();
        let (retry, version_negotiation) = self.watched.detours();
        QuicFacts {
            local: Some(self.local),
            peer: self.link.remote(),
            min_rtt: stats.min_rtt,
            retry,
            version_negotiation,
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
            lost_packets: stats.packets_lost,
            lost_in_handshake: self.lost.get().copied().unwrap_or(0),
            mtu: stats.datagram,
            congestion_window: stats.window,
        }
    }

    /// The smallest round trip seen, once there was one.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.link.stats()?.min_rtt
    }

    /// The handshake's facts: the chain from the connection, the rest from the hellos on the wire.
    pub fn tls_facts(&self) -> TlsFacts {
        let chain = self.link.peer_certificates();
        let mut facts = peer_facts(chain.as_deref(), &self.witness);
        facts.alpn = self
            .link
            .alpn()
            .map(|name| String::from_utf8_lossy(&name).into_owned());
        facts.early_data = self.early_data();
        self.watched.describe(&mut facts);
        facts
    }
}
