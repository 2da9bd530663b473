//! One connection in two captures: where each packet was lost, and how long the hosts behind the
//! farther capture took. The times of both are already in the clock of the nearer one.

use std::time::Duration;

use crate::clocks::ClockRelation;
use crate::conversation::{Conversation, Elsewhere, LadderStep, Located};
use crate::steps::MAX_STEPS;
use crate::vantage::VantagePoint;

/// The precision of clocks and captures, in nanoseconds.
const TOLERANCE: u64 = 500_000;
/// Interfaces of the farther capture are numbered from here.
pub(crate) const FAR: u32 = 1 << 16;

/// `near` is closer to the client.
pub(crate) fn join(
    mut near: Conversation,
    far: &Conversation,
    relation: &ClockRelation,
) -> Conversation {
    let half = relation.between / 2;
    let [near_span, far_span] = relation.spans;
    let up = JoinedDirection::new(true, (&near.steps, near_span), (&far.steps, far_span), half);
    let down = JoinedDirection::new(
        false,
        (&far.steps, far_span),
        (&near.steps, near_span),
        half,
    );
    let mut located = Located {
        between: Duration::from_nanos(relation.between),
        server: Duration::from_nanos(answered_after(&far.steps)),
        ..Located::default()
    };
    let mut steps = near.steps.clone();
    for (index, step) in steps.iter_mut().enumerate() {
        if step.from_client && is_locatable(step) {
            located.from_client.0 += 1;
            step.elsewhere = up.find(index);
            if step.elsewhere == Some(Elsewhere::Never) {
                located.from_client.1.push(step.frame);
            }
        }
    }
    for (index, sent) in far.steps.iter().enumerate() {
        if sent.from_client || !is_locatable(sent) {
            continue;
        }
        located.from_server.0 += 1;
        match down.find(index) {
            Some(Elsewhere::At { at, frame }) => {
                // Its way is described where it arrived.
                let arrived = |step: &&mut LadderStep| step.frame == frame && step.at == at;
                if let Some(step) = steps.iter_mut().find(arrived) {
                    step.elsewhere = Some(Elsewhere::At {
                        at: sent.at,
                        frame: sent.frame,
                    });
                }
            }
            Some(Elsewhere::Never) => {
                located.from_server.1.push(sent.frame);
                // It gets its place in the ladder, and the frame number of the farther capture.
                steps.push(LadderStep {
                    at: sent.at.saturating_add(half),
                    elsewhere: Some(Elsewhere::Never),
                    ..sent.clone()
                });
            }
            None => {}
        }
    }
    steps.sort_by_key(|step| step.at);
    near.steps = steps;
    if near.vantage.place != VantagePoint::Middle {
        near.vantage.place = VantagePoint::Client;
    }
    let why = format!(
        "the other capture sees what the client sends {:.2} ms later",
        half as f64 / 1e6
    );
    near.vantage.evidence.insert(0, why);
    if (near.client, near.server) != (far.client, far.server) {
        let translated = format!(
            "its addresses are translated between the captures: in the other one it goes from {} to {}",
            far.client, far.server
        );
        near.vantage.evidence.push(translated);
    }
    near.undecidable
        .retain(|unknown| !unknown.needs.starts_with("a capture at"));
    near.located = Some(located);
    near
}

/// Whether a packet can be found in the other capture. Acknowledgements resemble each other;
/// packets with data, and packets that begin or end a connection, do not.
fn is_locatable(step: &LadderStep) -> bool {
    step.place.is_some() && (step.bytes > 0 || !step.is_plain)
}

/// One direction: packets as they left one end, and as they arrived at the other.
struct JoinedDirection<'a> {
    from_client: bool,
    sent: &'a [LadderStep],
    arrived: &'a [LadderStep],
    /// The time range in which arriving packets can be seen.
    span: (u64, u64),
    half: u64,
}

impl<'a> JoinedDirection<'a> {
    fn new(
        from_client: bool,
        (sent, _): (&'a [LadderStep], (u64, u64)),
        (arrived, (begin, end)): (&'a [LadderStep], (u64, u64)),
        half: u64,
    ) -> Self {
        // Only the first packets of a long connection are kept.
        let end = match arrived.last() {
            Some(last) if arrived.len() >= MAX_STEPS => last.at.min(end),
            _ => end,
        };
        Self {
            from_client,
            sent,
            arrived,
            span: (begin, end),
            half,
        }
    }

    /// Whether a packet that was sent has arrived; `None` if that cannot be decided.
    fn find(&self, index: usize) -> Option<Elsewhere> {
        let step = self.sent.get(index)?;
        let mut later = self.sent.iter().skip(index + 1);
        // If there are several copies, each explains what arrives before the next one could have.
        let is_copy =
            |other: &&LadderStep| other.from_client == self.from_client && covers(other, step);
        let next = later.clone().find(is_copy);
        let slack = TOLERANCE.max(self.half / 4);
        let earliest = |at: u64| at.saturating_add(self.half).saturating_sub(slack);
        let (from, until) = (
            earliest(step.at),
            next.map_or(u64::MAX, |next| earliest(next.at)),
        );
        let found = self.arrived.iter().find(|other| {
            other.from_client == self.from_client
                && covers(other, step)
                && (from..until).contains(&other.at)
        });
        if let Some(other) = found {
            return Some(Elsewhere::At {
                at: other.at,
                frame: other.frame,
            });
        }
        let arrival = step.at.saturating_add(self.half);
        let was_seen = (self.span.0..=self.span.1.saturating_sub(slack)).contains(&arrival);
        // If a packet is not sent again although the peer continues, it arrived but was not
        // captured.
        let went_on = next.is_none() && later.any(|other| other.from_client != self.from_client);
        (was_seen && !went_on).then_some(Elsewhere::Never)
    }
}

/// Whether a packet carries the first byte of another one's data. Hosts split and join segments.
fn covers(step: &LadderStep, other: &LadderStep) -> bool {
    let (Some(start), Some(place)) = (step.place, other.place) else {
        return false;
    };
    if other.bytes == 0 || step.bytes == 0 {
        return start == place && step.text == other.text;
    }
    (start..start + step.bytes).contains(&place)
}

/// The time from the client's data to the server's answer in the farther capture, in nanoseconds.
fn answered_after(steps: &[LadderStep]) -> u64 {
    let mut asked: Option<u64> = None;
    let mut sum = 0;
    for step in steps.iter().filter(|step| step.bytes > 0 && !step.again) {
        if step.from_client {
            asked = Some(step.at);
        } else if let Some(asked) = asked.take() {
            sum += step.at.saturating_sub(asked);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time, whether from the client, and offset in the stream.
    fn steps(all: &[(u64, bool, u64)]) -> Vec<LadderStep> {
        let numbered = all.iter().zip(1..);
        let step = |((at, from_client, place), frame): (&(u64, bool, u64), u64)| LadderStep {
            frame,
            at: at * 1_000_000,
            from_client: *from_client,
            text: String::new(),
            place: Some(*place),
            bytes: 100,
            is_plain: true,
            again: false,
            elsewhere: None,
        };
        numbered.map(step).collect()
    }

    const HALF: u64 = 20_000_000;

    fn up<'a>(sent: &'a [LadderStep], arrived: &'a [LadderStep]) -> JoinedDirection<'a> {
        let span = (0, 10_000_000_000);
        JoinedDirection::new(true, (sent, span), (arrived, span), HALF)
    }

    fn frame(found: Option<Elsewhere>) -> Option<u64> {
        match found {
            Some(Elsewhere::At { frame, .. }) => Some(frame),
            _ => None,
        }
    }

    #[test]
    fn a_copy_that_arrived_is_told_from_the_one_that_was_lost() {
        let sent = steps(&[(0, true, 0), (10, true, 100), (300, true, 100)]);
        let arrived = steps(&[(20, true, 0), (321, true, 100)]);
        let way = up(&sent, &arrived);
        assert_eq!(frame(way.find(0)), Some(1));
        assert_eq!(way.find(1), Some(Elsewhere::Never));
        assert_eq!(frame(way.find(2)), Some(2));
        // Both arrived: it was sent again although nothing was lost.
        let arrived = steps(&[(20, true, 0), (30, true, 100), (321, true, 100)]);
        assert_eq!(frame(up(&sent, &arrived).find(1)), Some(2));
    }

    #[test]
    fn segments_that_were_joined_on_the_way_have_arrived() {
        let sent = steps(&[(0, true, 0), (0, true, 100)]);
        let mut arrived = steps(&[(20, true, 0)]);
        arrived[0].bytes = 200;
        assert_eq!(frame(up(&sent, &arrived).find(1)), Some(1));
    }

    #[test]
    fn a_packet_that_was_answered_or_came_too_late_is_not_called_lost() {
        // The capture missed it: nothing is sent again, and the answer comes.
        let sent = steps(&[(0, true, 0), (50, false, 0)]);
        assert_eq!(up(&sent, &[]).find(0), None);
        // Packets after the end of the other capture cannot be compared.
        let sent = steps(&[(9_990, true, 0)]);
        assert_eq!(up(&sent, &[]).find(0), None);
        let sent = steps(&[(9_000, true, 0)]);
        assert_eq!(up(&sent, &[]).find(0), Some(Elsewhere::Never));
    }

    #[test]
    fn the_servers_end_is_timed_from_what_it_answers() {
        let far = steps(&[
            (0, true, 0),
            (5, true, 100),
            (65, false, 0),
            (66, false, 100),
            (100, true, 200),
            (110, false, 200),
        ]);
        assert_eq!(answered_after(&far), 70_000_000);
    }
}
