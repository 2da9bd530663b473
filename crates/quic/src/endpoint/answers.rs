//! Answers that belong to no connection: version negotiation, Retry, refusal, stateless reset. Few
//! wait at a time; those that cost work or could be used against others are rate-limited.

use std::collections::VecDeque;
use std::net::SocketAddr;

use roundtrip_wire::quic::{
    ConnectionId, Frame, LongKind, LongPacket, Pen, Side, Version, set_length, write_long,
    write_retry, write_version_negotiation,
};

use crate::connection::{Random, VERSIONS};
use crate::crypto::{InitialKeys, TAG};
use crate::{Code, RecvMeta, Time, Transmit};

/// No answer is added when this many wait.
const MAX_WAITING: usize = 256;
/// How many resets and refusals may leave at once, and in each second.
const RATION: u64 = 1000;
const REFILL_NANOS: u64 = 1_000_000_000 / RATION;
/// RFC 9000 §10.3: a reset looks like the smallest 1-RTT packet that a peer may send, or a little
/// longer.
const MIN_RESET: usize = 21;
const MAX_RESET: usize = 43;
const TOKEN: usize = 16;
const FIXED: u8 = 0x40;

#[derive(Debug)]
pub(super) struct Answers {
    waiting: VecDeque<(RecvMeta, Vec<u8>)>,
    random: Random,
    /// When the whole ration is available again.
    spent_until: Time,
    retries: u64,
    /// The client to which the last Retry was sent: the other packets of its flight do not count as
    /// another client.
    retried: Option<(SocketAddr, ConnectionId)>,
}

impl Answers {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            waiting: VecDeque::new(),
            random: Random::new(&seed),
            spent_until: Time::ZERO,
            retries: 0,
            retried: None,
        }
    }

    pub(super) fn take(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (way, datagram) = self.waiting.pop_front()?;
        buffer.clear();
        buffer.extend_from_slice(&datagram);
        Some(Transmit {
            to: way.remote,
            from: way.local,
            ecn: 0,
            segment: datagram.len(),
            length: datagram.len(),
        })
    }

    /// RFC 9000 §6.1; `dst` and `src` are those of the packet that it answers.
    pub(super) fn negotiate_version(&mut self, way: &RecvMeta, dst: &[u8], src: &[u8]) {
        let [random, grease, ..] = self.random.bytes();
        // A version that does not exist, so that clients keep ignoring versions that they do not
        // know. RFC 9000 §6.3.
        let grease = u32::from(grease) << 24 & 0xf0f0_f0f0 | 0x0a0a_0a0a;
        let versions = [VERSIONS[0], VERSIONS[1], Version(grease)];
        let datagram = write_version_negotiation(src, dst, &versions, random);
        self.push(way, datagram);
    }

    /// RFC 9000 §8.1.2.
    pub(super) fn retry(
        &mut self,
        way: &RecvMeta,
        packet: &LongPacket<'_>,
        source: &ConnectionId,
        token: &[u8],
    ) {
        let (client, original) = (&packet.source, &packet.destination);
        if let Ok(datagram) = write_retry(packet.version, client, source, original, token) {
            self.push(way, datagram);
            let client = Some((way.remote, *original));
            self.retries += u64::from(self.retried != client);
            self.retried = client;
        }
    }

    /// How many clients were sent a Retry.
    pub(super) fn retries(&self) -> u64 {
        self.retries
    }

    /// Refuses a client with an Initial packet that closes. RFC 9000 §5.2.2.
    pub(super) fn refuse(
        &mut self,
        now: Time,
        way: &RecvMeta,
        packet: &LongPacket<'_>,
        code: Code,
    ) {
        if self.spend(now)
            && let Some(datagram) = close(packet, code)
        {
            self.push(way, datagram);
        }
    }

    /// Repeats the closing datagram of an ended connection to its client. RFC 9000 §10.2.1.
    pub(super) fn repeat(&mut self, now: Time, way: &RecvMeta, farewell: &[u8]) {
        if !farewell.is_empty() && self.spend(now) {
            self.push(way, farewell.to_vec());
        }
    }

    /// Sends a stateless reset, smaller than the datagram that it answers, so that two endpoints do
    /// not answer each other forever. RFC 9000 §10.3.3.
    pub(super) fn reset(&mut self, now: Time, way: &RecvMeta, answered: usize, token: [u8; TOKEN]) {
        let length = answered.saturating_sub(1).min(MAX_RESET);
        if length < MIN_RESET || !self.spend(now) {
            return;
        }
        let mut datagram = Vec::with_capacity(length);
        while datagram.len() < length - TOKEN {
            datagram.extend(self.random.bytes());
        }
        datagram.truncate(length - TOKEN);
        if let Some(first) = datagram.first_mut() {
            *first = *first & 0x3f | FIXED;
        }
        datagram.extend(token);
        self.push(way, datagram);
    }

    fn push(&mut self, way: &RecvMeta, datagram: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((*way, datagram));
        }
    }

    fn spend(&mut self, now: Time) -> bool {
        let full_at = self.spent_until.max(now).0 + REFILL_NANOS;
        let is_left = full_at <= now.0.saturating_add(RATION * REFILL_NANOS);
        if is_left {
            self.spent_until = Time(full_at);
        }
        is_left
    }
}

/// Our id is made up: the client does not need it any more.
fn close(packet: &LongPacket<'_>, code: Code) -> Option<Vec<u8>> {
    let mut keys = InitialKeys::new(&packet.destination, packet.version, Side::Server)?;
    let mut datagram = vec![0; 100];
    let mut pen = Pen::new(&mut datagram);
    let (client, own) = (&packet.source, &packet.destination);
    let kind = LongKind::Initial;
    let at = write_long(&mut pen, kind, packet.version, client, own, &[], 0, 1)?;
    let frame = Frame::Close {
        code: code.0,
        frame: Some(0),
        reason: &[],
    };
    let is_written = frame.write(&mut pen) && pen.zeros(4);
    let length = pen.position() + TAG;
    datagram.truncate(length);
    datagram.resize(length, 0);
    let is_sealed = is_written
        && set_length(&mut datagram, at.length_at, length - at.number_at)
        && keys.seal(0, &mut datagram, at.number_at, 1).is_ok();
    is_sealed.then_some(datagram)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way() -> RecvMeta {
        RecvMeta {
            remote: "192.0.2.1:9".parse().unwrap(),
            local: None,
            ecn: 0,
        }
    }

    #[test]
    fn resets_are_smaller_than_what_they_answer() {
        let mut answers = Answers::new([3; 32]);
        let mut buffer = Vec::new();
        for answered in 0..200 {
            answers.reset(Time(1), &way(), answered, [9; TOKEN]);
            let sent = answers.take(&mut buffer);
            assert_eq!(sent.is_some(), answered > MIN_RESET, "{answered}");
            if let Some(sent) = sent {
                assert!(buffer.len() < answered && buffer.len() >= MIN_RESET);
                assert_eq!((sent.length, buffer[0] & 0xc0), (buffer.len(), FIXED));
                assert!(buffer.ends_with(&[9; TOKEN]));
            }
        }
    }

    #[test]
    fn resets_are_rationed_and_few_answers_wait() {
        let mut answers = Answers::new([3; 32]);
        let mut buffer = Vec::new();
        let mut count = |answers: &mut Answers, now| {
            let mut given = 0;
            for _ in 0..2 * RATION {
                answers.reset(now, &way(), 100, [0; TOKEN]);
                given += u64::from(answers.take(&mut buffer).is_some());
            }
            given
        };
        assert_eq!(count(&mut answers, Time(5)), RATION);
        assert_eq!(count(&mut answers, Time(5 + 100 * REFILL_NANOS)), 100);
        assert_eq!(count(&mut answers, Time(u64::MAX / 2)), RATION);
        for _ in 0..2 * MAX_WAITING {
            answers.negotiate_version(&way(), b"a", b"b");
        }
        assert_eq!(answers.waiting.len(), MAX_WAITING);
    }
}
