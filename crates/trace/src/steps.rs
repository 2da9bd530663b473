//! The packets of a connection in a few words each, for the ladder.

use roundtrip_wire::packet::Flags;

use crate::conversation::LadderStep;
use crate::sight::{SeenSegment, Side};
use crate::tcp::TcpFlow;

/// The packets of one connection that a ladder can show.
pub(crate) const MAX_STEPS: usize = 4000;

pub(crate) fn of(flow: &TcpFlow) -> Vec<LadderStep> {
    let mut highest = [0_u64; 2];
    let mut steps = Vec::new();
    for sight in flow.sights.iter().take(MAX_STEPS) {
        let data_at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let start = flow.place(sight.from, data_at);
        let seen = &mut highest[sight.from.index()];
        let again = match start {
            Some(start) if sight.length > 0 => {
                let again = start < *seen;
                *seen = (*seen).max(start + u64::from(sight.length));
                again
            }
            _ => {
                sight.is_syn()
                    && steps
                        .iter()
                        .any(|step: &LadderStep| is_same_syn(step, sight))
            }
        };
        steps.push(LadderStep {
            frame: sight.frame,
            at: sight.at,
            from_client: sight.from == Side::Client,
            text: words(sight, start),
            place: start,
            bytes: u64::from(sight.length),
            is_plain: !sight.is_syn() && !sight.is_fin() && !sight.is_reset() && sight.window > 0,
            again,
            elsewhere: None,
        });
    }
    steps
}

fn is_same_syn(step: &LadderStep, sight: &SeenSegment) -> bool {
    step.from_client == (sight.from == Side::Client) && step.text.starts_with("SYN")
}

fn words(sight: &SeenSegment, start: Option<u64>) -> String {
    let mut words = Vec::new();
    let named = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
    ];
    for (flag, name) in named {
        if sight.flags.contains(flag) {
            words.push(name.to_owned());
        }
    }
    if sight.flags.contains(Flags::ACK) && (sight.length == 0 || sight.is_syn()) {
        words.push("ACK".to_owned());
    }
    if sight.length > 0 {
        let from = start
            .map(|start| format!(" from {start}"))
            .unwrap_or_default();
        words.push(format!("{} bytes{from}", sight.length));
    }
    if sight.window == 0 && !sight.is_reset() {
        words.push("window 0".to_owned());
    }
    words.join(" ")
}
