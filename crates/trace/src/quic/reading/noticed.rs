//! The events of a QUIC connection, of which each exchange gets its own.

use std::time::Duration;

use roundtrip_model::Event;

use super::{MAX_ACK, QuicReading};
use crate::segment::Side;

impl QuicReading<'_> {
    /// What the datagrams of both sides told the client.
    pub(super) fn noticed(&self) -> Vec<(u64, Event)> {
        let mut all = Vec::new();
        let mut left = None;
        let sealed = self.flow.requests().is_none();
        let connected = self.connected().filter(|_| sealed);
        let control = connected.and_then(|at| self.control_until(at));
        for (at, datagram) in &self.datagrams {
            let bytes = datagram.bytes;
            let event = match datagram.from {
                // A probe of the path's MTU requests nothing.
                Side::Client if self.is_probe(datagram) => continue,
                Side::Client if datagram.kinds.short && bytes > MAX_ACK => {
                    left = Some(*at);
                    Event::Sent { bytes }
                }
                Side::Client => Event::Sent { bytes },
                // Such a small datagram holds an acknowledgement, but no answer.
                Side::Server
                    if datagram.kinds.short
                        && (bytes <= MAX_ACK
                            || self.is_probe(datagram)
                            || control.is_some_and(|end| *at <= end)) =>
                {
                    let Some(sent) = left.take() else {
                        continue;
                    };
                    let after = Duration::from_nanos(at.saturating_sub(sent));
                    Event::Acknowledged { after, again: None }
                }
                Side::Server => Event::Received { bytes },
            };
            all.push((*at, event));
        }
        all
    }
}
