//! Begins a connection, and carries out the effects of its handshake's progress: applies
//! parameters, drops keys, informs streams.
//!
//! RFC 9000 §7, RFC 9001 §4.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Parameters, Retry, Side, Version};
use rustls::pki_types::ServerName;
use rustls::server::StoresServerSessions;

use super::ack_frequency::AckFrequency;
use super::closing::Closing;
use super::control::Control;
use super::events::Events;
use super::frame_owners::FrameOwners;
use super::handshake::Handshake;
use super::idle::Idle;
use super::ids::LocalIds;
use super::paths::{Path, Paths};
use super::remote_ids::RemoteIds;
use super::spin::Spin;
use super::undecryptable::Undecryptable;
use super::{Connection, ConnectionSetup, FirstInitial, Random, logging, opening};
use crate::budget::BudgetShare;
use crate::crypto::{Crypto, Level, bind_sessions};
use crate::error::{CloseReason, TransportError};
use crate::log::{Log, LogEvent};
use crate::mtu::Mtu;
use crate::received::Received;
use crate::recovery::{Feedback, HandshakeProgress, Recovery};
use crate::space::Space;
use crate::stats::Stats;
use crate::streams::{Streams, granted};
use crate::{Event, HandshakeObserver, Time};

impl Connection {
    /// `destination` is the id that addresses the server until it has chosen its own.
    pub(crate) fn client(
        now: Time,
        opening: ConnectionSetup,
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
        let account = BudgetShare::new(opening.transport.budget.clone(), opening.remote.ip());
        let mut connection = Self::new(now, opening, crypto, handshake, destination, path, random);
        connection.account = account;
        connection.log.on_parameters(now, true, &parameters);
        connection.remember();
        Ok(connection)
    }

    /// Makes a server's connection. The caller then passes in the datagram that `arrival`
    /// describes. TLS sessions are stored in `sessions`, or where `tls` says.
    pub(crate) fn server(
        now: Time,
        opening: ConnectionSetup,
        tls: &rustls::ServerConfig,
        sessions: Option<Arc<dyn StoresServerSessions>>,
        arrival: &FirstInitial,
    ) -> Result<Self, rustls::Error> {
        let version = opening.version;
        let mut random = Random::new(&opening.seed);
        let (source, reset_token) = opening.issuer.id(0);
        let account = BudgetShare::new(opening.transport.budget.clone(), opening.remote.ip());
        let granted = granted(&opening.transport, &account);
        let mut parameters = opening::parameters(&granted, version, source);
        opening::server_parameters(&mut parameters, arrival, reset_token);
        let encoded = opening::encode(&parameters, random.number());
        let tls = bind_sessions(tls, sessions, version, opening::early_limits(&granted));
        let crypto = Crypto::server(tls, encoded, &arrival.destination, version)?;
        let handshake = Handshake::server(version, arrival);
        let path = Path::new(opening.remote, opening.local, arrival.validated);
        let peer = arrival.source;
        let mut connection = Self::new(now, opening, crypto, handshake, peer, path, random);
        connection.account = account;
        connection.streams.begin(&granted);
        connection.log.on_parameters(now, true, &parameters);
        connection.recovery.on_first_datagram(arrival.datagram);
        Ok(connection)
    }

    fn new(
        now: Time,
        opening: ConnectionSetup,
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
            paths: Paths::new(path, config.initial_rtt, random),
            undecryptable: Undecryptable::default(),
            account: BudgetShare::default(),
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

    /// Sets the observer of the handshake, before anything has been received.
    pub(crate) fn set_observer(&mut self, observer: Box<dyn HandshakeObserver>) {
        self.crypto.set_observer(observer);
    }

    /// A client's limits for early data are those of the previous connection. RFC 9000 §7.4.1.
    fn remember(&mut self) {
        if !self.crypto.has(Level::Early) {
            return;
        }
        let bytes = self.crypto.remembered_parameters();
        match bytes.and_then(|bytes| Parameters::read(bytes, Side::Server).ok()) {
            Some(parameters) => {
                self.streams.set_peer(&parameters);
                self.handshake.remember(parameters);
            }
            // Nothing can be sent under unknown limits.
            None => self.crypto.discard(Level::Early),
        }
    }

    /// Keeps the client's hello from TLS until the owner of this server has seen it.
    pub(crate) fn hold(&mut self) {
        self.crypto.hold();
    }

    /// Passes the hello that was held to TLS, and handles what came after it.
    pub fn proceed(&mut self, now: Time) {
        if !self.closing.is_open() || self.hello().is_none() {
            return;
        }
        self.clock = now;
        let result = self.crypto.proceed();
        match result.and_then(|()| self.on_handshake_bytes(now)) {
            Ok(()) => self.open_undecryptable(now),
            Err(error) => self.fail(&error),
        }
    }

    /// TLS has read handshake bytes.
    pub(super) fn on_handshake_bytes(&mut self, now: Time) -> Result<(), TransportError> {
        let is_complete = self.crypto.is_handshake_complete();
        if self.handshake.wants_parameters(is_complete)
            && let Some(bytes) = self.crypto.peer_parameters()
        {
            let parameters = self.handshake.on_parameters(bytes)?;
            self.log.on_parameters(self.clock, false, &parameters);
            let accepted = self.crypto.early_accepted() == Some(true);
            if self.handshake.on_early_answer(accepted, &parameters)? {
                self.refuse_early();
            }
            FrameOwners::new(self).set_peer(&parameters)?;
            let idle_timeout = Duration::from_millis(parameters.max_idle_timeout);
            self.idle.on_peer_timeout(idle_timeout);
        }
        if is_complete && !self.handshake.is_complete() {
            self.complete(now);
        }
        Ok(())
    }

    fn complete(&mut self, now: Time) {
        self.handshake.on_complete();
        self.local_ids.issue();
        self.events.push(Event::Connected);
        match self.handshake.side() {
            Side::Client => self.crypto.discard(Level::Early),
            Side::Server => {
                self.on_address_validated();
                let (version, remote) = (self.handshake.version(), self.paths.remote());
                let tokens = self.local_ids.tokens(version, now, remote);
                self.control.on_handshake_complete(tokens);
                let until = now.after(3 * self.recovery.pto());
                self.crypto.keep_early_keys_until(until);
                self.confirm();
            }
        }
    }

    /// Notes that the peer has validated its address: any amount may be sent there. RFC 9000 §8.1.
    pub(super) fn on_address_validated(&mut self) {
        self.paths.validate();
        self.recovery.set_blocked(false);
    }

    /// RFC 9001 §4.1.2.
    pub(super) fn confirm(&mut self) {
        if !self.handshake.confirm() {
            return;
        }
        self.crypto.confirm();
        // RFC 9001 §4.9.2.
        for space in [Space::Initial, Space::Handshake] {
            self.discard(space);
        }
        self.events.push(Event::HandshakeConfirmed);
    }

    /// Discards the keys of a space and the packets that were sent with them. RFC 9001 §4.9.
    pub(super) fn discard(&mut self, space: Space) {
        if space == Space::Data {
            return;
        }
        let level = Level::from_space(space);
        if self.crypto.has(level) {
            self.log.on_discarded(self.clock, level);
        }
        self.crypto.discard(level);
        self.recovery.discard(space);
    }

    #[inline]
    pub(super) fn progress(&self) -> HandshakeProgress {
        let has_handshake_keys = self.crypto.has(Level::Handshake);
        self.handshake.progress(has_handshake_keys)
    }

    /// Refuses early data. The server keeps nothing of it: the client sends it again.
    fn refuse_early(&mut self) {
        self.streams.refuse_early();
        self.settle(|recovery, feedback| {
            recovery.retransmit_all(Space::Data, feedback);
            // Streams start over, so feedback about their old chunks is useless.
            feedback.clear();
        });
        self.events.push(Event::EarlyRefused);
    }

    /// RFC 9000 §17.2.5.2.
    pub(super) fn on_retry(&mut self, retry: &Retry<'_>) {
        match self.handshake.on_retry(retry, &self.local_ids.first()) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.fail(&error),
        }
        let source = retry.source;
        self.log.write(self.clock, &LogEvent::Retried { source });
        self.remote_ids.set_first(source);
        self.settle(|recovery, feedback| {
            // Early data is sent again too: the server has kept nothing.
            for space in [Space::Initial, Space::Data] {
                recovery.retransmit_all(space, feedback);
            }
        });
        self.crypto.restart(&retry.source);
    }

    /// RFC 9000 §6.2.
    pub(super) fn on_version_negotiation(
        &mut self,
        destination: &[u8],
        source: &[u8],
        versions: Vec<Version>,
    ) {
        let own = self.local_ids.first();
        if self
            .handshake
            .expects_negotiation(destination, source, &versions, &own)
        {
            self.give_up(CloseReason::Versions { offered: versions });
        }
    }
}
