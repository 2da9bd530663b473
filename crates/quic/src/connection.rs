//! One connection: datagrams in, bursts out.
//!
//! It ties together the bytes (`wire::quic`), the keys (`crypto`), the losses (`recovery`) and the streams (`streams`):
//! which packet leaves when and with what, and what each frame that comes means to whom. To whom a datagram belongs,
//! and what is answered without a connection, is `endpoint`'s.

mod application;
mod asking;
mod chance;
mod closing;
mod coalesced;
mod contents;
mod control;
mod feedback;
mod frames;
mod handshake;
mod ids;
mod intake;
mod migration;
mod opening;
mod paths;
mod probing;
mod sending;
mod spin;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Side, Version};
use rustls::pki_types::ServerName;

use crate::crypto::{Crypto, Level};
use crate::mtu::Mtu;
use crate::received::Received;
use crate::recovery::{Feedback, Recovery};
use crate::sent::Item;
use crate::space::Space;
use crate::stats::Stats;
use crate::streams::Streams;
use crate::{Ear, Event, Time, Transport};
use asking::Asks;
use closing::Farewell;
use control::Control;
use handshake::Handshake;
use ids::{LocalIds, RemoteIds};
use intake::Untimely;
use paths::{Path, Paths};
use spin::Spin;
use timers::Timers;

pub(crate) use chance::Chance;
pub(crate) use opening::{Arrival, Issuer, Opening};

/// Every path carries UDP payloads as large as this. RFC 9000 §14.
const LEAST_DATAGRAM: usize = 1200;
/// A datagram that may not be as large as this is not worth sending.
const LEAST_PACKET: usize = 100;

/// More minor events than this do not wait to be polled.
const MOST_EVENTS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// From the first packet on.
    Open,
    /// This side has closed, and says so to whoever still sends.
    Closing,
    /// The peer has closed, or is gone: nothing is sent.
    Draining,
    /// Over: nothing is left to do.
    Drained,
}

/// One connection, of a client or of a server.
pub struct Connection {
    side: Side,
    version: Version,
    config: Arc<Transport>,
    state: State,
    crypto: Crypto,
    recovery: Recovery,
    received: [Received; 3],
    streams: Streams,
    handshake: Handshake,
    local_ids: LocalIds,
    remote_ids: RemoteIds,
    paths: Paths,
    control: Control,
    asks: Asks,
    timers: Timers,
    spin: Spin,
    chance: Chance,
    untimely: Vec<Untimely>,
    farewell: Option<Farewell>,
    events: VecDeque<Event>,
    stats: Stats,
    /// What the packet in the making carries beside its run of stream data.
    items: Vec<Item>,
    feedback: Feedback,
    /// When the owner last came by.
    clock: Time,
    /// The size of the datagram that is being read.
    datagram_received: usize,
}

impl Connection {
    /// `destination` is the id that the server is called by until it has chosen its own.
    pub(crate) fn client(
        now: Time,
        opening: Opening,
        tls: Arc<rustls::ClientConfig>,
        name: ServerName<'static>,
        token: Option<Bytes>,
        destination: ConnectionId,
    ) -> Result<Self, rustls::Error> {
        let mut chance = Chance::new(&opening.seed);
        let (source, _) = opening.issuer.id(0);
        let parameters = opening::parameters(&opening.transport, source);
        let parameters = opening::encode(&parameters, chance.number());
        let crypto = Crypto::client(tls, name, parameters, &destination, opening.version)?;
        let handshake = Handshake::new(destination, token.unwrap_or_default());
        let path = Path::new(opening.remote, opening.local, true);
        let mut connection = Self::new(now, opening, crypto, handshake, destination, path, chance);
        connection.remember();
        Ok(connection)
    }

    /// To be fed with the datagram that `arrival` tells of.
    pub(crate) fn server(
        now: Time,
        opening: Opening,
        tls: Arc<rustls::ServerConfig>,
        arrival: &Arrival,
    ) -> Result<Self, rustls::Error> {
        let mut chance = Chance::new(&opening.seed);
        let (source, reset_token) = opening.issuer.id(0);
        let mut parameters = opening::parameters(&opening.transport, source);
        opening::server_parameters(&mut parameters, arrival, reset_token);
        let parameters = opening::encode(&parameters, chance.number());
        let crypto = Crypto::server(tls, parameters, &arrival.destination, opening.version)?;
        let mut handshake = Handshake::new(arrival.original, Bytes::new());
        handshake.retry_source = arrival.retry_source;
        handshake.peer = Some(arrival.source);
        let path = Path::new(opening.remote, opening.local, arrival.validated);
        let peer = arrival.source;
        let mut connection = Self::new(now, opening, crypto, handshake, peer, path, chance);
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
        mut chance: Chance,
    ) -> Self {
        let config = opening.transport;
        let mtu = Mtu::new(config.datagram, path.remote.ip());
        Self {
            side: crypto.side(),
            version: opening.version,
            state: State::Open,
            recovery: Recovery::new(now, &config, mtu, chance.number()),
            received: Space::ALL.map(|space| Received::new(space, &config)),
            streams: Streams::new(crypto.side(), &config),
            handshake,
            local_ids: LocalIds::new(opening.issuer),
            remote_ids: RemoteIds::new(peer),
            paths: Paths::new(path),
            control: Control::default(),
            asks: Asks::default(),
            timers: Timers::new(now, config.idle_timeout),
            spin: Spin::new(chance.number()),
            chance,
            untimely: Vec::new(),
            farewell: None,
            events: VecDeque::new(),
            stats: Stats::default(),
            items: Vec::new(),
            feedback: Feedback::default(),
            clock: now,
            datagram_received: 0,
            crypto,
            config,
        }
    }

    /// Who listens to what TLS reads: set before anything has come.
    pub(crate) fn set_ear(&mut self, ear: Box<dyn Ear>) {
        self.crypto.set_ear(ear);
    }

    fn tell(&mut self, event: Event) {
        // A peer can make up as many of these as it likes.
        let is_minor = matches!(event, Event::NewToken(_) | Event::PathChanged(_));
        if !is_minor || self.events.len() < MOST_EVENTS {
            self.events.push_back(event);
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("side", &self.side)
            .field("state", &self.state)
            .field("remote", &self.paths.active.remote)
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
