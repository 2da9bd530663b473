//! What an adversary sees of the engine, and the conditions that must hold whatever it does.

use std::net::SocketAddr;

use bytes::Bytes;
use roundtrip_quic::{Dir, Handle, Read, StreamId};
use roundtrip_wire::quic::{Frame, Frames};

use super::adversary::Game;
use super::adversary_frames::{Input, pattern};

/// Windows in both directions, rings whose length is a power of two, reserves, and bookkeeping.
const MAX_MEMORY: u64 = 6 << 20;
/// The largest number of bursts of one connection at one time.
const MAX_BURSTS: usize = 4000;

impl Game {
    /// The engine sends what it has, and the peer checks it.
    pub(crate) fn act(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let now = self.now;
        let handles: Vec<Handle> = self.endpoint.handles().collect();
        for handle in handles {
            let mut bursts = 0;
            let Some(connection) = self.endpoint.connection(handle) else {
                continue;
            };
            while connection.poll().is_some() {}
            let mut left = Vec::new();
            while let Some(sent) = connection.transmit(now, &mut buffer) {
                assert!(sent.length > 0 && sent.length <= buffer.len() && sent.segment > 0);
                let datagrams = buffer[..sent.length].chunks(sent.segment);
                left.extend(datagrams.map(|datagram| (sent.to, datagram.to_vec())));
                bursts += 1;
                assert!(bursts < MAX_BURSTS, "it sends without an end");
            }
            let memory = connection.memory();
            assert!(memory <= MAX_MEMORY, "{memory} bytes");
            for (to, datagram) in left {
                self.look_at(to, &datagram);
            }
        }
        let mut reply = Vec::new();
        while let Some(sent) = self.endpoint.reply(&mut reply) {
            self.look_at(sent.to, &reply.clone());
        }
        self.buffer = buffer;
    }

    fn look_at(&mut self, to: SocketAddr, datagram: &[u8]) {
        if !self.proved.contains(&to) {
            let [came, went] = self.traffic.entry(to).or_default();
            *went += datagram.len() as u64;
            assert!(*went <= 3 * *came, "{to} got {went} bytes for {came}");
        }
        let had_token = self.peer.has_token();
        let opened = self.peer.open(datagram);
        if self.peer.has_token() && !had_token {
            self.proved.insert(to);
        }
        for packet in opened {
            let mut elicits = false;
            for frame in Frames::new(&packet.payload) {
                let frame = frame.unwrap();
                elicits |= frame.is_ack_eliciting();
                self.on_frame(packet.level, to, &frame);
            }
            if elicits && self.unacked[packet.level].len() < 4000 {
                self.unacked[packet.level].push(packet.number);
            }
        }
    }

    fn on_frame(&mut self, level: usize, to: SocketAddr, frame: &Frame<'_>) {
        match *frame {
            Frame::Ack(ref ack) => assert!(ack.largest < self.peer.numbers[level]),
            Frame::PathChallenge(data) => self.challenges.push((to, data)),
            Frame::NewConnectionId { sequence, .. } => self.issued.push(sequence),
            Frame::Stream {
                id, offset, data, ..
            } => {
                let end = offset + data.len() as u64;
                assert!(
                    end <= *self.written.get(&id).unwrap_or(&0),
                    "stream {id} to {end}"
                );
                assert!(
                    (offset..)
                        .zip(data)
                        .all(|(at, byte)| *byte == pattern(id, at))
                );
                assert!(end <= self.permitted(id), "stream {id} to {end}");
                if StreamId(id).is_opened_by(self.side) && !self.offsets.contains_key(&id) {
                    self.opened.push(id);
                }
                let seen = self.offsets.entry(id).or_default();
                *seen = end.max(*seen);
                assert!(self.offsets.values().sum::<u64>() <= self.max_data);
            }
            _ => {}
        }
    }

    fn permitted(&self, id: u64) -> u64 {
        let id = StreamId(id);
        let first = match (id.dir(), id.is_opened_by(self.side)) {
            (Dir::Uni, _) => self.parameters.initial_max_stream_data_uni,
            (Dir::Bidi, true) => self.parameters.initial_max_stream_data_bidi_remote,
            (Dir::Bidi, false) => self.parameters.initial_max_stream_data_bidi_local,
        };
        self.max_stream_data
            .get(&id.0)
            .copied()
            .unwrap_or(0)
            .max(first)
    }

    /// The application's calls, and the checks of what it gets.
    pub(crate) fn use_streams(&mut self, input: &mut Input<'_>) {
        let (what, which, much) = (input.byte(), usize::from(input.byte()), input.number());
        let Some(handle) = self.handle else { return };
        let Some(connection) = self.endpoint.connection(handle) else {
            return;
        };
        for dir in [Dir::Bidi, Dir::Uni] {
            while let Some(id) = connection.accept(dir) {
                self.streams.push(id);
            }
        }
        if what & 0xf0 == 0 {
            self.streams
                .extend(connection.open(if what & 1 == 0 { Dir::Bidi } else { Dir::Uni }));
        }
        let Some(at) = which.checked_rem(self.streams.len()) else {
            return;
        };
        let id = self.streams[at];
        let much = (much % 100_000) as usize;
        match what % 16 {
            0..5 => {
                let mut into = vec![0; much + 1];
                let taken = self.taken.entry(id).or_default();
                while let Ok(Read::Bytes(count)) = connection.read(id, &mut into) {
                    for (at, byte) in (*taken..).zip(&into[..count]) {
                        assert!(
                            self.is_spoilt || *byte == pattern(id.0, at),
                            "{id:?} at {at}"
                        );
                    }
                    *taken += count as u64;
                }
            }
            5..9 => {
                let written = self.written.entry(id.0).or_default();
                let data: Bytes = (*written..)
                    .take(much)
                    .map(|at| pattern(id.0, at))
                    .collect();
                *written += connection.write(id, data).unwrap_or(0) as u64;
            }
            9 => drop(connection.finish(id)),
            10 => drop(connection.reset(id, 3)),
            11 => drop(connection.stop(id, 4)),
            _ => {}
        }
    }
}
