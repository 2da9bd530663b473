//! How far the handshake is, and what proves that the peer is still the same one: connection ids,
//! Retry, version.
//!
//! RFC 9000 §6, §7 and §17.2.5. TLS and its keys belong to `crypto`; consequences for others belong
//! to `establishing`.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Parameters, Retry, Side, Version, retry_is_authentic};

use super::opening::{FirstInitial, other};
use crate::Code;
use crate::error::TransportError;
use crate::recovery::HandshakeProgress;
use crate::space::Space;

/// RFC 9000 §18.2.
const MAX_ACK_DELAY_EXPONENT: u64 = 20;
/// The longest token of a Retry in bytes: each Initial packet carries it beside a part of the
/// hello.
const MAX_TOKEN: usize = 1000;

#[derive(Debug)]
pub(super) struct Handshake {
    side: Side,
    version: Version,
    /// The destination of the client's first packet.
    original: ConnectionId,
    retry_source: Option<ConnectionId>,
    /// The source connection id of the peer's first packet.
    peer: Option<ConnectionId>,
    /// The token that a client's Initial packets carry.
    token: Bytes,
    /// A server's limits on the connection that a ticket is from: early data obeys them.
    remembered: Option<Parameters>,
    has_parameters: bool,
    is_complete: bool,
    is_confirmed: bool,
    /// The peer has shown that it accepts packets from here; to a server, a client always has. RFC
    /// 9002 §6.2.2.1.
    is_peer_validated: bool,
    /// The peer's transport parameter.
    ack_delay_exponent: u32,
    peer_forbids_migration: bool,
}

impl Handshake {
    /// `original` is the destination of the first packet.
    pub(super) fn client(version: Version, original: ConnectionId, token: Bytes) -> Self {
        Self {
            side: Side::Client,
            version,
            original,
            retry_source: None,
            peer: None,
            token,
            remembered: None,
            has_parameters: false,
            is_complete: false,
            is_confirmed: false,
            is_peer_validated: false,
            ack_delay_exponent: 3,
            peer_forbids_migration: false,
        }
    }

    pub(super) fn server(version: Version, arrival: &FirstInitial) -> Self {
        Self {
            side: Side::Server,
            retry_source: arrival.retry_source,
            peer: Some(arrival.source),
            is_peer_validated: true,
            ..Self::client(version, arrival.original, Bytes::new())
        }
    }

    #[inline]
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// The destination of the client's first packet.
    pub(super) fn original(&self) -> ConnectionId {
        self.original
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// The token that Initial packets carry.
    pub(super) fn token(&self) -> &[u8] {
        &self.token
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    #[inline]
    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// The time for which the peer says it delayed an acknowledgement. RFC 9000 §13.2.5 and §19.3.
    pub(super) fn ack_delay(&self, space: Space, encoded: u64) -> Duration {
        if space != Space::Data {
            return Duration::ZERO;
        }
        let micros = encoded.checked_shl(self.ack_delay_exponent);
        Duration::from_micros(micros.unwrap_or(u64::MAX).min(1 << 40))
    }

    /// Refuses what only a server may send.
    pub(super) fn expect_client(&self, why: &'static str) -> Result<(), TransportError> {
        match self.side {
            Side::Client => Ok(()),
            Side::Server => Err(TransportError::new(Code::PROTOCOL_VIOLATION, why)),
        }
    }

    /// Returns the token of a NEW_TOKEN frame, which is for a later connection. RFC 9000 §19.7.
    pub(super) fn on_new_token(&self, token: &[u8]) -> Result<Bytes, TransportError> {
        self.expect_client("NEW_TOKEN came from a client")?;
        if token.is_empty() {
            return Err(TransportError::new(
                Code::FRAME_ENCODING_ERROR,
                "a NEW_TOKEN is empty",
            ));
        }
        Ok(Bytes::copy_from_slice(token))
    }

    pub(super) fn peer_forbids_migration(&self) -> bool {
        self.peer_forbids_migration
    }

    #[inline]
    pub(super) fn progress(&self, has_handshake_keys: bool) -> HandshakeProgress {
        HandshakeProgress {
            has_handshake_keys,
            is_complete: self.is_complete,
            is_confirmed: self.is_confirmed,
            is_peer_validated: self.is_peer_validated,
        }
    }

    /// Whether a packet with this source may come from the peer, which keeps the id of its first
    /// packet. RFC 9000 §7.2.
    #[inline]
    pub(super) fn accepts(&self, source: Option<ConnectionId>) -> bool {
        match (self.peer, source) {
            (Some(known), Some(source)) => known == source,
            _ => true,
        }
    }

    /// A packet was authentic. Returns its source if it was the peer's first.
    pub(super) fn on_source(&mut self, source: Option<ConnectionId>) -> Option<ConnectionId> {
        if self.peer.is_some() {
            return None;
        }
        self.peer = source;
        source
    }

    /// Remembers the server's limits, which early data has to obey. RFC 9000 §7.4.1.
    pub(super) fn remember(&mut self, parameters: Parameters) {
        self.remembered = Some(parameters);
    }

    /// The server has answered early data: returns whether it was refused. If it was accepted,
    /// checks that the limits under which it was sent still hold. RFC 9000 §7.4.1, RFC 9001 §4.6.2.
    pub(super) fn on_early_answer(
        &mut self,
        accepted: bool,
        parameters: &Parameters,
    ) -> Result<bool, TransportError> {
        let Some(remembered) = self.remembered.take() else {
            return Ok(false);
        };
        if accepted && has_shrunk(&remembered, parameters) {
            return Err(TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it accepted early data, but lowered the limits that the data was sent under",
            ));
        }
        Ok(!accepted)
    }

    /// Whether to read the peer's parameters now. A client's parameters are authentic once the
    /// handshake is complete; a server reads them earlier, because it needs them to answer.
    pub(super) fn wants_parameters(&self, is_tls_complete: bool) -> bool {
        !self.has_parameters && (self.side == Side::Server || is_tls_complete)
    }

    /// Reads the peer's transport parameters, and checks them against the ids in its packets. RFC
    /// 9000 §7.3.
    pub(super) fn on_parameters(&mut self, bytes: &[u8]) -> Result<Parameters, TransportError> {
        let parameters = Parameters::read(bytes, other(self.side))
            .map_err(|_| bad_parameters("the transport parameters cannot be read"))?;
        self.check_ids(&parameters)?;
        self.check_version(&parameters)?;
        self.has_parameters = true;
        let exponent = parameters.ack_delay_exponent.min(MAX_ACK_DELAY_EXPONENT);
        self.ack_delay_exponent = exponent as u32;
        self.peer_forbids_migration = parameters.disable_active_migration;
        Ok(parameters)
    }

    fn check_ids(&self, parameters: &Parameters) -> Result<(), TransportError> {
        if parameters.initial_source_connection_id != self.peer {
            return Err(bad_parameters(
                "initial_source_connection_id is not the id that the packets came with",
            ));
        }
        if self.side == Side::Server {
            return Ok(());
        }
        // RFC 9000 §18.2.
        if parameters.preferred_address.is_some() && self.peer == Some(ConnectionId::EMPTY) {
            return Err(bad_parameters(
                "it has a preferred address, but uses no connection ids",
            ));
        }
        if parameters.original_destination_connection_id != Some(self.original) {
            return Err(bad_parameters(
                "original_destination_connection_id is not the id that the first packet went to",
            ));
        }
        if parameters.retry_source_connection_id != self.retry_source {
            return Err(bad_parameters(
                "retry_source_connection_id is not the id that a Retry came from",
            ));
        }
        Ok(())
    }

    /// Checks the peer's version information: if it does not match, someone has tampered with the
    /// version negotiation. RFC 9368 §4.
    fn check_version(&self, parameters: &Parameters) -> Result<(), TransportError> {
        let information = parameters.version_information.as_ref();
        if information.is_some_and(|information| information.chosen != self.version) {
            return Err(TransportError::new(
                Code::VERSION_NEGOTIATION_ERROR,
                "the chosen version is not the version of the packets",
            ));
        }
        Ok(())
    }

    pub(super) fn on_complete(&mut self) {
        self.is_complete = true;
    }

    /// Returns false if the handshake is not complete yet, or was confirmed before. RFC 9001
    /// §4.1.2.
    pub(super) fn confirm(&mut self) -> bool {
        if self.is_confirmed || !self.is_complete {
            return false;
        }
        self.is_confirmed = true;
        self.is_peer_validated = true;
        true
    }

    /// Called when an acknowledgement of a Handshake packet arrives.
    pub(super) fn on_peer_validated(&mut self) {
        self.is_peer_validated = true;
    }

    /// Whether a Retry was accepted.
    pub(super) fn was_retried(&self) -> bool {
        self.retry_source.is_some()
    }

    /// Whether to accept a Retry: once, before anything else has come, and only with a valid tag.
    /// RFC 9000 §17.2.5.2. An error if its token leaves no room in a datagram.
    pub(super) fn on_retry(
        &mut self,
        retry: &Retry<'_>,
        own: &ConnectionId,
    ) -> Result<bool, TransportError> {
        let is_expected = self.is_first_answer()
            && retry.version == self.version
            && retry.destination == *own
            && !retry.token.is_empty()
            && retry.source != self.original
            && retry_is_authentic(retry, &self.original).unwrap_or(false);
        if is_expected && retry.token.len() > MAX_TOKEN {
            return Err(TransportError::new(
                Code::INTERNAL_ERROR,
                "the token of a Retry leaves no room for the hello",
            ));
        }
        if is_expected {
            self.retry_source = Some(retry.source);
            self.token = Bytes::copy_from_slice(retry.token);
        }
        Ok(is_expected)
    }

    /// Whether a version negotiation answers the first packet. RFC 9000 §6.2.
    pub(super) fn expects_negotiation(
        &self,
        destination: &[u8],
        source: &[u8],
        versions: &[Version],
        own: &ConnectionId,
    ) -> bool {
        self.is_first_answer()
            && destination == own.as_slice()
            && source == self.original.as_slice()
            && !versions.contains(&self.version)
    }

    /// Whether this is a client that has received nothing yet.
    fn is_first_answer(&self) -> bool {
        self.side == Side::Client && self.peer.is_none() && self.retry_source.is_none()
    }
}

fn bad_parameters(why: &'static str) -> TransportError {
    TransportError::new(Code::TRANSPORT_PARAMETER_ERROR, why)
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

#[cfg(test)]
mod tests {
    use roundtrip_wire::quic::{PreferredAddress, VersionInformation};

    use super::*;

    #[test]
    fn a_client_that_chose_another_version_was_led_astray() {
        let id = ConnectionId::new(b"12345678").unwrap();
        let arrival = FirstInitial {
            original: id,
            retry_source: None,
            destination: id,
            source: id,
            validated: false,
            datagram: 1200,
        };
        let judge = |chosen: Option<Version>| {
            let parameters = Parameters {
                initial_source_connection_id: Some(id),
                version_information: chosen.map(|chosen| VersionInformation {
                    chosen,
                    available: vec![Version::V1, Version::V2],
                }),
                ..Parameters::default()
            };
            let mut bytes = Vec::new();
            parameters.write(&mut bytes);
            let mut handshake = Handshake::server(Version::V1, &arrival);
            let result = handshake.on_parameters(&bytes);
            result.map(|_| ()).map_err(|error| error.code)
        };
        assert_eq!(judge(Some(Version::V1)), Ok(()));
        assert_eq!(judge(None), Ok(()));
        let refused = Err(Code::VERSION_NEGOTIATION_ERROR);
        assert_eq!(judge(Some(Version::V2)), refused);
    }

    /// RFC 9000 §18.2.
    #[test]
    fn a_server_without_ids_has_no_preferred_address() {
        let id = ConnectionId::new(b"12345678").unwrap();
        let judge = |own: ConnectionId| {
            let mut handshake = Handshake::client(Version::V1, id, Bytes::new());
            handshake.on_source(Some(own));
            handshake.check_ids(&Parameters {
                initial_source_connection_id: Some(own),
                original_destination_connection_id: Some(id),
                preferred_address: Some(PreferredAddress {
                    id,
                    reset_token: [7; 16],
                }),
                ..Parameters::default()
            })
        };
        assert_eq!(judge(id), Ok(()));
        let refused = judge(ConnectionId::EMPTY).unwrap_err();
        assert_eq!(refused.code, Code::TRANSPORT_PARAMETER_ERROR);
    }
}
