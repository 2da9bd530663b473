//! Datagrams that probe a path: whether the peer is there, and how large they may be.

use roundtrip_wire::quic::{Frame, Pen, write_short};

use super::{PacketWriter, put_number};
use crate::Transmit;
use crate::connection::paths::Target;
use crate::crypto::{Level, TAG};
use crate::sent::SentFrame;
use crate::space::Space;

impl PacketWriter<'_> {
    /// Sends PATH_RESPONSE or PATH_CHALLENGE, each in a separate datagram. RFC 9000 §8.2.
    pub(super) fn write_challenge(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.owners.crypto.has(Level::OneRtt) || !self.owners.recovery.may_probe_path() {
            return None;
        }
        if let Some((target, data)) = self.owners.paths.poll_response() {
            let frame = Frame::PathResponse(data);
            return self.write_alone(&frame, SentFrame::PathResponse, &target, buffer);
        }
        let (target, data) = self.owners.paths.poll_challenge()?;
        let frame = Frame::PathChallenge(data);
        self.write_alone(&frame, SentFrame::PathChallenge(data), &target, buffer)
    }

    /// Sends a PING of the size that datagrams may grow to. RFC 8899 §4.
    pub(super) fn write_mtu_probe(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.handshake.is_confirmed() || !self.owners.paths.is_validated() {
            return None;
        }
        let probe = self.owners.recovery.mtu_probe(self.now, buffer.len())?;
        let target = self.owners.paths.target(usize::from(probe));
        let item = SentFrame::MtuProbe(probe);
        let transmit = self.write_alone(&Frame::Ping, item, &target, buffer)?;
        self.owners.recovery.on_mtu_probe_sent(probe);
        Some(transmit)
    }

    /// Writes one 1-RTT packet with one frame, recorded as `item`, padded to its target's size.
    fn write_alone(
        &mut self,
        frame: &Frame<'_>,
        item: SentFrame,
        target: &Target,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let next = self.owners.recovery.upcoming(Space::Data);
        let number_length = self.owners.recovery.number_length(Space::Data, 2);
        let room = target.size.min(buffer.len());
        let mut pen = Pen::new(buffer.get_mut(..room.checked_sub(TAG)?)?);
        let destination = if target.remote == self.owners.paths.remote() {
            *self.owners.remote_ids.current()
        } else {
            self.owners.remote_ids.id_for(target.remote)
        };
        let (spin, phase) = (self.spin.bit(), self.owners.crypto.key_phase());
        let number_at = write_short(&mut pen, &destination, spin, phase, next, number_length)?;
        if !frame.write(&mut pen) {
            return None;
        }
        let rest = pen.room();
        pen.zeros(rest);
        let number = self.owners.recovery.next_number(Space::Data);
        let packet = buffer.get_mut(..room)?;
        put_number(
            packet.get_mut(..number_at + number_length)?,
            number,
            number_at,
        );
        self.seal(Level::OneRtt, number, packet, number_at, number_length)?;
        self.owners.items.push(item);
        self.owners.recovery.on_sent(
            Space::Data,
            number,
            room as u16,
            None,
            self.owners.items,
            true,
        );
        self.count_sent(1, 1, room, true);
        self.owners.paths.on_sent_to(target.remote, room);
        Some(Transmit {
            to: target.remote,
            from: target.local,
            ecn: self.mark(),
            segment: room,
            length: room,
        })
    }

    /// Makes a 1-RTT packet with an arbitrary payload, and records it.
    #[cfg(test)]
    pub(in crate::connection) fn seal_alone(mut self, payload: &[u8]) -> Vec<u8> {
        let number = self.owners.recovery.next_number(Space::Data);
        let mut packet = vec![0; 1500];
        let mut pen = Pen::new(&mut packet);
        let header = self.write_header(Level::OneRtt, &mut pen, number, 4);
        let (_, number_at) = header.unwrap();
        let at = number_at + 4;
        packet.truncate(at + payload.len() + TAG);
        packet[at..at + payload.len()].copy_from_slice(payload);
        let sealed = self.seal(Level::OneRtt, number, &mut packet, number_at, 4);
        sealed.unwrap();
        let items = &mut Vec::new();
        self.owners
            .recovery
            .on_sent(Space::Data, number, 0, None, items, true);
        packet
    }
}
