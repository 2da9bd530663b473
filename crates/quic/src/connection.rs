//! One connection: datagrams in, bursts out.
//!
//! It ties together the bytes (`wire::quic`), the keys (`crypto`), the losses (`recovery`) and the
//! streams (`streams`): it decides which packet leaves when and with what, and passes each frame
//! that comes to its owner. Which connection a datagram belongs to, and what is answered without a
//! connection, is decided in `endpoint`.

mod ack_frequency;
mod amplification;
mod application;
mod closing;
mod coalesced;
mod control;
mod ending;
mod establishing;
mod events;
mod feedback;
mod frames;
mod handshake;
mod idle;
mod ids;
mod logging;
mod memory;
mod migration;
mod opening;
mod paths;
mod payload;
mod probing;
mod random;
mod receiving;
mod sending;
mod spin;
#[cfg(test)]
mod tests;
mod timers;
mod undecryptable;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::ConnectionId;
use rustls::pki_types::ServerName;

use crate::budget::Account;
use crate::crypto::{Crypto, Level, bind_sessions};
use crate::log::Log;
use crate::mtu::Mtu;
use crate::received::Received;
use crate::recovery::{Feedback, Recovery};
use crate::sent::Item;
use crate::space::Space;
use crate::stats::Stats;
use crate::streams::Streams;
use crate::{HandshakeObserver, Time, Transport};
use ack_frequency::AckFrequency;
use closing::Closing;
use control::Control;
use events::Events;
use handshake::Handshake;
use idle::Idle;
use ids::{LocalIds, RemoteIds};
use paths::{Path, Paths};
use spin::Spin;
use undecryptable::Undecryptable;

pub(crate) use opening::{Arrival, Issuer, Opening, VERSIONS};
pub(crate) use random::Random;

/// Every path carries UDP payloads of this size. RFC 9000 §14.
const MIN_DATAGRAM: usize = 1200;
/// If a datagram may not be this large, it is not worth sending.
const MIN_PACKET: usize = 100;

/// One connection, of a client or of a server. It does no I/O and has no clock: its owner provides
/// both, mostly through [`crate::Endpoint`]. There are four kinds of methods:
///
/// - **Handlers** take what comes in: [`crate::Endpoint::receive`] passes on datagrams,
///   [`Self::on_timeout`] takes the time when [`Self::deadline`] has come, [`Self::on_too_big`]
///   what a socket refused, and [`Self::on_unreachable`] what the network says about the peer.
/// - **Application calls**: [`Self::open`], [`Self::accept`], [`Self::write`], [`Self::read`] and
///   their like act on streams; [`Self::close`], [`Self::ping`], [`Self::migrate`] act on the
///   whole.
/// - **Polls** return what leaves: events from [`Self::poll`], bursts of datagrams from
///   [`Self::transmit`], and the next deadline from [`Self::deadline`].
/// - **Getters** ([`Self::stats`], [`Self::alpn`], `is_…`) change nothing.
///
/// After any handler, and after the application has done something: call [`Self::poll`] until it
/// returns no event, then [`Self::transmit`] until it returns no burst (preferably once for several
/// datagrams received together), then [`Self::deadline`] again. Once [`Self::is_drained`], the
/// connection is over and can be forgotten.
///
/// Inside, each field owns what it names, and no other field changes it; `receiving`, `sending` and
/// `timers` are the loops that connect them.
pub struct Connection {
    config: Arc<Transport>,
    closing: Closing,
    handshake: Handshake,
    crypto: Crypto,
    recovery: Recovery,
    /// By [`Space::index`].
    received: [Received; 3],
    streams: Streams,
    local_ids: LocalIds,
    remote_ids: RemoteIds,
    paths: Paths,
    control: Control,
    ack_frequency: AckFrequency,
    idle: Idle,
    spin: Spin,
    undecryptable: Undecryptable,
    account: Account,
    events: Events,
    stats: Stats,
    /// What the packet being written carries besides its run of stream data.
    items: Vec<Item>,
    /// Empty between calls of `settle`, except for its capacity.
    feedback: Feedback,
    log: Log,
    /// The time of the owner's last call.
    clock: Time,
}

impl Connection {
    /// `destination` is the id that addresses the server until it has chosen its own.
    pub(crate) fn client(
        now: Time,
        opening: Opening,
        tls: Arc<rustls::ClientConfig>,
        name: ServerName<'static>,
        token: Option<Bytes>,
        destination: ConnectionId,
    ) -> Result<Self, rustls::Error> {
        let version = opening.version;
        let mut random = Random::new(&opening.seed);
        let (source, _) = opening.issuer.id(0);
        let parameters = opening::parameters(&opening.transport, version, source);
        let encoded = opening::encode(&parameters, random.number());
        let crypto = Crypto::client(tls, name, encoded, &destination, version)?;
        let handshake = Handshake::client(version, destination, token.unwrap_or_default());
        let path = Path::new(opening.remote, opening.local, true);
        let mut connection = Self::new(now, opening, crypto, handshake, destination, path, random);
        connection.log_parameters(true, &parameters);
        connection.remember();
        Ok(connection)
    }

    /// The caller then passes in the datagram that `arrival` describes.
    pub(crate) fn server(
        now: Time,
        opening: Opening,
        tls: &rustls::ServerConfig,
        arrival: &Arrival,
    ) -> Result<Self, rustls::Error> {
        let version = opening.version;
        let mut random = Random::new(&opening.seed);
        let (source, reset_token) = opening.issuer.id(0);
        let mut parameters = opening::parameters(&opening.transport, version, source);
        opening::server_parameters(&mut parameters, arrival, reset_token);
        let encoded = opening::encode(&parameters, random.number());
        let tls = bind_sessions(tls, version, opening::early_limits(&opening.transport));
        let crypto = Crypto::server(tls, encoded, &arrival.destination, version)?;
        let handshake = Handshake::server(version, arrival);
        let path = Path::new(opening.remote, opening.local, arrival.validated);
        let peer = arrival.source;
        let mut connection = Self::new(now, opening, crypto, handshake, peer, path, random);
        connection.log_parameters(true, &parameters);
        connection.recovery.on_first_datagram(arrival.datagram);
        Ok(connection)
    }

    fn new(
        now: Time,
        opening: Opening,
        crypto: Crypto,
        handshake: Handshake,
        peer: ConnectionId,
        path: Path,
        mut random: Random,
    ) -> Self {
        let log = Log::open(now, &logging::about(&opening, &handshake));
        let config = opening.transport;
        let mtu = Mtu::new(config.datagram, opening.remote.ip());
        Self {
            closing: Closing::new(),
            recovery: Recovery::new(now, &config, mtu, random.number()),
            received: Space::ALL.map(|space| Received::new(space, &config)),
            streams: Streams::new(handshake.side(), &config),
            local_ids: LocalIds::new(opening.issuer),
            remote_ids: RemoteIds::new(peer),
            control: Control::default(),
            ack_frequency: AckFrequency::new(config.ask_acks),
            idle: Idle::new(now, &config),
            spin: Spin::new(random.number()),
            paths: Paths::new(path, random),
            undecryptable: Undecryptable::default(),
            account: Account::new(config.budget.clone()),
            events: Events::default(),
            stats: Stats::default(),
            items: Vec::new(),
            feedback: Feedback {
                lost_numbers: log.is_on().then(Vec::new),
                ..Feedback::default()
            },
            log,
            clock: now,
            handshake,
            crypto,
            config,
        }
    }

    /// Sets the observer of the handshake, before anything has come.
    pub(crate) fn set_observer(&mut self, observer: Box<dyn HandshakeObserver>) {
        self.crypto.set_observer(observer);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("side", &self.handshake.side())
            .field("state", &self.closing.state())
            .field("remote", &self.paths.remote())
            .finish_non_exhaustive()
    }
}

fn space_of(level: Level) -> Space {
    match level {
        Level::Initial => Space::Initial,
        Level::Handshake => Space::Handshake,
        Level::Early | Level::OneRtt => Space::Data,
    }
}
