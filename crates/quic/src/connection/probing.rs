//! Datagrams that ask something of a path: whether the peer is there, and how large they may be.

use std::net::{IpAddr, SocketAddr};

use roundtrip_wire::quic::{Frame, Pen};

use super::paths::Owed;
use super::sending::put_number;
use super::{Connection, LEAST_DATAGRAM};
use crate::crypto::{Level, TAG};
use crate::sent::Item;
use crate::space::Space;
use crate::{Time, Transmit};

/// Where a datagram goes that is not part of a burst.
#[derive(Debug, Clone, Copy)]
struct Target {
    remote: SocketAddr,
    local: Option<IpAddr>,
    /// How large it is made, where its frames are shorter.
    size: usize,
}

impl Connection {
    /// PATH_RESPONSE and PATH_CHALLENGE, each in a datagram of its own. RFC 9000 §8.2.
    pub(super) fn transmit_challenges(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.crypto.has(Level::OneRtt) {
            return None;
        }
        if let Some(owed) = self.paths.take_owed() {
            return self.transmit_response(now, owed, buffer);
        }
        let data = self.chance.bytes();
        let is_active = self.paths.active.wants_challenge();
        let path = if is_active {
            &mut self.paths.active
        } else {
            self.paths.previous.as_mut()?
        };
        let target = Target {
            remote: path.remote,
            local: path.local,
            size: LEAST_DATAGRAM.min(path.credit()),
        };
        if target.size < super::LEAST_PACKET {
            return None;
        }
        path.on_challenge_sent(data);
        let frame = Frame::PathChallenge(data);
        self.items.push(Item::PathChallenge(data));
        let transmit = self.transmit_alone(now, &frame, target, buffer);
        if let Some(transmit) = &transmit {
            let path = if is_active {
                Some(&mut self.paths.active)
            } else {
                self.paths.previous.as_mut()
            };
            if let Some(path) = path {
                path.on_sent(transmit.length);
            }
        }
        transmit
    }

    /// RFC 9000 §8.2.2: on the path that the challenge came by.
    fn transmit_response(&mut self, now: Time, owed: Owed, buffer: &mut [u8]) -> Option<Transmit> {
        let is_active = owed.remote == self.paths.active.remote;
        let credit = if is_active {
            self.paths.active.credit()
        } else {
            owed.credit
        };
        let target = Target {
            remote: owed.remote,
            local: owed.local,
            size: LEAST_DATAGRAM.min(credit),
        };
        self.items.push(Item::PathResponse);
        let transmit = self.transmit_alone(now, &Frame::PathResponse(owed.data), target, buffer)?;
        if is_active {
            self.paths.active.on_sent(transmit.length);
        }
        Some(transmit)
    }

    /// A PING that is as large as datagrams may become. RFC 8899 §4.
    pub(super) fn transmit_mtu_probe(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if !self.handshake.is_confirmed || !self.paths.active.validated {
            return None;
        }
        let probe = self.recovery.mtu_probe(now, buffer.len())?;
        let target = Target {
            remote: self.paths.active.remote,
            local: self.paths.active.local,
            size: usize::from(probe),
        };
        self.items.push(Item::MtuProbe(probe));
        let transmit = self.transmit_alone(now, &Frame::Ping, target, buffer)?;
        self.recovery.on_mtu_probe_sent(probe);
        self.paths.active.on_sent(transmit.length);
        Some(transmit)
    }

    /// One 1-RTT packet with one frame, padded to its target's size. What the frame is stands in `items`.
    fn transmit_alone(
        &mut self,
        now: Time,
        frame: &Frame<'_>,
        target: Target,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let next = self.recovery.upcoming(Space::Data);
        let number_length = self.recovery.number_length(Space::Data, 2);
        let room = target.size.min(buffer.len());
        let mut pen = Pen::new(buffer.get_mut(..room.checked_sub(TAG)?)?);
        let header = self.write_header(Level::OneRtt, &mut pen, next, number_length);
        let (Some((_, number_at)), true) = (header, frame.write(&mut pen)) else {
            self.items.clear();
            return None;
        };
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
        self.recovery.on_sent(
            Space::Data,
            number,
            room as u16,
            None,
            &mut self.items,
            true,
        );
        self.count_sent(now, 1, 1, room, true);
        Some(Transmit {
            to: target.remote,
            from: target.local,
            ecn: self.mark(),
            segment: room,
            length: room,
        })
    }
}
