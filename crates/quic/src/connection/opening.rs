//! The initial data of a connection, and the transport parameters that it sends to its peer.

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Parameters, Side, Version, VersionInformation};

use super::remote_ids;
use crate::crypto::LIMITS;
use crate::{Time, Transport};

/// The versions that a server accepts.
pub(crate) const VERSIONS: [Version; 2] = [Version::V1, Version::V2];
/// Our acknowledgement delays are sent in units of 8 µs. RFC 9000 §18.2.
pub(crate) const ACK_DELAY_EXPONENT: u64 = 3;
/// The shortest acknowledgement delay that the peer may ask for.
const MIN_ACK_DELAY: Duration = Duration::from_millis(1);

/// The min_ack_delay that this side sends. draft-ietf-quic-ack-frequency §3.
pub(crate) fn min_ack_delay(transport: &Transport) -> Duration {
    transport.max_ack_delay.min(MIN_ACK_DELAY)
}

/// Makes the ids and tokens of a connection. The endpoint implements it, since it routes by the
/// ids.
pub(crate) trait Issuer: Debug + Send {
    /// The connection id of this sequence number, and its stateless reset token. 0 is the id of the
    /// handshake.
    fn id(&self, sequence: u64) -> (ConnectionId, [u8; 16]);
    /// Tokens for the next connections from that address, each valid for one. RFC 9000 §8.1.3.
    fn tokens(&mut self, version: Version, now: Time, remote: SocketAddr) -> Vec<Bytes>;
}

/// The initial data of a connection of either side.
#[derive(Debug)]
pub(crate) struct ConnectionSetup {
    pub(crate) transport: Arc<Transport>,
    pub(crate) version: Version,
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<IpAddr>,
    pub(crate) issuer: Box<dyn Issuer>,
    pub(crate) seed: [u8; 32],
}

/// The Initial packet that a server's connection begins with.
#[derive(Debug, Clone)]
pub(crate) struct FirstInitial {
    /// The destination of the client's very first packet.
    pub(crate) original: ConnectionId,
    /// The source connection id of our Retry, if there was one.
    pub(crate) retry_source: Option<ConnectionId>,
    /// The destination of this packet: the Initial keys come from it.
    pub(crate) destination: ConnectionId,
    pub(crate) source: ConnectionId,
    /// A token has validated the client's address.
    pub(crate) validated: bool,
    /// The size of the datagram.
    pub(crate) datagram: u16,
}

/// RFC 9000 §18.2.
pub(crate) fn parameters(
    transport: &Transport,
    version: Version,
    source: ConnectionId,
) -> Parameters {
    Parameters {
        // The client accepts no other version on this connection.
        version_information: Some(VersionInformation {
            chosen: version,
            available: vec![version],
        }),
        max_idle_timeout: millis(transport.idle_timeout),
        initial_max_data: transport.window,
        initial_max_stream_data_bidi_local: transport.stream_window,
        initial_max_stream_data_bidi_remote: transport.stream_window,
        initial_max_stream_data_uni: transport.stream_window,
        initial_max_streams_bidi: transport.bidi_streams,
        initial_max_streams_uni: transport.uni_streams,
        ack_delay_exponent: ACK_DELAY_EXPONENT,
        max_ack_delay: millis(transport.max_ack_delay),
        disable_active_migration: !transport.migration,
        active_connection_id_limit: remote_ids::KEPT,
        initial_source_connection_id: Some(source),
        min_ack_delay: Some(min_ack_delay(transport).as_micros() as u64),
        ..Parameters::default()
    }
}

/// The limits that early data of the next connection may rely on. RFC 9000 §7.4.1.
pub(crate) fn early_limits(transport: &Transport) -> [u64; LIMITS] {
    [
        transport.window,
        transport.stream_window,
        transport.bidi_streams,
        transport.uni_streams,
        remote_ids::KEPT,
        transport.application_limit,
    ]
}

pub(crate) fn server_parameters(
    parameters: &mut Parameters,
    arrival: &FirstInitial,
    reset_token: [u8; 16],
) {
    if let Some(information) = &mut parameters.version_information {
        information.available = VERSIONS.to_vec();
    }
    parameters.original_destination_connection_id = Some(arrival.original);
    parameters.retry_source_connection_id = arrival.retry_source;
    parameters.stateless_reset_token = Some(reset_token);
}

pub(crate) fn encode(parameters: &Parameters, random: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    parameters.write(&mut bytes);
    Parameters::write_grease(&mut bytes, random, &[]);
    bytes
}

pub(crate) fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
