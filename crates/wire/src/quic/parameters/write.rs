//! Writes transport parameters. RFC 9000 §18.

use super::{Parameters, number};
use crate::quic::pen::{MAX_VARINT, Pen, varint_size};

impl Parameters {
    /// Writes all parameters that differ from their defaults.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_integers(out);
        let ids = [
            (
                number::ORIGINAL_DESTINATION_CONNECTION_ID,
                &self.original_destination_connection_id,
            ),
            (
                number::INITIAL_SOURCE_CONNECTION_ID,
                &self.initial_source_connection_id,
            ),
            (
                number::RETRY_SOURCE_CONNECTION_ID,
                &self.retry_source_connection_id,
            ),
        ];
        for (number, id) in ids {
            if let Some(id) = id {
                write_one(out, number, id.as_slice());
            }
        }
        if let Some(token) = &self.stateless_reset_token {
            write_one(out, number::STATELESS_RESET_TOKEN, token);
        }
        if let Some(information) = &self.version_information {
            let all = std::iter::once(&information.chosen).chain(&information.available);
            let bytes: Vec<u8> = all.flat_map(|version| version.0.to_be_bytes()).collect();
            write_one(out, number::VERSION_INFORMATION, &bytes);
        }
        let flags = [
            (
                number::DISABLE_ACTIVE_MIGRATION,
                self.disable_active_migration,
            ),
            (number::GREASE_QUIC_BIT, self.grease_quic_bit),
        ];
        for (number, is_set) in flags {
            if is_set {
                write_one(out, number, &[]);
            }
        }
    }

    /// Writes a parameter without a meaning, so that peers keep skipping unknown ones. RFC 9000
    /// §18.1.
    pub fn write_grease(out: &mut Vec<u8>, random: u64, value: &[u8]) {
        write_one(out, 31 * (random % (1 << 24)) + 27, value);
    }

    fn write_integers(&self, out: &mut Vec<u8>) {
        let unsaid = Self::default();
        let integers = |p: &Self| {
            [
                (number::MAX_IDLE_TIMEOUT, p.max_idle_timeout),
                (number::MAX_UDP_PAYLOAD_SIZE, p.max_udp_payload_size),
                (number::INITIAL_MAX_DATA, p.initial_max_data),
                (
                    number::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL,
                    p.initial_max_stream_data_bidi_local,
                ),
                (
                    number::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE,
                    p.initial_max_stream_data_bidi_remote,
                ),
                (
                    number::INITIAL_MAX_STREAM_DATA_UNI,
                    p.initial_max_stream_data_uni,
                ),
                (number::INITIAL_MAX_STREAMS_BIDI, p.initial_max_streams_bidi),
                (number::INITIAL_MAX_STREAMS_UNI, p.initial_max_streams_uni),
                (number::ACK_DELAY_EXPONENT, p.ack_delay_exponent),
                (number::MAX_ACK_DELAY, p.max_ack_delay),
                (
                    number::ACTIVE_CONNECTION_ID_LIMIT,
                    p.active_connection_id_limit,
                ),
                (number::MAX_DATAGRAM_FRAME_SIZE, p.max_datagram_frame_size),
            ]
        };
        for ((number, value), (_, unsaid)) in integers(self).into_iter().zip(integers(&unsaid)) {
            if value != unsaid {
                write_integer(out, number, value);
            }
        }
        if let Some(least) = self.min_ack_delay {
            write_integer(out, number::MIN_ACK_DELAY, least);
        }
    }
}

fn write_integer(out: &mut Vec<u8>, number: u64, value: u64) {
    let mut buffer = [0; 8];
    let mut pen = Pen::new(&mut buffer);
    pen.varint(value.min(MAX_VARINT));
    write_one(out, number, pen.written());
}

fn write_one(out: &mut Vec<u8>, number: u64, value: &[u8]) {
    for head in [number, value.len() as u64] {
        let start = out.len();
        out.resize(start + varint_size(head), 0);
        if let Some(place) = out.get_mut(start..) {
            Pen::new(place).varint(head);
        }
    }
    out.extend_from_slice(value);
}
