//! A radio that sleeps: the first packet after a silence wakes it and waits until it is awake, and
//! so do the packets behind it. Phone modems and Wi-Fi power saving do this; the first round trip
//! looks longer than the path is.

use std::time::Duration;

use super::MiddleboxKind;
use crate::direction::Direction;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;
use roundtrip_model::parse_duration;

/// The default silence after which the radio sleeps: modems keep their channel for about ten
/// seconds.
const DEFAULT_SILENCE: Duration = Duration::from_secs(10);

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: "wake-up",
    does: "holds the first packet, and the first after SILENCE (10s), for TIME, as a sleeping radio does",
    argument: Some("TIME[,SILENCE]"),
    make: |argument| {
        let text = argument.unwrap_or_default();
        let (time, silence) = match text.split_once(',') {
            Some((time, silence)) => (time, parse_duration(silence)?),
            None => (text, DEFAULT_SILENCE),
        };
        Ok(Box::new(WakeUp {
            takes: parse_duration(time)?,
            silence,
            last: None,
            awake_at: Duration::ZERO,
        }))
    },
};

struct WakeUp {
    takes: Duration,
    silence: Duration,
    /// The time at which the last packet passed.
    last: Option<Duration>,
    awake_at: Duration,
}

impl Hop for WakeUp {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let sleeps = |last: Duration| at.saturating_sub(last) > self.silence;
        if self.last.is_none_or(sleeps) {
            self.awake_at = at + self.takes;
        }
        let due = at.max(self.awake_at);
        let held = due.saturating_sub(at).as_secs_f64() * 1e3;
        if held > 0.0 {
            packet.remark(|| format!("held {held:.3} ms until the radio was awake"));
        }
        self.last = self.last.max(Some(due));
        exit.forward(packet, way, due);
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, Trial, segment};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn a_packet_after_a_silence_waits() {
        let mut radio = Trial::parse("wake-up:100ms,2s");
        let syn = segment(Direction::Up, SYN, &[], b"");
        for (at, due, remarks) in [
            (0, 100, 1),
            (50, 100, 1),
            (100, 100, 0),
            (2100, 2100, 0),
            (4101, 4201, 1),
        ] {
            let passed = radio.one(Direction::Up, at, &syn);
            assert_eq!((passed.ms, passed.remarks.len()), (due, remarks), "at {at}");
        }
    }

    #[test]
    fn its_times_must_be_valid() {
        assert!("wake-up:100ms".parse::<Middlebox>().is_ok());
        for text in ["wake-up", "wake-up:fast", "wake-up:1s,never"] {
            assert!(text.parse::<Middlebox>().is_err(), "{text}");
        }
    }
}
