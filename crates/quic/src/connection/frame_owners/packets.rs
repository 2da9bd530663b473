//! Packets that leave: header, number, frames, protection.

mod burst;
mod closing;
mod coalesced;
mod path_probes;

use roundtrip_wire::quic::{LongKind, Pen, write_long, write_short};

use super::{FrameOwners, borrow_owners};
use crate::burst::ECT0;
use crate::connection::Connection;
use crate::connection::handshake::Handshake;
use crate::connection::idle::Idle;
use crate::connection::spin::Spin;
use crate::crypto::Level;
use crate::error::TransportError;
use crate::log::Log;
use crate::{Time, Transmit};

/// A packet has at least this many bytes between the start of its number and its tag. RFC 9001
/// §5.4.2.
const SAMPLED: usize = 4;

/// Fills the space from `at` on with the low bytes of a number.
#[inline]
pub(super) fn put_number(header: &mut [u8], number: u64, at: usize) {
    let Some(place) = header.get_mut(at..) else {
        return;
    };
    let bytes = (number as u32).to_be_bytes();
    if let Some(low) = bytes.get(4_usize.saturating_sub(place.len())..) {
        place.copy_from_slice(low);
    }
}

/// Writes the packets of one burst or datagram, and gives them to recovery.
///
/// `sending` makes one for each call of `transmit`, and consumes it with [`Self::transmit`] while
/// the connection is open, or with [`Self::transmit_close`] afterwards. Each packet goes through
/// the same steps: its header, its payload (from [`FrameOwners`]), its number, then [`Self::seal`],
/// which logs and protects it; then recovery records it, and [`Self::count_sent`] counts the
/// datagrams. The writer neither closes the connection nor drops keys: [`WriterOutcome`] says what
/// the caller has to do.
pub(in crate::connection) struct PacketWriter<'a> {
    owners: FrameOwners<'a>,
    handshake: &'a Handshake,
    idle: &'a mut Idle,
    log: &'a mut Log,
    spin: Spin,
    /// The largest number of datagrams in a burst.
    max_burst: usize,
    now: Time,
    failure: Option<TransportError>,
    sent_handshake: bool,
}

/// What a [`PacketWriter`] has written, and its consequences.
#[derive(Debug)]
pub(in crate::connection) struct WriterOutcome {
    pub(in crate::connection) transmit: Option<Transmit>,
    /// The error if a key has reached its limit of packets, so that the connection has to be
    /// closed. RFC 9001 §6.6.
    pub(in crate::connection) failure: Option<TransportError>,
    /// Whether a Handshake packet was written. RFC 9001 §4.9.1.
    pub(in crate::connection) sent_handshake: bool,
}

impl<'a> PacketWriter<'a> {
    #[inline]
    pub(in crate::connection) fn new(connection: &'a mut Connection) -> Self {
        Self {
            owners: borrow_owners!(connection),
            handshake: &connection.handshake,
            idle: &mut connection.idle,
            log: &mut connection.log,
            spin: connection.spin,
            max_burst: connection.config.burst,
            now: connection.clock,
            failure: None,
            sent_handshake: false,
        }
    }

    /// Writes what leaves next.
    pub(in crate::connection) fn transmit(mut self, buffer: &mut [u8]) -> WriterOutcome {
        let transmit = self.write_next(buffer);
        WriterOutcome {
            transmit,
            failure: self.failure,
            sent_handshake: self.sent_handshake,
        }
    }

    fn write_next(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        if self.owners.paths.has_work()
            && let Some(transmit) = self.write_challenge(buffer)
        {
            return Some(transmit);
        }
        if self.has_long_headers()
            && let Some(transmit) = self.write_coalesced(buffer)
        {
            return Some(transmit);
        }
        if !self.owners.crypto.has(Level::OneRtt) {
            return None;
        }
        if let Some(transmit) = self.write_mtu_probe(buffer) {
            return Some(transmit);
        }
        if self.failure.is_some() {
            return None;
        }
        self.write_burst(buffer)
    }

    /// The size of datagrams; `None` if an address that is not validated allows less than `least`.
    /// RFC 9000 §8.1.
    pub(super) fn segment(&mut self, room: usize, least: usize) -> Option<usize> {
        let size = usize::from(self.owners.recovery.datagram()).min(room);
        let credit = self.owners.paths.credit();
        if credit >= least.min(size) {
            return Some(size.min(credit));
        }
        self.owners.recovery.set_blocked(true);
        None
    }

    /// Returns the positions of the header's length field and packet number.
    pub(super) fn write_header(
        &self,
        level: Level,
        pen: &mut Pen<'_>,
        number: u64,
        number_length: usize,
    ) -> Option<(Option<usize>, usize)> {
        let destination = self.owners.remote_ids.current();
        let kind = match level {
            Level::Initial => LongKind::Initial,
            Level::Early => LongKind::ZeroRtt,
            Level::Handshake => LongKind::Handshake,
            Level::OneRtt => {
                let phase = self.owners.crypto.key_phase();
                let spin = self.spin.bit();
                let at = write_short(pen, destination, spin, phase, number, number_length)?;
                return Some((None, at));
            }
        };
        let source = self.owners.local_ids.first();
        let header = write_long(
            pen,
            kind,
            self.handshake.version(),
            destination,
            &source,
            self.handshake.token(),
            number,
            number_length,
        )?;
        Some((Some(header.length_at), header.number_at))
    }

    /// Logs a packet and protects it. Returns `None` if the key has reached its limit: nothing more
    /// is written then.
    #[inline]
    fn seal(
        &mut self,
        level: Level,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Option<()> {
        if self.log.is_on() {
            self.log
                .on_sent(self.now, level, number, packet, number_at, number_length);
        }
        match self
            .owners
            .crypto
            .seal(level, number, packet, number_at, number_length)
        {
            Ok(()) => Some(()),
            Err(error) => {
                self.owners.items.clear();
                self.failure = Some(error);
                None
            }
        }
    }

    /// The ECN mark of this burst. RFC 9000 §13.4.
    pub(super) fn mark(&self) -> u8 {
        if self.owners.recovery.ecn_mark() {
            ECT0
        } else {
            0
        }
    }

    pub(super) fn count_sent(
        &mut self,
        packets: usize,
        datagrams: usize,
        bytes: usize,
        eliciting: bool,
    ) {
        self.owners.stats.packets_sent += packets as u64;
        self.owners.stats.datagrams_sent += datagrams as u64;
        self.owners.stats.bytes_sent += bytes as u64;
        self.owners.stats.bursts += 1;
        if eliciting {
            self.idle.on_eliciting_sent(self.now);
        }
    }
}
