//! What an adversary sends, derived from input bytes: transport parameters and frames, mostly
//! plausible ones.

use roundtrip_quic::{Dir, StreamId};
use roundtrip_wire::quic::{Frame, MAX_VARINT, Parameters, Pen, Side, write_ack};

use super::adversary::Game;
use super::key_holder::{ONE_RTT, own_id};

/// The byte at offset `at` of a stream.
pub(crate) fn pattern(id: u64, at: u64) -> u8 {
    ((at ^ id << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Input bytes that decide what happens; zeros once they are used up.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Small numbers are as likely as large ones.
    pub(crate) fn number(&mut self) -> u64 {
        let bytes = match self.byte() {
            byte @ 0..160 => return u64::from(byte),
            160..210 => 2,
            210..245 => 3,
            245..254 => 8,
            _ => return MAX_VARINT,
        };
        let bytes = self.take(bytes).iter();
        bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte)) & MAX_VARINT
    }

    /// The peer's transport parameters.
    pub(crate) fn parameters(&mut self) -> Parameters {
        let limits = [1 << 20, 0, 5000, MAX_VARINT];
        let limit = |byte: u8| limits[usize::from(byte & 3)];
        let (bytes, other, more) = (self.byte(), self.byte(), self.byte());
        Parameters {
            initial_max_data: limit(bytes),
            initial_max_stream_data_bidi_local: limit(bytes >> 2),
            initial_max_stream_data_bidi_remote: limit(bytes >> 4),
            initial_max_stream_data_uni: limit(bytes >> 6),
            initial_max_streams_bidi: [16, 0, 1000, 1 << 60][usize::from(other & 3)],
            initial_max_streams_uni: [16, 0, 1000, 1 << 60][usize::from(other >> 2 & 3)],
            active_connection_id_limit: [2, 3, 8, MAX_VARINT][usize::from(other >> 4 & 3)],
            max_idle_timeout: [0, 1, 30_000, MAX_VARINT][usize::from(other >> 6)],
            max_udp_payload_size: [65_527, 1200, 1300, 1472][usize::from(more & 3)],
            ack_delay_exponent: [3, 0, 20, 10][usize::from(more >> 2 & 3)],
            max_ack_delay: [25, 0, 16_383, 100][usize::from(more >> 4 & 3)],
            min_ack_delay: (more & 0x40 != 0).then_some(0),
            disable_active_migration: more & 0x80 != 0,
            ..Parameters::default()
        }
    }
}

impl Game {
    /// The next frame of a packet of that level. One in sixty-four breaks a rule of its choice: if
    /// every frame did, no connection would get far.
    #[allow(clippy::too_many_lines)] // a table of frames
    pub(crate) fn write_frame(&mut self, input: &mut Input<'_>, pen: &mut Pen<'_>, level: usize) {
        let (kind, care) = (input.byte(), input.byte());
        let (first, second) = (input.number(), input.number());
        let is_careless = care >= 252;
        let which = match kind % 48 {
            _ if is_careless => kind % 48,
            0..12 if level != ONE_RTT => 12,
            17.. if level != ONE_RTT => [34, 44][usize::from(kind % 2)],
            39 | 40 if self.peer.side() == Side::Client => 44,
            which => which,
        };
        let byte = second as u8;
        let sent_to = self.stream(first, is_careless, true);
        let heard_from = self.stream(first, is_careless, false);
        let length = first as usize % 400;
        let next = self.sent.entry(sent_to).or_default();
        let near = match care {
            0..128 => *next,
            252.. => second % (1 << 22),
            _ => second % (1 << 15),
        };
        *next = (*next).max(near + length as u64);
        let data: Vec<u8> = (near..)
            .take(length)
            .map(|at| pattern(sent_to, at))
            .collect();
        let frame = match which {
            0..10 => Frame::Stream {
                id: sent_to,
                offset: near,
                data: &data,
                fin: care == 1 || is_careless && kind & 0x80 == 0,
            },
            10 => Frame::ResetStream {
                id: sent_to,
                code: 1,
                size: *next,
            },
            11 => Frame::StopSending {
                id: heard_from,
                code: first,
            },
            12..16 => {
                if let Some(number) = self.unacked[level].pop() {
                    let counts = (kind & 0x80 != 0).then_some([first, second, 0]);
                    write_ack(pen, first, [number..=number].into_iter(), counts);
                }
                return;
            }
            16 => {
                // Acknowledges everything at once, including packets that may never have been sent.
                let end = self.peer.expected[level].saturating_sub(u64::from(!is_careless));
                let from = if is_careless { first.min(end) } else { end };
                write_ack(pen, second, [from..=end].into_iter(), None);
                return;
            }
            17..20 => Frame::PathChallenge([byte; 8]),
            20..22 => match self.challenges.last() {
                Some((_, data)) => Frame::PathResponse(*data),
                None => Frame::PathResponse([byte; 8]),
            },
            22 => Frame::MaxData(second),
            23 | 24 => Frame::MaxStreamData {
                id: heard_from,
                limit: second,
            },
            25 => Frame::MaxStreams {
                bidi: first & 1 == 0,
                limit: second.min(1 << 60),
            },
            26 => Frame::DataBlocked(first),
            27 => Frame::StreamDataBlocked {
                id: sent_to,
                limit: second,
            },
            28 => Frame::StreamsBlocked {
                bidi: first & 1 == 0,
                limit: second.min(1 << 60),
            },
            29..32 => {
                self.given += 1 + u64::from(is_careless);
                let sequence = self.given;
                let kept = if is_careless { second % 8 } else { 1 };
                Frame::NewConnectionId {
                    sequence,
                    retire_prior_to: sequence.saturating_sub(kept),
                    id: own_id(sequence),
                    reset_token: [byte; 16],
                }
            }
            32 | 33 => match self.issued.pop() {
                Some(sequence) => Frame::RetireConnectionId(sequence),
                None if is_careless => Frame::RetireConnectionId(first % 8),
                None => return,
            },
            34 => Frame::Crypto {
                offset: second % (1 << 17),
                data: if is_careless { &data } else { &[] },
            },
            35 => Frame::AckFrequency {
                sequence: first,
                threshold: second % 64,
                max_delay_us: second.max(1000),
                reordering: second % 4,
            },
            36 => Frame::ImmediateAck,
            37 if is_careless => Frame::Close {
                code: first,
                frame: Some(second),
                reason: b"no",
            },
            38 if is_careless => Frame::Datagram(&data),
            39 => Frame::NewToken(if data.is_empty() { b"token" } else { &data }),
            40 => Frame::HandshakeDone,
            41..44 => Frame::Padding(1 + length),
            _ => Frame::Ping,
        };
        frame.write(pen);
    }

    /// A stream that the peer may send on, or one that the engine may send on.
    fn stream(&self, number: u64, is_careless: bool, peer_sends: bool) -> u64 {
        let (side, index) = (self.peer.side(), number / 4 % 16);
        if is_careless {
            return number % 80;
        }
        match number % 4 {
            0 => self
                .opened
                .last()
                .copied()
                .filter(|id| !peer_sends || id & 2 == 0),
            1 if peer_sends => Some(StreamId::new(side, Dir::Uni, index).0),
            _ => None,
        }
        .unwrap_or(StreamId::new(side, Dir::Bidi, index).0)
    }
}
