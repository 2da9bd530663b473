//! Transport parameters, which each side sends in the handshake. RFC 9000 §18.

mod read;
mod write;

use super::{ConnectionId, Version};

/// The version of a connection, and which others its sender accepts. RFC 9368 §3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionInformation {
    pub chosen: Version,
    /// From a client, the versions that the server may switch to, including the chosen one; from a
    /// server, all its versions.
    pub available: Vec<Version>,
}

/// The parts of a preferred address that a client needs even if it does not move there. RFC 9000
/// §9.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreferredAddress {
    /// The id with the sequence number 1. RFC 9000 §5.1.1.
    pub id: ConnectionId,
    pub reset_token: [u8; 16],
}

/// The parameters of one side; omitted ones have the defaults of the RFC. RFC 9000 §18.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Server only, like all ids except `initial_source_connection_id`.
    pub original_destination_connection_id: Option<ConnectionId>,
    /// The idle timeout in milliseconds; 0 means none.
    pub max_idle_timeout: u64,
    /// Server only.
    pub stateless_reset_token: Option<[u8; 16]>,
    pub max_udp_payload_size: u64,
    pub initial_max_data: u64,
    pub initial_max_stream_data_bidi_local: u64,
    pub initial_max_stream_data_bidi_remote: u64,
    pub initial_max_stream_data_uni: u64,
    pub initial_max_streams_bidi: u64,
    pub initial_max_streams_uni: u64,
    pub ack_delay_exponent: u64,
    /// The maximum acknowledgement delay in milliseconds.
    pub max_ack_delay: u64,
    pub disable_active_migration: bool,
    /// Server only. It is read, and never written.
    pub preferred_address: Option<PreferredAddress>,
    pub active_connection_id_limit: u64,
    pub initial_source_connection_id: Option<ConnectionId>,
    pub retry_source_connection_id: Option<ConnectionId>,
    /// The largest DATAGRAM frame in bytes. RFC 9221 §3.
    pub max_datagram_frame_size: u64,
    /// RFC 9287 §3.
    pub grease_quic_bit: bool,
    /// The minimum acknowledgement delay in microseconds. draft-ietf-quic-ack-frequency §3.
    pub min_ack_delay: Option<u64>,
    /// RFC 9368 §3.
    pub version_information: Option<VersionInformation>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            original_destination_connection_id: None,
            max_idle_timeout: 0,
            stateless_reset_token: None,
            max_udp_payload_size: 65_527,
            initial_max_data: 0,
            initial_max_stream_data_bidi_local: 0,
            initial_max_stream_data_bidi_remote: 0,
            initial_max_stream_data_uni: 0,
            initial_max_streams_bidi: 0,
            initial_max_streams_uni: 0,
            ack_delay_exponent: 3,
            max_ack_delay: 25,
            disable_active_migration: false,
            preferred_address: None,
            active_connection_id_limit: 2,
            initial_source_connection_id: None,
            retry_source_connection_id: None,
            max_datagram_frame_size: 0,
            grease_quic_bit: false,
            min_ack_delay: None,
            version_information: None,
        }
    }
}

/// The numbers of the parameters. RFC 9000 §18.2 and the documents named at the fields.
mod number {
    pub(super) const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
    pub(super) const MAX_IDLE_TIMEOUT: u64 = 0x01;
    pub(super) const STATELESS_RESET_TOKEN: u64 = 0x02;
    pub(super) const MAX_UDP_PAYLOAD_SIZE: u64 = 0x03;
    pub(super) const INITIAL_MAX_DATA: u64 = 0x04;
    pub(super) const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
    pub(super) const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
    pub(super) const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
    pub(super) const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
    pub(super) const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
    pub(super) const ACK_DELAY_EXPONENT: u64 = 0x0a;
    pub(super) const MAX_ACK_DELAY: u64 = 0x0b;
    pub(super) const DISABLE_ACTIVE_MIGRATION: u64 = 0x0c;
    pub(super) const PREFERRED_ADDRESS: u64 = 0x0d;
    pub(super) const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
    pub(super) const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
    pub(super) const RETRY_SOURCE_CONNECTION_ID: u64 = 0x10;
    pub(super) const VERSION_INFORMATION: u64 = 0x11;
    pub(super) const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
    pub(super) const GREASE_QUIC_BIT: u64 = 0x2ab2;
    pub(super) const MIN_ACK_DELAY: u64 = 0xff04_de1b;
}
