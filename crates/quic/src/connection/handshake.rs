//! The handshake's course: parameters checked and applied, keys taken and dropped, Retry and version negotiation.
//!
//! RFC 9000 §7, RFC 9001 §4.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Parameters, Retry, Side, Version, retry_is_authentic};

use super::opening::other;
use super::{Connection, State};
use crate::crypto::Level;
use crate::error::{CloseReason, Violation};
use crate::recovery::Progress;
use crate::space::Space;
use crate::{Code, Event, Time};

/// RFC 9000 §18.2: 20 at most.
const MOST_EXPONENT: u64 = 20;

#[derive(Debug)]
pub(super) struct Handshake {
    /// The destination of the client's first packet.
    pub(super) original: ConnectionId,
    pub(super) retry_source: Option<ConnectionId>,
    /// The source of the peer's first packet.
    pub(super) peer: Option<ConnectionId>,
    /// What a client's Initial packets carry.
    pub(super) token: Bytes,
    pub(super) has_parameters: bool,
    pub(super) is_complete: bool,
    pub(super) is_confirmed: bool,
    /// The peer has proved that it takes packets from here. RFC 9002 §6.2.2.1.
    pub(super) peer_validated: bool,
    /// The peer's.
    pub(super) ack_delay_exponent: u32,
    pub(super) peer_forbids_migration: bool,
    /// A server's limits as of the connection that a ticket is from: early data keeps to them.
    pub(super) remembered: Option<Parameters>,
}

impl Handshake {
    pub(super) fn new(original: ConnectionId, token: Bytes) -> Self {
        Self {
            original,
            retry_source: None,
            peer: None,
            token,
            has_parameters: false,
            is_complete: false,
            is_confirmed: false,
            peer_validated: false,
            ack_delay_exponent: 3,
            peer_forbids_migration: false,
            remembered: None,
        }
    }
}

impl Connection {
    /// A client's limits for early data are those of the connection before. RFC 9000 §7.4.1.
    pub(super) fn remember(&mut self) {
        if !self.crypto.has(Level::Early) {
            return;
        }
        let bytes = self.crypto.remembered_parameters();
        match bytes.and_then(|bytes| Parameters::read(bytes, Side::Server).ok()) {
            Some(parameters) => {
                self.streams.set_peer(&parameters);
                self.handshake.remembered = Some(parameters);
            }
            // Nothing can be sent under limits that are not known.
            None => self.crypto.discard(Level::Early),
        }
    }

    /// Of a server: to be shown to its owner before TLS has it.
    pub(crate) fn hold(&mut self) {
        self.crypto.hold();
    }

    /// The client's hello as TLS messages, as far as it has come without a hole; none where nobody holds it, or no longer.
    pub fn hello(&self) -> Option<&[u8]> {
        self.crypto.held()
    }

    /// TLS gets the hello that was held, and what came behind it is looked at.
    pub fn proceed(&mut self, now: Time) {
        if self.state != State::Open || self.hello().is_none() {
            return;
        }
        self.clock = now;
        match self
            .crypto
            .proceed()
            .and_then(|()| self.on_handshake_bytes(now))
        {
            Ok(()) => self.retry_untimely(now),
            Err(violation) => self.fail(&violation),
        }
    }

    /// After handshake bytes.
    pub(super) fn on_handshake_bytes(&mut self, now: Time) -> Result<(), Violation> {
        let is_complete = self.crypto.is_handshake_complete();
        // A client's are authentic when the handshake is complete; a server needs them before, to answer at all.
        if !self.handshake.has_parameters && (self.side == Side::Server || is_complete) {
            self.take_parameters()?;
        }
        if is_complete && !self.handshake.is_complete {
            self.complete(now);
        }
        Ok(())
    }

    fn complete(&mut self, now: Time) {
        self.handshake.is_complete = true;
        self.local_ids.issue(&mut self.control.issued);
        self.tell(Event::Connected);
        match self.side {
            Side::Client => self.crypto.discard(Level::Early),
            Side::Server => {
                self.paths.active.validated = true;
                self.recovery.set_blocked(false);
                self.control.handshake_done = true;
                let remote = self.paths.active.remote;
                let tokens = self.local_ids.issuer().tokens(now, remote);
                self.control.give(tokens);
                self.timers.early_keys = Some(now.after(3 * self.recovery.pto()));
                self.confirm();
            }
        }
    }

    /// RFC 9001 §4.1.2.
    pub(super) fn confirm(&mut self) {
        if self.handshake.is_confirmed || !self.handshake.is_complete {
            return;
        }
        self.handshake.is_confirmed = true;
        self.handshake.peer_validated = true;
        self.crypto.confirm();
        // RFC 9001 §4.9.2.
        for space in [Space::Initial, Space::Handshake] {
            self.discard(space);
        }
        self.tell(Event::HandshakeConfirmed);
    }

    pub(super) fn discard(&mut self, space: Space) {
        match space {
            Space::Initial => self.crypto.discard(Level::Initial),
            Space::Handshake => self.crypto.discard(Level::Handshake),
            Space::Data => return,
        }
        self.recovery.discard(space);
    }

    /// An acknowledgement of a Handshake packet came.
    pub(super) fn validate_peer(&mut self) {
        self.handshake.peer_validated = true;
    }

    #[inline]
    pub(super) fn progress(&self) -> Progress {
        Progress {
            has_handshake_keys: self.crypto.has(Level::Handshake),
            is_complete: self.handshake.is_complete,
            is_confirmed: self.handshake.is_confirmed,
            is_peer_validated: self.handshake.peer_validated || self.side == Side::Server,
        }
    }

    fn take_parameters(&mut self) -> Result<(), Violation> {
        let Some(bytes) = self.crypto.peer_parameters() else {
            return Ok(());
        };
        let parameters = Parameters::read(bytes, other(self.side))
            .map_err(|_| of_parameters("the transport parameters cannot be read"))?;
        self.check_ids(&parameters)?;
        self.handshake.has_parameters = true;
        self.settle_early(&parameters)?;
        self.apply(&parameters);
        Ok(())
    }

    /// RFC 9000 §7.3.
    fn check_ids(&self, parameters: &Parameters) -> Result<(), Violation> {
        if parameters.initial_source_connection_id != self.handshake.peer {
            return Err(of_parameters(
                "initial_source_connection_id is not the id that the packets came with",
            ));
        }
        if self.side == Side::Server {
            return Ok(());
        }
        if parameters.original_destination_connection_id != Some(self.handshake.original) {
            return Err(of_parameters(
                "original_destination_connection_id is not the id that the first packet went to",
            ));
        }
        if parameters.retry_source_connection_id != self.handshake.retry_source {
            return Err(of_parameters(
                "retry_source_connection_id is not the id that a Retry came from",
            ));
        }
        Ok(())
    }

    /// What early data was sent under has to hold, or it was refused. RFC 9000 §7.4.1, RFC 9001 §4.6.2.
    fn settle_early(&mut self, parameters: &Parameters) -> Result<(), Violation> {
        let Some(remembered) = self.handshake.remembered.take() else {
            return Ok(());
        };
        if self.crypto.early_accepted() == Some(true) {
            if has_shrunk(&remembered, parameters) {
                return Err(Violation::new(
                    Code::PROTOCOL_VIOLATION,
                    "it took early data, and lowered the limits that the data was sent under",
                ));
            }
            return Ok(());
        }
        self.streams.refuse_early();
        self.settle(|recovery, feedback| {
            recovery.retransmit_all(Space::Data, feedback);
            // Streams begin anew: what their chunks were is of no use.
            feedback.clear();
        });
        self.tell(Event::EarlyRefused);
        Ok(())
    }

    fn apply(&mut self, parameters: &Parameters) {
        self.streams.set_peer(parameters);
        self.handshake.ack_delay_exponent = parameters.ack_delay_exponent.min(MOST_EXPONENT) as u32;
        self.handshake.peer_forbids_migration = parameters.disable_active_migration;
        let max_ack_delay = Duration::from_millis(parameters.max_ack_delay);
        self.recovery.set_max_ack_delay(max_ack_delay);
        if let Some(least) = parameters.min_ack_delay {
            self.asks.set_known(Duration::from_micros(least));
        }
        self.local_ids
            .set_limit(parameters.active_connection_id_limit);
        if let Some(token) = parameters.stateless_reset_token {
            self.remote_ids.set_first_token(token);
        }
        let theirs = Duration::from_millis(parameters.max_idle_timeout);
        if !theirs.is_zero() {
            let ours = self.timers.idle;
            self.timers.idle = if ours.is_zero() {
                theirs
            } else {
                ours.min(theirs)
            };
        }
        self.recovery
            .on_peer_max_datagram(parameters.max_udp_payload_size);
    }

    /// RFC 9000 §17.2.5.2: once, before anything else has come, and only with a good tag.
    pub(super) fn on_retry(&mut self, retry: &Retry<'_>) {
        let is_expected = self.side == Side::Client
            && self.handshake.peer.is_none()
            && self.handshake.retry_source.is_none()
            && retry.version == self.version
            && retry.destination == self.local_ids.first()
            && !retry.token.is_empty()
            && retry.source != self.handshake.original
            && retry_is_authentic(retry, &self.handshake.original).unwrap_or(false);
        if !is_expected {
            return;
        }
        self.handshake.retry_source = Some(retry.source);
        self.handshake.token = Bytes::copy_from_slice(retry.token);
        self.remote_ids.set_first(retry.source);
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
        let is_expected = self.side == Side::Client
            && self.handshake.peer.is_none()
            && self.handshake.retry_source.is_none()
            && destination == self.local_ids.first().as_slice()
            && source == self.handshake.original.as_slice()
            && !versions.contains(&self.version);
        if is_expected {
            self.state = State::Drained;
            self.tell(Event::Closed(CloseReason::Versions { offered: versions }));
        }
    }
}

/// RFC 9000 §7.4.1.
fn has_shrunk(before: &Parameters, now: &Parameters) -> bool {
    let limits = |p: &Parameters| {
        [
            p.active_connection_id_limit,
            p.initial_max_data,
            p.initial_max_stream_data_bidi_local,
            p.initial_max_stream_data_bidi_remote,
            p.initial_max_stream_data_uni,
            p.initial_max_streams_bidi,
            p.initial_max_streams_uni,
        ]
    };
    limits(before)
        .into_iter()
        .zip(limits(now))
        .any(|(before, now)| now < before)
}

fn of_parameters(why: &'static str) -> Violation {
    Violation::new(Code::TRANSPORT_PARAMETER_ERROR, why)
}
