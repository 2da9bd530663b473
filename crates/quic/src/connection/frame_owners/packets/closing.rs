//! The closing datagram: the only one that a connection sends once it is closed.

use roundtrip_wire::quic::{Pen, Side, set_length};

use super::{PacketWriter, SAMPLED};
use crate::Transmit;
use crate::connection::MIN_DATAGRAM;
use crate::connection::closing::CloseFrame;
use crate::crypto::{Level, TAG};

impl PacketWriter<'_> {
    /// Writes CONNECTION_CLOSE on every level that the peer may be at. RFC 9000 §10.2.3.
    pub(in crate::connection) fn transmit_close(
        mut self,
        close: &CloseFrame,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let limit = MIN_DATAGRAM
            .min(buffer.len())
            .min(self.owners.paths.credit());
        let levels = [Level::Initial, Level::Handshake, Level::OneRtt];
        let last = levels
            .into_iter()
            .rfind(|level| self.owners.crypto.has(*level))?;
        let pads = self.handshake.side() == Side::Client && self.owners.crypto.has(Level::Initial);
        let mut at = 0;
        let mut count = 0;
        for level in levels {
            if !self.owners.crypto.has(level) {
                continue;
            }
            let Some(room) = buffer.get_mut(at..limit) else {
                break;
            };
            if let Some(length) = self.write_close(level, close, room, pads && level == last) {
                at += length;
                count += 1;
            }
        }
        if at == 0 {
            return None;
        }
        self.count_sent(count, 1, at, false);
        self.owners.paths.on_sent(at);
        Some(Transmit {
            to: self.owners.paths.remote(),
            from: self.owners.paths.local(),
            ecn: 0,
            segment: at,
            length: at,
        })
    }

    fn write_close(
        &mut self,
        level: Level,
        close: &CloseFrame,
        room: &mut [u8],
        pads: bool,
    ) -> Option<usize> {
        let space = level.space();
        let number_length = self.owners.recovery.number_length(space, 2);
        let number = self.owners.recovery.next_number(space);
        let end = room.len().checked_sub(TAG)?;
        let mut pen = Pen::new(room.get_mut(..end)?);
        // It uses its own number: nothing else is written here that could fail to be sent.
        let (length_at, number_at) = self.write_header(level, &mut pen, number, number_length)?;
        if !close.write(level, &mut pen) {
            return None;
        }
        let padding = if pads {
            pen.room()
        } else {
            SAMPLED.min(pen.room())
        };
        pen.zeros(padding);
        let length = pen.position() + TAG;
        let packet = room.get_mut(..length)?;
        if let Some(at) = length_at {
            set_length(packet, at, length - number_at);
        }
        self.seal(level, number, packet, number_at, number_length)?;
        Some(length)
    }
}
