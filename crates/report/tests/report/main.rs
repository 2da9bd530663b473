//! The reports through the public API, on handmade exchanges.

// Helpers of tests may unwrap like tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../../../tests/any_event.rs"]
mod any_event;
mod html;
mod json;
mod samples;
mod terminal;
mod ways;
mod write_out;

use std::time::Duration;

use proptest::prelude::*;
use roundtrip_model::{Exchange, Failure, FailureKind, Moment, PhaseName};

/// Any exchange that an observer can record, with events in any order.
fn any_exchange() -> impl Strategy<Value = Exchange> {
    let moment = prop_oneof![0u64..2_000_000_000, Just(0), 0u64..86_400_000_000_000];
    let events = prop::collection::vec((moment, any_event::any_event()), 0..24);
    let rtt = prop::option::of((0u64..400_000).prop_map(Duration::from_micros));
    (events, rtt, any::<String>(), any::<bool>(), any::<bool>()).prop_map(
        |(events, rtt, text, full, failed)| {
            let mut e = if full {
                samples::explained()
            } else {
                Exchange::default()
            };
            e.timeline = roundtrip_model::Timeline::default();
            for (at, event) in events {
                e.timeline.push(Moment(at), event);
            }
            e.rtt = rtt;
            e.url.clone_from(&text);
            e.notes = vec![text.clone()];
            e.failure = failed.then(|| Failure {
                kind: FailureKind::Timeout,
                phase: PhaseName::Body,
                message: text.clone(),
                advice: text,
            });
            e
        },
    )
}
