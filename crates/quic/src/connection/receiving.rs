//! Receives datagrams: splits them into packets, opens these, and acts on what an authentic packet
//! proves.

use std::net::IpAddr;

use roundtrip_wire::quic::{Ack, Frame, Frames, PacketKind, Side, has_long_type};

use super::closing::ClosingState;
use super::frame_owners::FrameOwners;
use super::splitter::{DatagramPart, PacketLayout, Splitter};
use super::{Connection, opening};
use crate::crypto::{Level, OpenError};
use crate::error::{CloseReason, TransportError};
use crate::log::DropReason;
use crate::recovery::{AckContext, Feedback, Recovery};
use crate::space::Space;
use crate::{Code, Event, RecvMeta, Time};

const SPIN: u8 = 0x20;

/// The datagram that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram<'a> {
    pub(super) now: Time,
    pub(super) way: &'a RecvMeta,
}

/// The facts about a packet's contents that later decisions need.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketTraits {
    eliciting: bool,
    /// The packet contains nothing that moves the connection to another path. RFC 9000 §9.1.
    probing: bool,
}

impl Connection {
    /// Handles all packets of one datagram, which is opened in place.
    pub(crate) fn receive(&mut self, now: Time, way: &RecvMeta, datagram: &mut [u8]) {
        self.clock = now;
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += datagram.len() as u64;
        let is_active = self.paths.is_active(way);
        match self.closing.state() {
            ClosingState::Open => {}
            ClosingState::Closing if is_active => {
                self.paths.on_received(way.remote, datagram.len());
                return self.closing.on_packet();
            }
            ClosingState::Closing | ClosingState::Draining | ClosingState::Drained => return,
        }
        // Servers do not move, and clients do not before the handshake is confirmed. RFC 9000 §9.
        let may_move = self.handshake.side() == Side::Server && self.handshake.is_confirmed();
        if !is_active && !may_move {
            return;
        }
        if is_active && !self.paths.is_validated() {
            self.paths.on_received(way.remote, datagram.len());
            self.recovery.set_blocked(false);
        }
        let opened = self.stats.packets_received;
        self.streams.set_clock(now);
        self.read_packets(&Datagram { now, way }, datagram);
        // A packet that cannot be opened may come from anyone.
        if !is_active && self.stats.packets_received > opened {
            self.paths.on_received(way.remote, datagram.len());
        }
        if !self.undecryptable.is_empty() {
            self.open_undecryptable(now);
        }
        self.look_for_gap();
    }

    /// Counts the datagrams since the peer's data has had a gap.
    fn look_for_gap(&mut self) {
        let in_handshake = !self.handshake.is_confirmed()
            && (self.crypto.has_gap() || !self.undecryptable.is_empty());
        let has_gap = in_handshake || self.streams.has_gap();
        self.stats.behind_gap = if has_gap {
            self.stats.behind_gap + 1
        } else {
            0
        };
    }

    fn read_packets(&mut self, context: &Datagram<'_>, datagram: &mut [u8]) {
        let id_length = self.local_ids.first().len();
        let (side, version) = (self.handshake.side(), self.handshake.version());
        let mut splitter = Splitter::new(side, version, id_length);
        while self.closing.is_open()
            && let Some(part) = splitter.next(datagram)
        {
            match part {
                DatagramPart::Packet(layout) => {
                    let end = layout.start + layout.length;
                    if let Some(packet) = datagram.get_mut(layout.start..end) {
                        self.on_packet(context, layout, packet);
                    }
                }
                DatagramPart::Retry(retry) => self.on_retry(&retry),
                DatagramPart::VersionNegotiation {
                    destination,
                    source,
                    versions,
                } => self.on_version_negotiation(destination, source, versions),
            }
        }
    }

    fn on_packet(&mut self, context: &Datagram<'_>, place: PacketLayout, packet: &mut [u8]) {
        let now = context.now;
        let level = place.level;
        let space = level.space().index();
        if !self.crypto.can_open(level) {
            return self.keep(context.way, place, packet);
        }
        if !self.handshake.accepts(place.source) {
            return;
        }
        let first = packet.first().copied().unwrap_or_default();
        // An attempt to open a packet destroys it if it fails.
        let tail = packet.last_chunk().copied();
        let expected = self.received[space].expected();
        let opened = match self
            .crypto
            .open(level, packet, place.number_at, expected, now)
        {
            Ok(opened) => opened,
            Err(OpenError::Undecryptable) => {
                self.stats.undecryptable += 1;
                if level == Level::OneRtt
                    && tail.is_some_and(|tail| self.remote_ids.is_reset_token(&tail))
                {
                    self.on_reset(now);
                } else {
                    self.log
                        .on_dropped(self.clock, level, packet.len(), DropReason::Undecryptable);
                }
                return;
            }
            Err(OpenError::NoKeys) => return self.keep(context.way, place, packet),
            Err(OpenError::Transport(error)) => return self.fail(&error),
        };
        self.stats.packets_received += 1;
        if !self.received[space].is_new(opened.number) {
            self.stats.duplicates += 1;
            return;
        }
        self.on_opened(now, level, &place);
        let is_newest = opened.number >= expected;
        if is_newest && level == Level::OneRtt {
            self.spin
                .on_received(self.handshake.side(), first & SPIN != 0);
        }
        let Some(payload) = packet.get(opened.payload) else {
            return;
        };
        if self.log.is_on() {
            let header = packet.get(..place.number_at).unwrap_or_default();
            self.log.on_received(
                self.clock,
                level,
                opened.number,
                header,
                payload,
                packet.len(),
            );
        }
        match self.on_payload(context, level, payload) {
            Ok(seen) => {
                let ecn = context.way.ecn;
                self.received[space].on_packet(now, opened.number, seen.eliciting, ecn);
                if is_newest && !seen.probing && !self.paths.is_active(context.way) {
                    let destination = packet.get(1..place.number_at);
                    self.on_moved(context, destination.unwrap_or_default());
                }
            }
            Err(error) => self.fail(&error),
        }
    }

    /// The newest packet, which was addressed to our id `destination`, came from elsewhere. RFC
    /// 9000 §9.3.
    fn on_moved(&mut self, datagram: &Datagram<'_>, destination: &[u8]) {
        let Datagram { now, way } = *datagram;
        let left = self.paths.remote();
        let Some(moved) = self.paths.on_moved(now, way, self.recovery.pto()) else {
            return;
        };
        // A peer that moves on purpose takes another id, and must not be recognized by ours. RFC
        // 9000 §9.5.
        let took_another = self.local_ids.switch_to(destination);
        let must_differ = moved.left.is_some() || took_another;
        self.remote_ids.move_to(left, way.remote, must_differ);
        // A NAT that changes only the port changes nothing else about the path. RFC 9000 §9.4.
        if moved.left.is_some() {
            self.begin_on_path(moved.left);
        }
        self.stats.migrations += 1;
        if moved.is_return {
            self.remote_ids.settle();
            self.events.push(Event::PathChanged(way.remote));
        }
    }

    /// Begins to use the new path. Nothing is known about it, unless it leads to the address used
    /// before `left`. RFC 9000 §9.4.
    pub(super) fn begin_on_path(&mut self, left: Option<IpAddr>) {
        let remote = self.paths.remote().ip();
        self.recovery
            .on_new_path(&self.config, self.clock, left, remote);
    }

    /// Side effects of a packet that decrypts: the peer has the keys.
    fn on_opened(&mut self, now: Time, level: Level, place: &PacketLayout) {
        self.idle.on_received(now);
        if self.handshake.is_confirmed() {
            return;
        }
        if let Some(source) = self.handshake.on_source(place.source) {
            self.remote_ids.set_first(source);
        }
        if level == Level::Handshake && self.handshake.side() == Side::Server {
            self.on_address_validated();
            if self.crypto.has(Level::Initial) {
                self.discard(Space::Initial);
            }
        }
    }

    /// Keeps a packet whose keys are not known yet.
    fn keep(&mut self, way: &RecvMeta, place: PacketLayout, packet: &[u8]) {
        let PacketLayout {
            level, number_at, ..
        } = place;
        let is_kept =
            self.crypto.awaits(level) && self.undecryptable.keep(level, way, number_at, packet);
        if !is_kept {
            self.stats.undecryptable += 1;
            self.log
                .on_dropped(self.clock, level, packet.len(), DropReason::NoKeys);
        }
    }

    /// Decrypts packets that arrived before their keys, if the keys are known now.
    pub(super) fn open_undecryptable(&mut self, now: Time) {
        let crypto = &self.crypto;
        for mut kept in self.undecryptable.take_if(|level| crypto.can_open(level)) {
            let place = PacketLayout {
                level: kept.level,
                start: 0,
                number_at: kept.number_at,
                length: kept.bytes.len(),
                source: None,
            };
            let context = Datagram {
                now,
                way: &kept.way,
            };
            if self.closing.is_open() {
                self.on_packet(&context, place, &mut kept.bytes);
            }
        }
    }

    /// Stateless reset. RFC 9000 §10.3.1.
    pub(crate) fn on_reset(&mut self, now: Time) {
        self.clock = now;
        self.drain(CloseReason::Reset);
    }

    /// Whether the datagram ends in a token that the peer gave for a stateless reset. RFC 9000
    /// §10.3.1.
    pub(crate) fn is_reset(&self, datagram: &[u8]) -> bool {
        datagram
            .last_chunk()
            .is_some_and(|token| self.remote_ids.is_reset_token(token))
    }

    pub(super) fn on_payload(
        &mut self,
        datagram: &Datagram<'_>,
        level: Level,
        payload: &[u8],
    ) -> Result<PacketTraits, TransportError> {
        if payload.is_empty() {
            return Err(broken("a packet holds no frame"));
        }
        let kind = level.kind();
        let mut seen = PacketTraits {
            eliciting: false,
            probing: true,
        };
        // A client that closes at once costs no handshake.
        if level == Level::Initial
            && self.is_unvalidated()
            && let Some(close) = closing_frame(payload)
        {
            self.on_frame(datagram, level, &close)?;
            return Ok(seen);
        }
        for frame in Frames::new(payload) {
            let Ok(frame) = frame else {
                return Err(unreadable(payload));
            };
            seen.eliciting |= frame.is_ack_eliciting();
            seen.probing &= frame.is_probing();
            // The hot path.
            if let Frame::Stream {
                id,
                offset,
                data,
                fin,
            } = frame
                && kind == PacketKind::OneRtt
            {
                self.streams.on_stream(id, offset, data, fin)?;
                continue;
            }
            if !frame.is_allowed(kind) {
                return Err(in_frame(
                    &frame,
                    broken("a packet of this kind may not hold such a frame"),
                ));
            }
            self.on_frame(datagram, level, &frame)
                .map_err(|error| in_frame(&frame, error))?;
            if !self.closing.is_open() {
                break;
            }
        }
        Ok(seen)
    }

    /// Passes a frame to its owner, and carries out its effects on the others.
    fn on_frame(
        &mut self,
        datagram: &Datagram<'_>,
        level: Level,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        let Datagram { now, way } = *datagram;
        match *frame {
            Frame::Padding(_) | Frame::Ping => {}
            Frame::Ack(ref ack) => self.on_ack(now, level, ack)?,
            Frame::Crypto { offset, data } => {
                self.crypto.receive(level, offset, data)?;
                self.on_handshake_bytes(now)?;
            }
            Frame::Close {
                code,
                frame,
                reason,
            } => self.drain(CloseReason::by_peer(code, frame.is_none(), reason)),
            Frame::HandshakeDone => {
                self.handshake
                    .expect_client("HANDSHAKE_DONE came from a client")?;
                self.confirm();
            }
            Frame::NewToken(token) => {
                let token = self.handshake.on_new_token(token)?;
                self.events.push(Event::NewToken(token));
            }
            Frame::PathResponse(data) => {
                if self.paths.on_response(now, data, self.recovery.pto()) {
                    self.recovery.set_blocked(false);
                    self.remote_ids.settle();
                    self.events.push(Event::PathChanged(self.paths.remote()));
                }
            }
            Frame::Datagram(_) => {
                return Err(broken("a DATAGRAM frame came, but was not negotiated"));
            }
            _ => {
                let side = self.handshake.side();
                let min_delay = opening::min_ack_delay(&self.config);
                FrameOwners::new(self).on_frame(way, side, min_delay, frame)?;
            }
        }
        Ok(())
    }

    fn on_ack(&mut self, now: Time, level: Level, ack: &Ack<'_>) -> Result<(), TransportError> {
        self.stats.acks_received += 1;
        let space = level.space();
        let context = AckContext {
            now,
            space,
            delay: self.handshake.ack_delay(space, ack.delay),
            progress: self.progress(),
        };
        let newest = self.settle(|recovery, feedback| {
            let result = recovery.on_ack(&context, ack, feedback);
            result.map(|()| feedback.newest)
        })?;
        if space == Space::Data {
            FrameOwners::new(self).on_acknowledgement(now, newest);
        }
        if level != Level::Initial {
            self.handshake.on_peer_validated();
        }
        Ok(())
    }

    /// Lets recovery settle packets, and informs the owners of their contents.
    pub(super) fn settle<T>(
        &mut self,
        settle: impl FnOnce(&mut Recovery, &mut Feedback) -> T,
    ) -> T {
        let mut feedback = std::mem::take(&mut self.feedback);
        let outcome = settle(&mut self.recovery, &mut feedback);
        FrameOwners::new(self).on_settled(&feedback);
        self.log.on_settled(self.clock, &self.recovery, &feedback);
        feedback.clear();
        self.feedback = feedback;
        outcome
    }
}

/// The CONNECTION_CLOSE among the frames of an Initial packet.
fn closing_frame(payload: &[u8]) -> Option<Frame<'_>> {
    let mut frames = Frames::new(payload).map_while(Result::ok);
    frames
        .find(|frame| matches!(frame, Frame::Close { .. }) && frame.is_allowed(PacketKind::Initial))
}

/// What is wrong with the first frame that cannot be parsed. RFC 9000 §12.4.
#[cold]
fn unreadable(payload: &[u8]) -> TransportError {
    let mut frames = Frames::new(payload);
    let mut frame = payload;
    while let Some(Ok(_)) = frames.next() {
        frame = frames.rest();
    }
    if has_long_type(frame) {
        return broken("the type of a frame is encoded longer than necessary");
    }
    TransportError::new(Code::FRAME_ENCODING_ERROR, "a frame cannot be read")
}

fn broken(why: &'static str) -> TransportError {
    TransportError::new(Code::PROTOCOL_VIOLATION, why)
}

fn in_frame(frame: &Frame<'_>, error: TransportError) -> TransportError {
    if error.frame == 0 {
        return TransportError {
            frame: frame.kind(),
            ..error
        };
    }
    error
}
