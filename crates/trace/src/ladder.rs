//! The packets of a connection as rungs of a ladder: packets of one side that come together form
//! one rung. The gap before a rung is divided among the parties that caused it.

use std::time::Duration;

use roundtrip_model::Waited;

use crate::conversation::{Conversation, Elsewhere, LadderStep};
use crate::vantage::VantagePoint;

/// Packets that are at most this many milliseconds apart form one rung.
const TOGETHER: f64 = 1.0;

/// Packets of one side that came together, and the wait before them.
#[derive(Debug, Clone)]
pub(crate) struct Rung<'a> {
    /// The steps; at least one.
    pub(crate) steps: &'a [LadderStep],
    /// The times since the connection began, and since the previous rung, in milliseconds.
    pub(crate) at: f64,
    pub(crate) gap: f64,
    pub(crate) waited: Waited,
}

impl Rung<'_> {
    pub(crate) fn is_from_client(&self) -> bool {
        self.steps.first().is_some_and(|step| step.from_client)
    }

    /// Whether a packet of the rung was sent before.
    pub(crate) fn again(&self) -> bool {
        self.steps.iter().any(|step| step.again)
    }

    /// Whether a packet of the rung did not reach the other capture.
    pub(crate) fn lost(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.elsewhere == Some(Elsewhere::Never))
    }

    /// The first and the last frame.
    pub(crate) fn frames(&self) -> (u64, u64) {
        let frame = |step: Option<&LadderStep>| step.map_or(0, |step| step.frame);
        (frame(self.steps.first()), frame(self.steps.last()))
    }

    pub(crate) fn text(&self) -> String {
        match self.steps {
            [only] => only.text.clone(),
            many => {
                let bytes: u64 = many.iter().map(|step| step.bytes).sum();
                let first = many.first().map_or("", |step| step.text.as_str());
                if bytes > 0 {
                    format!("{} packets, {bytes} bytes", many.len())
                } else {
                    format!("{} × {first}", many.len())
                }
            }
        }
    }
}

/// The rungs of a connection; if `each`, every packet is a separate one.
pub(crate) fn rungs(conversation: &Conversation, each: bool) -> Vec<Rung<'_>> {
    let mut rungs = Vec::new();
    let mut rest = conversation.steps.as_slice();
    let mut before: Option<&LadderStep> = None;
    while let Some(first) = rest.first() {
        let length = if each { 1 } else { together(rest) };
        let (steps, others) = rest.split_at(length);
        rest = others;
        let gap = before.map_or(0.0, |before| apart(before, first));
        rungs.push(Rung {
            steps,
            at: first.at.saturating_sub(conversation.began) as f64 / 1e6,
            gap,
            waited: waited(conversation, before, first, gap),
        });
        before = steps.last();
    }
    rungs
}

/// The number of packets at the front that form one rung.
fn together(steps: &[LadderStep]) -> usize {
    let belongs = |pair: &&[LadderStep]| {
        matches!(pair, [a, b] if a.from_client == b.from_client
            && a.is_plain && b.is_plain
            && a.again == b.again
            && (a.elsewhere == Some(Elsewhere::Never)) == (b.elsewhere == Some(Elsewhere::Never))
            && (a.bytes > 0) == (b.bytes > 0)
            && apart(a, b) < TOGETHER)
    };
    1 + steps.windows(2).take_while(belongs).count()
}

fn apart(a: &LadderStep, b: &LadderStep) -> f64 {
    b.at.saturating_sub(a.at) as f64 / 1e6
}

/// The party that a gap waited for: the path between the capture and the sending side, and that
/// side for the rest; or only the loss, if data had to be sent again.
fn waited(
    conversation: &Conversation,
    before: Option<&LadderStep>,
    step: &LadderStep,
    gap: f64,
) -> Waited {
    let mut waited = Waited::default();
    if step.again {
        waited.loss = gap;
        return waited;
    }
    let turned = before.is_some_and(|before| before.from_client != step.from_client);
    let vantage = &conversation.vantage;
    let half = match (step.from_client, vantage.place) {
        (true, VantagePoint::Client | VantagePoint::Unknown) | (false, VantagePoint::Server) => {
            None
        }
        (true, _) => vantage.to_client,
        (false, _) => vantage.to_server,
    };
    let path = half.filter(|_| turned).map_or(0.0, ms);
    // A quarter more also counts as time on the path, because that varies.
    waited.network = if gap <= 1.25 * path { gap } else { path };
    let host = gap - waited.network;
    if step.from_client {
        waited.client = host;
    } else {
        waited.server = host;
    }
    waited
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Carrier;
    use crate::vantage::Vantage;

    fn seen(place: VantagePoint, steps: &[(u64, bool, u64, bool)]) -> Conversation {
        let steps = steps.iter().zip(1..);
        Conversation {
            number: 1,
            client: ([10, 0, 0, 1], 5000).into(),
            server: ([10, 0, 0, 2], 80).into(),
            carrier: Carrier::Tcp,
            interface: 0,
            vantage: Vantage {
                place,
                evidence: Vec::new(),
                to_client: Some(Duration::from_millis(10)),
                to_server: Some(Duration::from_millis(30)),
            },
            exchanges: Vec::new(),
            left_out: 0,
            frames: (1, 9),
            packets: 9,
            sent_again: [0; 2],
            began: 0,
            is_inferred: false,
            session: None,
            undecidable: Vec::new(),
            located: None,
            steps: steps
                .map(|((at, from_client, bytes, again), frame)| LadderStep {
                    frame,
                    at: at * 1_000_000,
                    from_client: *from_client,
                    text: "ACK".into(),
                    place: None,
                    bytes: *bytes,
                    is_plain: true,
                    again: *again,
                    elsewhere: None,
                })
                .collect(),
        }
    }

    /// For each rung but the first, the parts of network, server, client and loss in the gap before
    /// it.
    fn gaps(conversation: &Conversation) -> Vec<[i64; 4]> {
        let rungs = rungs(conversation, false);
        let waits = rungs.iter().skip(1).map(|rung| rung.waited);
        waits
            .map(|w| [w.network, w.server, w.client, w.loss].map(|ms| ms.round() as i64))
            .collect()
    }

    #[test]
    fn a_gap_is_the_paths_as_far_as_that_lies_between_and_a_hosts_beyond() {
        let steps = [
            (0, true, 100, false),
            (50, false, 900, false),
            (70, true, 100, false),
            (300, true, 100, true),
        ];
        let at_client = gaps(&seen(VantagePoint::Client, &steps));
        assert_eq!(at_client[0], [30, 20, 0, 0]);
        assert_eq!(at_client[1], [0, 0, 20, 0]);
        assert_eq!(at_client[2], [0, 0, 0, 230]);
        let between = gaps(&seen(VantagePoint::Middle, &steps));
        assert_eq!(between[0], [30, 20, 0, 0]);
        assert_eq!(between[1], [10, 0, 10, 0]);
        let at_server = gaps(&seen(VantagePoint::Server, &steps));
        assert_eq!(at_server[0], [0, 50, 0, 0]);
    }

    #[test]
    fn a_flight_is_one_rung_and_the_gaps_sum_to_the_whole() {
        let flight = [
            (0, true, 100, false),
            (30, false, 1000, false),
            (30, false, 1000, false),
            (30, false, 500, false),
            (31, true, 0, false),
            (60, false, 1000, true),
        ];
        let conversation = seen(VantagePoint::Client, &flight);
        let rungs = rungs(&conversation, false);
        assert_eq!(rungs.len(), 4);
        assert_eq!(rungs[1].text(), "3 packets, 2500 bytes");
        assert_eq!(rungs[1].frames(), (2, 4));
        let sum: f64 = rungs.iter().map(|rung| rung.waited.sum()).sum();
        assert!((sum - 60.0).abs() < 1e-9, "{sum}");
        assert!(rungs[3].again());
    }
}
