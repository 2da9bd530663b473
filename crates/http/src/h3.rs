//! The client side of HTTP/3, over our own QUIC engine. RFC 9114, RFC 9000.

mod attempt;
mod client;
mod datagrams;
mod evidence;
mod handshake;
mod stream;
mod tickets;
mod tokens;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roundtrip_model::{EarlyData, Event, QuicFacts, Recorder, Task, TlsFacts};
use roundtrip_quic::{ClientConfig, CloseReason, ConnectError, Transport};
use roundtrip_quic_tokio::{Connection, Endpoint, random_seed};
use roundtrip_tls::{Client, Offer, RecordingVerifier, peer_facts};
use roundtrip_wire::h3::Code;

use crate::run::all;
use crate::{HttpError, OnEnded, QuicError, RequestRun};
pub use attempt::QuicAttempt;
use attempt::TokenTask;
use client::H3Client;
use datagrams::DatagramRecorder;
use tickets::TicketObserver;
pub use tokens::Tokens;

/// How long a peer may be silent. It also bounds an unanswered handshake.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long sending CONNECTION_CLOSE may take. Its arrival is not awaited.
const CLOSE_WAIT: Duration = Duration::from_millis(5);
/// RFC 9114 §8.1.
const H3_NO_ERROR: u64 = 0x100;

/// A client's HTTP/3 connection. Dropping it closes the connection.
pub struct Quic {
    endpoint: Endpoint,
    client: H3Client,
    gauge: Arc<QuicGauge>,
}

/// A view of a QUIC connection while an exchange runs on it.
pub struct QuicGauge {
    connection: Connection,
    datagrams: Arc<DatagramRecorder>,
    local: SocketAddr,
    verifier: Arc<RecordingVerifier>,
    offered_early: bool,
    /// Packets that were lost by the end of the handshake.
    lost: Arc<OnceLock<u64>>,
}

impl Quic {
    /// Begins to open a connection. It sends an address token only where it may send a ticket: both
    /// let the server recognise the client.
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
        config.token = offer.resume.then(|| tokens.take_newest(host)).flatten();
        // A connected socket knows its local address, and fails at once if there is no route.
        socket.connect(peer).map_err(unroutable)?;
        let datagrams = DatagramRecorder::new(recorder.clone());
        let random = config.tls.crypto_provider().secure_random;
        let seed = random_seed(random).map_err(ConnectError::from)?;
        let engine = roundtrip_quic::Endpoint::new(None, seed);
        let endpoint =
            Endpoint::with_observer(socket, engine, datagrams.clone()).map_err(HttpError::Io)?;
        let name = host.strip_suffix('.').unwrap_or(host);
        let connecting = || endpoint.connect(&config, peer, name);
        let connection = recorder.timed(Task::GenerateKeys, connecting)?;
        let gauge = QuicGauge {
            offered_early: connection.is_early(),
            connection,
            datagrams,
            local: endpoint.local_addr(),
            verifier: client.verifier().clone(),
            lost: Arc::default(),
        };
        let storing = store_tokens(gauge.connection.clone(), tokens.clone(), name.to_owned());
        Ok(QuicAttempt::new(endpoint, gauge, recorder.clone(), storing))
    }

    pub fn gauge(&self) -> Arc<QuicGauge> {
        self.gauge.clone()
    }

    /// Whether a ticket allowed the request to leave before the handshake was complete.
    pub fn is_early(&self) -> bool {
        self.gauge.offered_early
    }

    /// Whether the client can carry another request, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        self.gauge.connection.close_reason().is_none() && !self.client.is_going_away()
    }

    pub(crate) async fn close(&self) {
        self.endpoint.close(H3_NO_ERROR, b"");
        let _ = tokio::time::timeout(CLOSE_WAIT, self.endpoint.closed()).await;
    }

    /// All requests are queued before the driver may write: with a ticket they leave in the first
    /// flight.
    pub(crate) async fn exchange_all(&self, runs: Vec<RequestRun<'_>>, ended: &mut OnEnded<'_>) {
        all(runs.into_iter().map(|run| self.exchange(run)), ended).await;
    }

    /// Carries one request, alongside others that begin and end at any time. A request in refused
    /// early data is sent again unchanged, once: the server has seen none of it, and the request
    /// did not depend on anything from the server. RFC 9001 §4.6.2.
    pub(crate) async fn exchange(&self, mut run: RequestRun<'_>) -> Result<(), HttpError> {
        let requests = self.client.requests();
        let outcome = stream::carry(requests, &mut run, &self.gauge.datagrams).await;
        outcome.map_err(|error| match (self.client.violation(), error) {
            (Some(violation), HttpError::H3(_)) => HttpError::H3(violation.to_string()),
            (_, error) => self.gauge.reason(error),
        })
    }
}

impl Drop for Quic {
    fn drop(&mut self) {
        self.endpoint.close(H3_NO_ERROR, b"");
    }
}

/// Reports a UDP socket that could not be connected as a connection that could not be opened.
fn unroutable(error: io::Error) -> HttpError {
    match error.kind() {
        why @ (io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
            HttpError::Quic(QuicError::Unreachable(why))
        }
        _ => HttpError::Io(error),
    }
}

fn client_config(client: &Client, offer: &Offer) -> Result<ClientConfig, HttpError> {
    let tls = client.config(offer).map_err(HttpError::Tls)?;
    let transport = Transport {
        idle_timeout: IDLE_TIMEOUT,
        stream_window: 10 << 20,
        window: 32 << 20,
        given_up_code: Code::H3_REQUEST_CANCELLED.value(),
        ..Transport::default()
    };
    let mut config = ClientConfig::new(Arc::new(tls), Arc::new(transport));
    config.observer = Some(TicketObserver::boxed);
    Ok(config)
}

/// Stores the address tokens that the server gives, until the connection ends.
fn store_tokens(connection: Connection, tokens: Tokens, host: String) -> TokenTask {
    Box::pin(async move {
        while let Some(token) = connection.next_token().await {
            tokens.insert(&host, token);
        }
    })
}

impl QuicGauge {
    /// Waits until the handshake is complete, and records that.
    fn handshake(
        &self,
        recorder: Recorder,
    ) -> impl Future<Output = Result<(), CloseReason>> + Send + use<> {
        let (connection, lost, early) = (
            self.connection.clone(),
            self.lost.clone(),
            self.offered_early,
        );
        async move {
            connection.connected().await?;
            recorder.record(Event::HandshakeFinished);
            let _ = lost.set(connection.stats().unwrap_or_default().packets_lost);
            if early && connection.early_accepted() == Some(false) {
                recorder.record(Event::EarlyDataRefused);
            }
            Ok(())
        }
    }

    /// Replaces the effect of a close on a stream by the reason for the close, unless the server
    /// said that it did not act on the request.
    fn reason(&self, error: HttpError) -> HttpError {
        match (self.connection.close_reason(), error) {
            (Some(CloseReason::Reset), HttpError::BodyCutShort { .. }) => {
                self.closed(CloseReason::Reset)
            }
            // A close with an error code resets the body.
            (
                Some(CloseReason::Application { code, .. }),
                HttpError::BodyCutShort { got, expected },
            ) if code != H3_NO_ERROR => HttpError::BodyReset {
                what: format!("connection (code {code:#x})"),
                got,
                expected: Some(expected),
            },
            // The error says what the server violated.
            (Some(CloseReason::Local { code }), error) if code > H3_NO_ERROR => error,
            (Some(closed), HttpError::H3(_)) => self.closed(closed),
            (_, error) => error,
        }
    }

    fn closed(&self, reason: CloseReason) -> HttpError {
        HttpError::Quic(QuicError::new(reason, self.verifier.refusal()))
    }

    /// Waits until the handshake is complete, if a request may leave before that. False if it
    /// failed.
    pub async fn proven(&self) -> bool {
        !self.offered_early || self.connection.connected().await.is_ok()
    }

    /// The outcome of early data, once that is known.
    pub fn early_data(&self) -> EarlyData {
        match self
            .connection
            .early_accepted()
            .filter(|_| self.offered_early)
        {
            Some(true) => EarlyData::Accepted,
            Some(false) => EarlyData::Refused,
            None => EarlyData::NotOffered,
        }
    }

    pub fn facts(&self) -> QuicFacts {
        let stats = self.connection.stats().unwrap_or_default();
        let (retry, version_negotiation) = self.datagrams.detours();
        QuicFacts {
            local: Some(self.local),
            peer: self.connection.remote_address(),
            min_rtt: stats.min_rtt,
            retry,
            version_negotiation,
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
            lost_packets: stats.packets_lost,
            lost_in_handshake: self.lost.get().copied().unwrap_or(0),
            missing_packets: stats.missing,
            gaps: self.datagrams.gaps(),
            probe_timeouts: stats.probe_timeouts,
            mtu: stats.datagram,
            congestion_window: stats.window,
        }
    }

    /// The smallest round trip seen, if there was one.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.connection.stats()?.min_rtt
    }

    /// The handshake's facts: the chain from the connection, the rest from the hellos on the wire.
    pub fn tls_facts(&self) -> TlsFacts {
        let chain = self.connection.peer_certificates();
        let mut facts = peer_facts(chain.as_deref(), &self.verifier);
        facts.alpn = self
            .connection
            .alpn()
            .map(|name| String::from_utf8_lossy(&name).into_owned());
        facts.early_data = self.early_data();
        self.datagrams.describe(&mut facts);
        facts
    }
}
