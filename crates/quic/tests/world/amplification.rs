//! What each address got from servers and sent to them, in every test: an address that has not
//! answered gets at most three times what came from it. RFC 9000 §8.

use std::collections::HashMap;
use std::net::SocketAddr;

#[derive(Debug, Default)]
struct Exchanged {
    came: usize,
    went: usize,
    /// Something from a server has arrived at this address.
    is_reached: bool,
    /// Something came from there afterwards: as far as an observer can tell, an answer.
    is_proved: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Amplification(HashMap<SocketAddr, Exchanged>);

impl Amplification {
    /// A server received a datagram.
    pub(crate) fn on_received(&mut self, from: SocketAddr, bytes: usize) {
        let exchanged = self.0.entry(from).or_default();
        exchanged.came += bytes;
        exchanged.is_proved |= exchanged.is_reached;
    }

    /// A server sent a datagram.
    pub(crate) fn on_sent(&mut self, to: SocketAddr, bytes: usize) {
        let exchanged = self.0.entry(to).or_default();
        if exchanged.is_proved {
            return;
        }
        exchanged.went += bytes;
        let Exchanged { came, went, .. } = exchanged;
        assert!(*went <= 3 * *came, "{to} got {went} bytes for {came}");
    }

    /// A server's datagram has arrived.
    pub(crate) fn on_arrived(&mut self, to: SocketAddr) {
        self.0.entry(to).or_default().is_reached = true;
    }
}
