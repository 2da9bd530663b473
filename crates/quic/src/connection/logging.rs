//! What a connection writes into its log.

use roundtrip_wire::quic::Parameters;

use super::Connection;
use super::feedback::level_of;
use super::frames::kind_of;
use super::handshake::Handshake;
use super::opening::Opening;
use crate::CloseReason;
use crate::crypto::{Level, TAG};
use crate::log::{DropReason, LogEvent, LoggedConnection, LoggedPacket, Metrics};
use crate::recovery::{Feedback, Recovery};

pub(super) fn about(opening: &Opening, handshake: &Handshake) -> LoggedConnection {
    LoggedConnection {
        side: handshake.side(),
        version: opening.version,
        original: handshake.original(),
        remote: opening.remote,
        local: opening.local,
    }
}

impl Connection {
    /// Logs a packet that is about to be protected.
    #[cold]
    pub(super) fn log_sent(
        &mut self,
        level: Level,
        number: u64,
        packet: &[u8],
        number_at: usize,
        number_length: usize,
    ) {
        let end = packet.len().saturating_sub(TAG);
        let packet = LoggedPacket {
            kind: kind_of(level),
            number,
            header: packet.get(..number_at).unwrap_or_default(),
            payload: packet
                .get(number_at + number_length..end)
                .unwrap_or_default(),
            length: packet.len(),
        };
        self.log.write(self.clock, &LogEvent::Sent(packet));
    }

    /// Logs a packet that was decrypted.
    #[cold]
    pub(super) fn log_received(
        &mut self,
        level: Level,
        number: u64,
        header: &[u8],
        payload: &[u8],
        length: usize,
    ) {
        let packet = LoggedPacket {
            kind: kind_of(level),
            number,
            header,
            payload,
            length,
        };
        self.log.write(self.clock, &LogEvent::Received(packet));
    }

    pub(super) fn log_dropped(&mut self, level: Level, length: usize, why: DropReason) {
        let kind = kind_of(level);
        let dropped = LogEvent::Dropped { kind, length, why };
        self.log.write(self.clock, &dropped);
    }

    pub(super) fn log_parameters(&mut self, is_local: bool, parameters: &Parameters) {
        let event = LogEvent::Parameters {
            is_local,
            parameters,
        };
        self.log.write(self.clock, &event);
    }

    pub(super) fn log_closed(&mut self, why: &CloseReason) {
        self.log.write(self.clock, &LogEvent::Closed(why));
    }

    pub(super) fn log_discarded(&mut self, level: Level) {
        let event = LogEvent::KeysDiscarded(kind_of(level));
        self.log.write(self.clock, &event);
    }

    /// Logs what recovery has settled: losses, and the metrics that changed.
    #[inline]
    pub(super) fn log_settled(&mut self, feedback: &Feedback) {
        let Some(lost) = &feedback.lost_numbers else {
            return;
        };
        let now = self.clock;
        for (space, number) in lost {
            let (kind, number) = (kind_of(level_of(*space)), *number);
            self.log.write(now, &LogEvent::Lost { kind, number });
        }
        let metrics = metrics(&self.recovery);
        self.log.write_metrics(now, metrics);
    }
}

fn metrics(recovery: &Recovery) -> Metrics {
    let rtt = recovery.rtt();
    Metrics {
        min_rtt: rtt.min(),
        smoothed_rtt: rtt.smoothed(),
        latest_rtt: rtt.latest(),
        rtt_variance: rtt.variation(),
        pto_count: recovery.ptos_in_a_row(),
        congestion_window: recovery.window(),
        bytes_in_flight: recovery.in_flight(),
    }
}
