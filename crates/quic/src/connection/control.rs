//! Frames of the connection itself that wait to be sent, or to be sent again.

use bytes::Bytes;

/// What the peer was last asked about its acknowledgements. draft-ietf-quic-ack-frequency §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) sequence: u64,
    /// How many packets may come without an acknowledgement.
    pub(crate) threshold: u64,
    pub(crate) max_delay_us: u64,
    pub(crate) reordering: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) handshake_done: bool,
    pub(crate) ping: bool,
    /// NEW_CONNECTION_ID, by sequence number.
    pub(crate) issued: Vec<u64>,
    /// RETIRE_CONNECTION_ID, by sequence number.
    pub(crate) retired: Vec<u64>,
    /// What the peer is given to prove its address another time.
    tokens: Vec<Bytes>,
    /// NEW_TOKEN, by their place among these.
    pub(crate) tokens_due: Vec<u8>,
    pub(crate) ask: Option<Ask>,
    pub(crate) ask_waits: bool,
}

impl Control {
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.ping
            || self.handshake_done
            || !self.tokens_due.is_empty()
            || self.ask_waits
            || !self.issued.is_empty()
            || !self.retired.is_empty()
    }

    pub(crate) fn give(&mut self, tokens: Vec<Bytes>) {
        self.tokens = tokens;
        self.tokens_due = (0..=u8::MAX).take(self.tokens.len()).collect();
    }

    /// The last of those that are due.
    pub(crate) fn next_token(&self) -> Option<(u8, &[u8])> {
        let which = *self.tokens_due.last()?;
        let token = self.tokens.get(usize::from(which))?;
        Some((which, token))
    }

    /// All but a PING waits for the keys of 1-RTT: 0-RTT may carry neither RETIRE_CONNECTION_ID nor NEW_TOKEN, and
    /// the rest comes up after the handshake.
    pub(crate) fn has_early_work(&self) -> bool {
        self.ping
    }
}
