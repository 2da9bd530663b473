//! The packets of a QUIC session, as Chrome notes them: what was sent, received and declared lost,
//! and how long acknowledgements took.

use std::collections::HashMap;

use serde_json::Value;

use crate::witness::{LogTime, TransportEvent, number, text, whole};

/// The events of one session that are kept, and its packets that may be unacknowledged.
const MAX_EVENTS: usize = 1 << 17;
const MAX_UNACKNOWLEDGED: usize = 1 << 14;

#[derive(Debug, Default)]
pub(super) struct QuicPackets {
    events: Vec<(LogTime, TransportEvent)>,
    /// For each unacknowledged packet, by its number, when it left.
    sent: HashMap<u64, LogTime>,
}

impl QuicPackets {
    pub(super) fn take(&mut self, at: LogTime, kind: &str, parameters: &Value) {
        if self.events.len() >= MAX_EVENTS {
            return;
        }
        let number = whole(&parameters["packet_number"]);
        let length = whole(&parameters["size"]);
        let event = match kind {
            "QUIC_SESSION_PACKET_SENT" => {
                if let Some(number) = number.filter(|_| self.sent.len() < MAX_UNACKNOWLEDGED) {
                    self.sent.insert(number, at);
                }
                TransportEvent::PacketSent {
                    space: text(&parameters["encryption_level"]).unwrap_or_default(),
                    number,
                    length,
                }
            }
            "QUIC_SESSION_PACKET_RECEIVED" => TransportEvent::PacketReceived {
                space: String::new(),
                number,
                length,
            },
            "QUIC_SESSION_PACKET_LOST" => {
                self.sent.retain(|sent, _| Some(*sent) != number);
                TransportEvent::PacketLost {
                    number,
                    trigger: None,
                }
            }
            "QUIC_SESSION_ACK_FRAME_RECEIVED" => match self.round_trip(at, parameters) {
                Some(event) => event,
                None => return,
            },
            _ => return,
        };
        self.events.push((at, event));
    }

    /// The sample of the round trip that an acknowledgement of the newest packet gives, less the
    /// delay that the peer reports. RFC 9002 §5.1 and §5.3.
    fn round_trip(&mut self, at: LogTime, parameters: &Value) -> Option<TransportEvent> {
        let newest = whole(&parameters["largest_observed"])?;
        let left = self.sent.get(&newest).copied()?;
        self.sent.retain(|sent, _| *sent > newest);
        let waited = number(&parameters["delta_time_largest_observed_us"]).unwrap_or(0.0) / 1e3;
        let took = at.saturating_sub(left) as f64 / 1e6;
        Some(TransportEvent::Metrics {
            min_rtt: None,
            smoothed_rtt: None,
            latest_rtt: Some((took - waited).max(0.0)),
            congestion_window: None,
            bytes_in_flight: None,
        })
    }

    pub(super) fn events(&self) -> &[(LogTime, TransportEvent)] {
        &self.events
    }
}
