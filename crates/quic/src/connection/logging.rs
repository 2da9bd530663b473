//! What a connection writes into its log.

use roundtrip_wire::quic::Parameters;

use super::handshake::Handshake;
use super::opening::ConnectionSetup;
use crate::crypto::{Level, TAG};
use crate::log::{DropReason, Log, LogEvent, LoggedConnection, LoggedPacket, Metrics};
use crate::recovery::{Feedback, Recovery};
use crate::{CloseReason, Time};

pub(super) fn about(opening: &ConnectionSetup, handshake: &Handshake) -> LoggedConnection {
    LoggedConnection {
        side: handshake.side(),
        version: opening.version,
        original: handshake.original(),
        remote: opening.remote,
        local: opening.local,
    }
}

/// The parts of a connection call these methods after each event, and before they protect a packet.
/// Without a log, each call costs a branch; callers skip per-packet calls with [`Log::is_on`].
impl Log {
    /// Logs a packet that is about to be protected.
    #[cold]
    pub(super) fn on_sent(
        &mut self,
        at: Time,
        level: Level,
        number: u64,
        packet: &[u8],
        number_at: usize,
        number_length: usize,
    ) {
        let end = packet.len().saturating_sub(TAG);
        let packet = LoggedPacket {
            kind: level.kind(),
            number,
            header: packet.get(..number_at).unwrap_or_default(),
            payload: packet
                .get(number_at + number_length..end)
                .unwrap_or_default(),
            length: packet.len(),
        };
        self.write(at, &LogEvent::Sent(packet));
    }

    /// Logs a packet that was decrypted.
    #[cold]
    pub(super) fn on_received(
        &mut self,
        at: Time,
        level: Level,
        number: u64,
        header: &[u8],
        payload: &[u8],
        length: usize,
    ) {
        let packet = LoggedPacket {
            kind: level.kind(),
            number,
            header,
            payload,
            length,
        };
        self.write(at, &LogEvent::Received(packet));
    }

    pub(super) fn on_dropped(&mut self, at: Time, level: Level, length: usize, why: DropReason) {
        let kind = level.kind();
        let dropped = LogEvent::Dropped { kind, length, why };
        self.write(at, &dropped);
    }

    pub(super) fn on_parameters(&mut self, at: Time, is_local: bool, parameters: &Parameters) {
        let event = LogEvent::Parameters {
            is_local,
            parameters,
        };
        self.write(at, &event);
    }

    pub(super) fn on_closed(&mut self, at: Time, why: &CloseReason) {
        self.write(at, &LogEvent::Closed(why));
    }

    pub(super) fn on_discarded(&mut self, at: Time, level: Level) {
        let event = LogEvent::KeysDiscarded(level.kind());
        self.write(at, &event);
    }

    /// Logs what recovery has settled: losses, and the metrics that changed.
    #[inline]
    pub(super) fn on_settled(&mut self, at: Time, recovery: &Recovery, feedback: &Feedback) {
        let Some(lost) = &feedback.lost_numbers else {
            return;
        };
        for (space, number) in lost {
            let (kind, number) = (Level::from_space(*space).kind(), *number);
            self.write(at, &LogEvent::Lost { kind, number });
        }
        let metrics = metrics(recovery);
        self.write_metrics(at, metrics);
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
