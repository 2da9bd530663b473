//! The sending loop: asks for the next packets, and updates the connection once they have been
//! sent.

use roundtrip_wire::quic::Side;

use super::Connection;
use super::closing::ClosingState;
use super::frame_owners::PacketWriter;
use crate::crypto::Level;
use crate::error::TransportError;
use crate::space::Space;
use crate::{Code, Time, Transmit};

impl Connection {
    /// Fills `buffer` with the next datagrams to send; call it until it returns `None`. The buffer
    /// needs room for at least one datagram of the largest size, preferably for 64.
    pub fn transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        self.clock = now;
        if self.closing.is_open()
            && let Some(transmit) = self.transmit_open(now, buffer)
        {
            return Some(transmit);
        }
        self.follow_budget();
        // This includes a connection that has just ended because a key reached its limit of
        // packets.
        match self.closing.state() {
            ClosingState::Closing => self.transmit_end(buffer),
            ClosingState::Open | ClosingState::Draining | ClosingState::Drained => None,
        }
    }

    fn transmit_open(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if self.recovery.is_ignored() {
            self.fail(&TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it acknowledges nothing",
            ));
            return None;
        }
        let is_patient = self.recovery.has_many_acks();
        self.received[Space::Data.index()].set_patient(is_patient);
        self.recovery.begin_burst(now);
        let written = PacketWriter::new(self).transmit(buffer);
        if let Some(error) = &written.failure {
            self.fail(error);
        }
        // RFC 9001 §4.9.1.
        if written.sent_handshake
            && self.handshake.side() == Side::Client
            && self.crypto.has(Level::Initial)
        {
            self.discard(Space::Initial);
        }
        written.transmit
    }

    /// Sends the closing frame. A client that may not exist gets it once, and nothing of the
    /// connection stays.
    fn transmit_end(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let close = self.closing.poll_frame();
        let sent = close.and_then(|close| PacketWriter::new(self).transmit_close(&close, buffer));
        if self.is_unvalidated() {
            let length = sent.map_or(0, |sent| sent.length);
            self.closing
                .end_with(buffer.get(..length).unwrap_or_default());
        }
        sent
    }

    /// Reports the current memory to the budget. Called after a datagram was received, and when
    /// there is nothing more to send.
    #[inline]
    pub(crate) fn follow_budget(&mut self) {
        if !self.account.is_kept() || !self.closing.is_open() {
            return;
        }
        let (memory, streams) = (self.memory(), self.streams.count());
        if self.account.settle(memory, streams) {
            self.streams.share(&self.account);
            self.streams.on_window(self.recovery.window());
        }
    }
}
