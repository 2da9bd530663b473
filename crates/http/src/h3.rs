//! HTTP/3 over QUIC, as a client speaks it, and the part of QUIC that all servers need. RFC 9114, RFC 9000.

mod attempt;
mod error;
mod hellos;
mod incoming;
mod layer;
mod levers;
mod listening;
mod redeemed;
mod stream;
mod tokens;
mod watch;

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn::{Endpoint, EndpointConfig};
use roundtrip_model::{EarlyData, Event, QuicFacts, Recorder, Task, TlsFacts};
use roundtrip_tls::{Client, Offer, Witness, peer_facts};
use rustls::pki_types::CertificateDer;
use tokio::sync::watch::{Receiver, channel};

use crate::turn::all;
use crate::{Ended, HttpError, Turn};
use attempt::Attempt;
pub use error::QuicError;
pub use incoming::{Confirmation, connection_ids, take_in};
use layer::{Layers, Sender};
pub use levers::transport_config;
use listening::Attentive;
pub use redeemed::Redeemed;
pub use tokens::Tokens;
use watch::Watched;

/// How long a peer may be silent; also bounds a handshake that nobody answers.
const IDLE: Duration = Duration::from_secs(30);
/// How long our goodbye may take to leave. Nobody waits for it to arrive.
const FAREWELL: Duration = Duration::from_millis(5);

pub struct Quic {
    endpoint: Endpoint,
    connection: quinn::Connection,
    layers: Layers,
    early: Option<Receiver<Option<bool>>>,
    gauge: Arc<QuicGauge>,
}

/// A view of a QUIC connection beside the exchange that runs on it.
pub struct QuicGauge {
    connection: quinn::Connection,
    watched: Arc<Watched>,
    local: Option<SocketAddr>,
    witness: Witness,
    offered_early: bool,
    /// Packets that were lost by the end of the handshake.
    lost: Arc<OnceLock<u64>>,
    accepted: Receiver<Option<bool>>,
}

impl Quic {
    /// Opens a connection: with a fitting ticket at once (0-RTT), else after the handshake. Where a ticket may be shown,
    /// an address token may be as well.
    pub async fn open(
        peer: SocketAddr,
        socket: UdpSocket,
        host: &str,
        client: &Client,
        offer: &Offer,
        tokens: &Tokens,
        recorder: &Recorder,
    ) -> Result<Self, HttpError> {
        recorder.record(Event::AttemptStarted { peer });
        recorder.record(Event::HandshakeStarted);
        let mut config = recorder.timed(Task::Configure, || client_config(client, offer))?;
        config.token_store(tokens.for_connection(offer.resume));
        let watched = Watched::new(socket, recorder.clone()).map_err(HttpError::Io)?;
        let runtime = Arc::new(quinn::TokioRuntime);
        let mut endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            None,
            watched.clone(),
            runtime,
        )
        .map_err(HttpError::Io)?;
        endpoint.set_default_client_config(config);
        let attempt = Attempt::new(endpoint.clone(), watched.clone());
        let name = host.strip_suffix('.').unwrap_or(host);
        let connecting = recorder.timed(Task::GenerateKeys, || endpoint.connect(peer, name))?;
        let (told, accepted) = channel(None);
        let lost = Arc::new(OnceLock::new());
        let (connection, early) = match connecting.into_0rtt() {
            Ok((connection, zero_rtt)) => {
                let (recorder, opened) = (recorder.clone(), connection.clone());
                let lost = lost.clone();
                tokio::spawn(async move {
                    let accepted = zero_rtt.await;
                    recorder.record(Event::HandshakeFinished);
                    let _ = lost.set(opened.stats().path.lost_packets);
                    if !accepted {
                        recorder.record(Event::EarlyDataRefused);
                    }
                    let _ = told.send(Some(accepted));
                });
                (connection, true)
            }
            Err(connecting) => {
                client.witness().prepare(recorder);
                let connection = connecting.await.map_err(|e| broken(e, &client.witness()))?;
                recorder.record(Event::HandshakeFinished);
                let _ = lost.set(connection.stats().path.lost_packets);
                (connection, false)
            }
        };
        let gauge = QuicGauge {
            connection: connection.clone(),
            local: endpoint.local_addr().ok(),
            watched,
            witness: client.witness(),
            offered_early: early,
            lost,
            accepted: accepted.clone(),
        };
        let layers = Layers::start(connection.clone()).await.map_err(|error| {
            let closed = connection.close_reason();
            closed.map_or(error, |e| broken(e, &gauge.witness))
        })?;
        attempt.succeeded();
        Ok(Self {
            endpoint,
            connection,
            layers,
            early: early.then_some(accepted),
            gauge: Arc::new(gauge),
        })
    }

    pub fn gauge(&self) -> Arc<QuicGauge> {
        self.gauge.clone()
    }

    /// Was there a ticket that lets the request leave before the handshake is over?
    pub fn is_early(&self) -> bool {
        self.early.is_some()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    pub(crate) async fn close(&self) {
        self.connection.close(0x100u32.into(), b""); // H3_NO_ERROR, RFC 9114 §8.1
        let _ = tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await;
        self.layers.stop();
    }

    /// All requests are queued before the connection's task may write: with a ticket they leave in the first flight.
    pub(crate) async fn exchange_all(&self, turns: Vec<Turn<'_>>, ended: &mut Ended<'_>) {
        all(turns.into_iter().map(|turn| self.exchange(turn)), ended).await;
    }

    /// One request among others that come and go. What left as early data is void when the server refuses it, and
    /// leaves again.
    pub(crate) async fn exchange(&self, mut turn: Turn<'_>) -> Result<(), HttpError> {
        let sender = self.layers.sender();
        let renewed = sender.renewed;
        let Err(error) = self.attempt(sender, &mut turn).await else {
            return Ok(());
        };
        let decided = self.early.as_ref().map(|decided| *decided.borrow());
        if renewed || decided.is_none_or(|accepted| accepted == Some(true)) {
            return Err(error);
        }
        match self.begin_again().await {
            Ok(true) => self.attempt(self.layers.sender(), &mut turn).await,
            Err(why) if self.is_open() => Err(HttpError::H3(why.to_string())),
            Ok(false) | Err(_) => Err(error),
        }
    }

    async fn attempt(&self, sender: Sender, turn: &mut Turn<'_>) -> Result<(), HttpError> {
        let outcome = stream::carry(sender.send, turn, &self.gauge.watched).await;
        outcome.map_err(|error| self.reason(error))
    }

    /// Streams opened as early data are void when the server refuses it: they are to be opened again. RFC 9114 §3.2.
    async fn begin_again(&self) -> Result<bool, HttpError> {
        let Some(mut early) = self.early.clone() else {
            return Ok(false);
        };
        let told = early.wait_for(Option::is_some).await;
        let refused = told.is_ok_and(|told| *told == Some(false));
        if refused {
            self.layers.renew(&self.connection).await?;
        }
        Ok(refused)
    }

    /// What closed the connection says more than what it did to a stream, unless the server said that it did nothing.
    fn reason(&self, error: HttpError) -> HttpError {
        let closed = self.connection.close_reason();
        match closed.filter(|_| matches!(error, HttpError::H3(_))) {
            Some(closed) => broken(closed, &self.gauge.witness),
            None => error,
        }
    }
}

fn broken(error: quinn::ConnectionError, witness: &Witness) -> HttpError {
    HttpError::Quic(QuicError::new(error, witness.refusal()))
}

fn client_config(client: &Client, offer: &Offer) -> Result<quinn::ClientConfig, HttpError> {
    let tls = client.config(offer).map_err(HttpError::Tls)?;
    let crypto = QuicClientConfig::try_from(tls)
        .map_err(|_| HttpError::H3("no cipher suite fit for QUIC".into()))?;
    let mut config = quinn::ClientConfig::new(Arc::new(Attentive(Arc::new(crypto))));
    let mut transport = transport_config();
    transport.max_idle_timeout(IDLE.try_into().ok());
    transport.stream_receive_window(10u32.saturating_mul(1 << 20).into());
    transport.receive_window((32u32 << 20).into());
    config.transport_config(Arc::new(transport));
    Ok(config)
}

impl QuicGauge {
    /// Waits until the handshake is over, where a request may leave before. `false`: it never will be.
    pub async fn proven(&self) -> bool {
        if !self.offered_early {
            return true;
        }
        let mut accepted = self.accepted.clone();
        let told = accepted.wait_for(Option::is_some).await.is_ok();
        told && self.connection.close_reason().is_none()
    }

    /// What became of early data, once that is known.
    pub fn early_data(&self) -> EarlyData {
        let accepted = *self.accepted.borrow();
        match (self.offered_early, accepted) {
            (true, Some(true)) => EarlyData::Accepted,
            (true, Some(false)) => EarlyData::Refused,
            _ => EarlyData::NotOffered,
        }
    }

    pub fn facts(&self) -> QuicFacts {
        let stats = self.connection.stats();
        let (retry, version_negotiation) = self.watched.detours();
        QuicFacts {
            local: self.local,
            peer: Some(self.connection.remote_address()),
            min_rtt: self.min_rtt(),
            retry,
            version_negotiation,
            datagrams_sent: stats.udp_tx.datagrams,
            datagrams_received: stats.udp_rx.datagrams,
            lost_packets: stats.path.lost_packets,
            lost_in_handshake: self.lost.get().copied().unwrap_or(0),
            mtu: stats.path.current_mtu,
            congestion_window: stats.path.cwnd,
        }
    }

    /// The smallest round trip seen, once there was one.
    pub fn min_rtt(&self) -> Option<Duration> {
        let stats = self.connection.stats();
        let (sampled, rtt) = (stats.udp_rx.datagrams > 0, self.connection.min_rtt());
        (sampled && rtt < Duration::from_hours(1)).then_some(rtt)
    }

    /// The handshake's facts: the chain from the connection, the rest from the hellos on the wire.
    pub fn tls_facts(&self) -> TlsFacts {
        let identity = self.connection.peer_identity();
        let chain = identity
            .as_ref()
            .and_then(|i| i.downcast_ref::<Vec<CertificateDer<'static>>>());
        let mut facts = peer_facts(chain.map(Vec::as_slice), &self.witness);
        facts.alpn = self
            .connection
            .handshake_data()
            .and_then(|d| d.downcast::<HandshakeData>().ok())
            .and_then(|d| d.protocol)
            .map(|p| String::from_utf8_lossy(&p).into_owned());
        facts.early_data = self.early_data();
        self.watched.describe(&mut facts);
        facts
    }
}
