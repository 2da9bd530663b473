//! What progress of the handshake means for the rest of a connection: parameters are applied, keys
//! dropped, streams informed.
//!
//! RFC 9000 §7, RFC 9001 §4.

use std::time::Duration;

use roundtrip_wire::quic::{Parameters, Retry, Side, Version};

use super::Connection;
use super::feedback::level_of;
use crate::crypto::Level;
use crate::error::{CloseReason, TransportError};
use crate::log::LogEvent;
use crate::recovery::Progress;
use crate::space::Space;
use crate::{Code, Event, Time};

impl Connection {
    /// A client's limits for early data are those of the previous connection. RFC 9000 §7.4.1.
    pub(super) fn remember(&mut self) {
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

    /// The client's hello as TLS messages, as far as it has come without a gap; `None` if it is not
    /// held, or no longer.
    pub fn hello(&self) -> Option<&[u8]> {
        self.crypto.held()
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
            self.log_parameters(false, &parameters);
            self.settle_early(&parameters)?;
            self.apply(&parameters);
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

    /// The peer has validated its address: any amount may be sent there. RFC 9000 §8.1.
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

    /// The keys of a space are no longer needed, nor is what was sent with them. RFC 9001 §4.9.
    pub(super) fn discard(&mut self, space: Space) {
        if space == Space::Data {
            return;
        }
        let level = level_of(space);
        if self.crypto.has(level) {
            self.log_discarded(level);
        }
        self.crypto.discard(level);
        self.recovery.discard(space);
    }

    #[inline]
    pub(super) fn progress(&self) -> Progress {
        let has_handshake_keys = self.crypto.has(Level::Handshake);
        self.handshake.progress(has_handshake_keys)
    }

    /// Checks that the limits under which early data was sent still hold, unless it was refused.
    /// RFC 9000 §7.4.1, RFC 9001 §4.6.2.
    fn settle_early(&mut self, parameters: &Parameters) -> Result<(), TransportError> {
        let Some(remembered) = self.handshake.take_remembered() else {
            return Ok(());
        };
        if self.crypto.early_accepted() == Some(true) {
            if has_shrunk(&remembered, parameters) {
                return Err(TransportError::new(
                    Code::PROTOCOL_VIOLATION,
                    "it accepted early data, but lowered the limits that the data was sent under",
                ));
            }
            return Ok(());
        }
        self.streams.refuse_early();
        self.settle(|recovery, feedback| {
            recovery.retransmit_all(Space::Data, feedback);
            // Streams start over, so feedback about their old chunks is useless.
            feedback.clear();
        });
        self.events.push(Event::EarlyRefused);
        Ok(())
    }

    fn apply(&mut self, parameters: &Parameters) {
        self.streams.set_peer(parameters);
        let max_ack_delay = Duration::from_millis(parameters.max_ack_delay);
        self.recovery.set_max_ack_delay(max_ack_delay);
        if let Some(micros) = parameters.min_ack_delay {
            let min_delay = Duration::from_micros(micros);
            self.ack_frequency.on_peer_min_delay(min_delay);
        }
        self.local_ids
            .set_limit(parameters.active_connection_id_limit);
        if let Some(token) = parameters.stateless_reset_token {
            self.remote_ids.set_first_token(token);
        }
        let idle_timeout = Duration::from_millis(parameters.max_idle_timeout);
        self.idle.on_peer_timeout(idle_timeout);
        self.recovery
            .on_peer_max_datagram(parameters.max_udp_payload_size);
    }

    /// RFC 9000 §17.2.5.2.
    pub(super) fn on_retry(&mut self, retry: &Retry<'_>) {
        if !self.handshake.on_retry(retry, &self.local_ids.first()) {
            return;
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
            self.closing.end();
            let why = CloseReason::Versions { offered: versions };
            self.log_closed(&why);
            self.events.push(Event::Closed(why));
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
