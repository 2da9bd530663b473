//! Frames of the connection itself that wait to be sent for the first time or again: PING,
//! HANDSHAKE_DONE, NEW_TOKEN.

use bytes::Bytes;
use roundtrip_wire::quic::{Frame, Pen};

use crate::sent::SentFrame;

#[derive(Debug, Default)]
pub(super) struct Control {
    ping: bool,
    handshake_done: bool,
    /// The tokens with which the peer can validate its address on a later connection.
    tokens: Vec<Bytes>,
    /// The tokens to send in NEW_TOKEN frames, by index.
    tokens_due: Vec<u8>,
}

impl Control {
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.ping || self.handshake_done || !self.tokens_due.is_empty()
    }

    /// Whether a PING waits. Of the frames here, 0-RTT may carry only this one.
    pub(super) fn has_ping(&self) -> bool {
        self.ping
    }

    pub(super) fn ping(&mut self) {
        self.ping = true;
    }

    /// A server's handshake is complete: the client gets HANDSHAKE_DONE and tokens.
    pub(super) fn on_handshake_complete(&mut self, tokens: Vec<Bytes>) {
        self.handshake_done = true;
        self.tokens = tokens;
        self.tokens_due = (0..=u8::MAX).take(self.tokens.len()).collect();
    }

    pub(super) fn write_ping(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        if self.ping && Frame::Ping.write(pen) {
            self.ping = false;
            items.push(SentFrame::Ping);
        }
    }

    pub(super) fn write_handshake_done(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        if self.handshake_done && Frame::HandshakeDone.write(pen) {
            self.handshake_done = false;
            items.push(SentFrame::HandshakeDone);
        }
    }

    pub(super) fn write_tokens(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        while let Some(which) = self.tokens_due.last().copied()
            && let Some(token) = self.tokens.get(usize::from(which))
        {
            if !Frame::NewToken(token).write(pen) {
                return;
            }
            self.tokens_due.pop();
            items.push(SentFrame::NewToken(which));
        }
    }

    pub(super) fn on_handshake_done_lost(&mut self) {
        self.handshake_done = true;
    }

    pub(super) fn on_token_lost(&mut self, which: u8) {
        if !self.tokens_due.contains(&which) {
            self.tokens_due.push(which);
        }
    }
}
