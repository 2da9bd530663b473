//! Frames of the connection itself that wait to be sent, or to be sent again: PING, HANDSHAKE_DONE,
//! NEW_TOKEN.

use bytes::Bytes;
use roundtrip_wire::quic::{Frame, Pen};

use crate::sent::Item;

#[derive(Debug, Default)]
pub(super) struct Control {
    ping: bool,
    handshake_done: bool,
    /// What the peer is given to prove its address another time.
    tokens: Vec<Bytes>,
    /// NEW_TOKEN, by their place among these.
    tokens_due: Vec<u8>,
}

impl Control {
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.ping || self.handshake_done || !self.tokens_due.is_empty()
    }

    /// A PING waits: alone among these frames, it may be sent in 0-RTT.
    pub(super) fn has_ping(&self) -> bool {
        self.ping
    }

    pub(super) fn ping(&mut self) {
        self.ping = true;
    }

    /// A server's handshake is complete: the client is told, and given tokens.
    pub(super) fn on_handshake_complete(&mut self, tokens: Vec<Bytes>) {
        self.handshake_done = true;
        self.tokens = tokens;
        self.tokens_due = (0..=u8::MAX).take(self.tokens.len()).collect();
    }

    pub(super) fn write_ping(&mut self, pen: &mut Pen<'_>, items: &mut Vec<Item>) {
        if self.ping && Frame::Ping.write(pen) {
            self.ping = false;
            items.push(Item::Ping);
        }
    }

    pub(super) fn write_handshake_done(&mut self, pen: &mut Pen<'_>, items: &mut Vec<Item>) {
        if self.handshake_done && Frame::HandshakeDone.write(pen) {
            self.handshake_done = false;
            items.push(Item::HandshakeDone);
        }
    }

    pub(super) fn write_tokens(&mut self, pen: &mut Pen<'_>, items: &mut Vec<Item>) {
        while let Some(which) = self.tokens_due.last().copied()
            && let Some(token) = self.tokens.get(usize::from(which))
        {
            if !Frame::NewToken(token).write(pen) {
                return;
            }
            self.tokens_due.pop();
            items.push(Item::NewToken(which));
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
