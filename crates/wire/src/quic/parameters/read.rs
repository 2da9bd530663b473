//! Parses and validates transport parameters. RFC 9000 §7.4 and §18.

use super::{Parameters, PreferredAddress, VersionInformation, number};
use crate::cursor::Cursor;
use crate::quic::{ConnectionId, Side, Version};
use crate::{Error, Result};

/// RFC 9000 §4.6.
const MAX_STREAMS: u64 = 1 << 60;
/// The datagram size in bytes that every path must carry. RFC 9000 §14.
const MIN_DATAGRAM: u64 = 1200;
const MAX_ACK_DELAY_EXPONENT: u64 = 20;
/// The upper limit of the acknowledgement delay in milliseconds, exclusive.
const ACK_DELAY_END: u64 = 1 << 14;
const MIN_IDS: u64 = 2;
/// The size in bytes of an IPv4 and an IPv6 address with their ports. RFC 9000 §18.2.
const ADDRESSES: usize = 4 + 2 + 16 + 2;

impl Parameters {
    /// A parameter that is repeated, out of its range, or not allowed for side `from` is an error;
    /// unknown ones are skipped.
    pub fn read(bytes: &[u8], from: Side) -> Result<Self> {
        let mut cursor = Cursor::new(WHAT, bytes);
        let mut parameters = Self::default();
        let mut numbers = Vec::new();
        while !cursor.is_empty() {
            let number = cursor.varint()?;
            let value = cursor.take_varint()?;
            numbers.push(number);
            parameters.take(number, value, from)?;
        }
        numbers.sort_unstable();
        if numbers
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a == b))
        {
            return Err(malformed("one is repeated"));
        }
        // draft-ietf-quic-ack-frequency §3.
        let ends = parameters.max_ack_delay * 1000;
        if parameters.min_ack_delay.is_some_and(|least| least > ends) {
            return Err(malformed("min_ack_delay is above max_ack_delay"));
        }
        Ok(parameters)
    }

    fn take(&mut self, number: u64, value: &[u8], from: Side) -> Result<()> {
        match number {
            number::ORIGINAL_DESTINATION_CONNECTION_ID
            | number::STATELESS_RESET_TOKEN
            | number::PREFERRED_ADDRESS
            | number::RETRY_SOURCE_CONNECTION_ID
                if from == Side::Client =>
            {
                return Err(malformed("a client declares what only a server may"));
            }
            number::ORIGINAL_DESTINATION_CONNECTION_ID => {
                self.original_destination_connection_id = Some(id(value)?);
            }
            number::INITIAL_SOURCE_CONNECTION_ID => {
                self.initial_source_connection_id = Some(id(value)?);
            }
            number::RETRY_SOURCE_CONNECTION_ID => {
                self.retry_source_connection_id = Some(id(value)?);
            }
            number::STATELESS_RESET_TOKEN => {
                let token = value.try_into();
                self.stateless_reset_token =
                    Some(token.map_err(|_| malformed("a reset token does not have 16 bytes"))?);
            }
            number::PREFERRED_ADDRESS => {
                self.preferred_address = Some(preferred_address(value)?);
            }
            number::VERSION_INFORMATION => {
                self.version_information = Some(version_information(value, from)?);
            }
            number::DISABLE_ACTIVE_MIGRATION => self.disable_active_migration = flag(value)?,
            number::GREASE_QUIC_BIT => self.grease_quic_bit = flag(value)?,
            _ => return self.take_integer(number, value),
        }
        Ok(())
    }

    fn take_integer(&mut self, number: u64, value: &[u8]) -> Result<()> {
        let (field, least, most) = match number {
            number::MAX_IDLE_TIMEOUT => (&mut self.max_idle_timeout, 0, u64::MAX),
            number::MAX_UDP_PAYLOAD_SIZE => {
                (&mut self.max_udp_payload_size, MIN_DATAGRAM, u64::MAX)
            }
            number::INITIAL_MAX_DATA => (&mut self.initial_max_data, 0, u64::MAX),
            number::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL => {
                (&mut self.initial_max_stream_data_bidi_local, 0, u64::MAX)
            }
            number::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE => {
                (&mut self.initial_max_stream_data_bidi_remote, 0, u64::MAX)
            }
            number::INITIAL_MAX_STREAM_DATA_UNI => {
                (&mut self.initial_max_stream_data_uni, 0, u64::MAX)
            }
            number::INITIAL_MAX_STREAMS_BIDI => {
                (&mut self.initial_max_streams_bidi, 0, MAX_STREAMS)
            }
            number::INITIAL_MAX_STREAMS_UNI => (&mut self.initial_max_streams_uni, 0, MAX_STREAMS),
            number::ACK_DELAY_EXPONENT => (&mut self.ack_delay_exponent, 0, MAX_ACK_DELAY_EXPONENT),
            number::MAX_ACK_DELAY => (&mut self.max_ack_delay, 0, ACK_DELAY_END - 1),
            number::ACTIVE_CONNECTION_ID_LIMIT => {
                (&mut self.active_connection_id_limit, MIN_IDS, u64::MAX)
            }
            number::MAX_DATAGRAM_FRAME_SIZE => (&mut self.max_datagram_frame_size, 0, u64::MAX),
            number::MIN_ACK_DELAY => (self.min_ack_delay.insert(0), 0, u64::MAX),
            // RFC 9000 §7.4.2.
            _ => return Ok(()),
        };
        let mut cursor = Cursor::new(WHAT, value);
        let read = cursor.varint()?;
        cursor.finish()?;
        if !(least..=most).contains(&read) {
            return Err(malformed("one is out of its range"));
        }
        *field = read;
        Ok(())
    }
}

const WHAT: &str = "the transport parameters";

fn malformed(why: &'static str) -> Error {
    Error::malformed(WHAT, why)
}

fn id(value: &[u8]) -> Result<ConnectionId> {
    ConnectionId::new(value).ok_or_else(|| malformed("a connection id is longer than 20 bytes"))
}

fn flag(value: &[u8]) -> Result<bool> {
    if value.is_empty() {
        Ok(true)
    } else {
        Err(malformed("one that must be empty has a value"))
    }
}

/// RFC 9368 §4.
fn version_information(value: &[u8], from: Side) -> Result<VersionInformation> {
    let mut cursor = Cursor::new(WHAT, value);
    let chosen = Version(cursor.u32()?);
    let available = cursor.collect(|c| c.u32().map(Version))?;
    let is_missing = from == Side::Client && !available.contains(&chosen);
    if chosen.0 == 0 || available.contains(&Version(0)) || is_missing {
        return Err(malformed("the version information contradicts itself"));
    }
    Ok(VersionInformation { chosen, available })
}

/// RFC 9000 §18.2.
fn preferred_address(value: &[u8]) -> Result<PreferredAddress> {
    let mut cursor = Cursor::new(WHAT, value);
    cursor.take(ADDRESSES)?;
    let id = id(cursor.vector8()?.rest())?;
    let reset_token = cursor.array()?;
    cursor.finish()?;
    if id.is_empty() {
        return Err(malformed(
            "the preferred address has an empty connection id",
        ));
    }
    Ok(PreferredAddress { id, reset_token })
}
