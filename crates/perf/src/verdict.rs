//! Judges what limited the rate: how busy each side and its core were, and what held the sender
//! back.

use serde::Serialize;

use crate::account::Usage;
use crate::engine::SideReport;

/// A side that worked for this share of the time had no time to spare: it spent the rest waking up.
const BUSY_SHARE: f64 = 0.92;
/// Other programs with this share of a core, or of the time, disturbed the measurement.
const FOREIGN_SHARE: f64 = 0.08;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    Sender,
    Receiver,
    /// Both sides were busy and could not have done more.
    Both,
    /// Something else used the core of a side.
    Others,
    /// Packets were lost, and no side was short of time.
    Path,
    /// The receiver, or its own buffer, did not allow the sender more.
    Window,
    /// None of the above is evident.
    Neither,
}

impl Bottleneck {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Both => "both",
            Self::Others => "others",
            Self::Path => "path",
            Self::Window => "window",
            Self::Neither => "neither",
        }
    }
}

/// A saturated receiver is always named, because then the sender waited for the receiver.
pub(crate) fn judge(sender: &SideReport, receiver: &SideReport) -> Bottleneck {
    let is_full = |side: &SideReport| side.usage.share() >= BUSY_SHARE;
    match (is_full(sender), is_full(receiver)) {
        (true, true) => return Bottleneck::Both,
        (_, true) => return Bottleneck::Receiver,
        (true, _) => return Bottleneck::Sender,
        _ => {}
    }
    if is_crowded(&sender.usage) || is_crowded(&receiver.usage) {
        return Bottleneck::Others;
    }
    let resent = sender.wire.retransmitted.max(sender.wire.lost);
    if resent.is_some_and(|packets| packets > 0) {
        return Bottleneck::Path;
    }
    if sender.wire.held_by_window == Some(true) {
        return Bottleneck::Window;
    }
    Bottleneck::Neither
}

/// Whether a side's core was crowded: its threads waited to run, or the core was saturated, but not
/// only by us.
fn is_crowded(usage: &Usage) -> bool {
    let waited = usage.waited.unwrap_or_default();
    let full = usage.core.is_some_and(|core| core.share() >= BUSY_SHARE);
    waited.as_secs_f64() >= FOREIGN_SHARE * usage.wall.as_secs_f64().max(f64::MIN_POSITIVE)
        || full && usage.foreign().is_some_and(|share| share >= FOREIGN_SHARE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::account::Core;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A side that worked for this many of 1000 ms, on a core that was busy for this many.
    fn side(worked: u64, busy: u64) -> SideReport {
        let core = Core {
            busy: ms(busy),
            idle: ms(1000 - busy),
            ..Core::default()
        };
        let usage = Usage {
            wall: ms(1000),
            thread: ms(worked),
            core: Some(core),
            ..Usage::default()
        };
        SideReport {
            usage,
            ..SideReport::default()
        }
    }

    #[test]
    fn the_saturated_side_set_the_rate() {
        for (sender, receiver, verdict) in [
            (990, 500, Bottleneck::Sender),
            (500, 990, Bottleneck::Receiver),
            (990, 990, Bottleneck::Both),
            (500, 500, Bottleneck::Neither),
        ] {
            let judged = judge(&side(sender, sender), &side(receiver, receiver));
            assert_eq!(judged, verdict, "{sender} {receiver}");
        }
    }

    #[test]
    fn the_sender_is_not_blamed_for_what_others_take() {
        let quiet = side(400, 400);
        assert_eq!(judge(&side(600, 1000), &quiet), Bottleneck::Others);
        assert_eq!(judge(&quiet, &side(600, 1000)), Bottleneck::Others);
        assert_eq!(judge(&side(600, 800), &quiet), Bottleneck::Neither);
        let mut pushed = side(600, 800);
        pushed.usage.core = None;
        assert_eq!(judge(&pushed, &quiet), Bottleneck::Neither);
        pushed.usage.waited = Some(ms(300));
        assert_eq!(judge(&pushed, &quiet), Bottleneck::Others);
    }

    #[test]
    fn losses_show_the_path_unless_a_side_was_full() {
        let mut sender = side(300, 300);
        sender.wire.held_by_window = Some(true);
        assert_eq!(judge(&sender, &side(300, 300)), Bottleneck::Window);
        sender.wire.retransmitted = Some(9);
        assert_eq!(judge(&sender, &side(300, 300)), Bottleneck::Path);
        assert_eq!(judge(&sender, &side(950, 950)), Bottleneck::Receiver);
    }
}
