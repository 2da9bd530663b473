//! Datagrams that probe a path: whether the peer is there, and how large they may be.

use roundtrip_wire::quic::{Frame, Pen};

use super::Connection;
use super::paths::Target;
use super::sending::put_number;
use crate::crypto::{Level, TAG};
use crate::sent::Item;
use crate::space::Space;
use crate::{Time, Transmit};

impl Connection {
    /// Sends PATH_RESPONSE or PATH_CHALLENGE, each in a separate datagram. RFC 9000 §8.2.
    pub(super) fn transmit_challenge(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.crypto.has(Level::OneRtt) {
            return None;
        }
        if let Some((target, data)) = self.paths.poll_response() {
            let frame = Frame::PathResponse(data);
            return self.transmit_alone(now, &frame, Item::PathResponse, &target, buffer);
        }
        let (target, data) = self.paths.poll_challenge()?;
        let frame = Frame::PathChallenge(data);
        self.transmit_alone(now, &frame, Item::PathChallenge(data), &target, buffer)
    }

    /// Sends a PING of the size that datagrams may grow to. RFC 8899 §4.
    pub(super) fn transmit_mtu_probe(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.handshake.is_confirmed() || !self.paths.is_validated() {
            return None;
        }
        let probe = self.recovery.mtu_probe(now, buffer.len())?;
        let target = self.paths.target(usize::from(probe));
        let item = Item::MtuProbe(probe);
        let transmit = self.transmit_alone(now, &Frame::Ping, item, &target, buffer)?;
        self.recovery.on_mtu_probe_sent(probe);
        Some(transmit)
    }

    /// Writes one 1-RTT packet with one frame, recorded as `item`, padded to its target's size.
    fn transmit_alone(
        &mut self,
        now: Time,
        frame: &Frame<'_>,
        item: Item,
        target: &Target,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let next = self.recovery.upcoming(Space::Data);
        let number_length = self.recovery.number_length(Space::Data, 2);
        let room = target.size.min(buffer.len());
        let mut pen = Pen::new(buffer.get_mut(..room.checked_sub(TAG)?)?);
        let (_, number_at) = self.write_header(Level::OneRtt, &mut pen, next, number_length)?;
        if !frame.write(&mut pen) {
            return None;
        }
        let rest = pen.room();
        pen.zeros(rest);
        let number = self.recovery.next_number(Space::Data);
        let packet = buffer.get_mut(..room)?;
        put_number(
            packet.get_mut(..number_at + number_length)?,
            number,
            number_at,
        );
        self.seal(Level::OneRtt, number, packet, number_at, number_length)?;
        self.items.push(item);
        self.recovery.on_sent(
            Space::Data,
            number,
            room as u16,
            None,
            &mut self.items,
            true,
        );
        self.count_sent(now, 1, 1, room, true);
        self.paths.on_sent_to(target.remote, room);
        Some(Transmit {
            to: target.remote,
            from: target.local,
            ecn: self.mark(),
            segment: room,
            length: room,
        })
    }
}
