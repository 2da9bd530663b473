//! The reports through the public API, on handmade exchanges.

// Helpers of tests may unwrap like tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod html;
mod json;
mod samples;
mod terminal;
mod ways;
mod write_out;

use std::time::Duration;

use proptest::prelude::*;
use roundtrip_model::{Event, Exchange, Failure, FailureKind, Moment, PhaseName};

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        prop::sample::select(vec![
            Event::LookupStarted,
            Event::LookupFinished,
            Event::AttemptStarted {
                peer: samples::peer()
            },
            Event::AttemptFailed {
                peer: samples::peer()
            },
            Event::Connected {
                peer: samples::peer(),
                deferred: false
            },
            Event::Connected {
                peer: samples::peer(),
                deferred: true
            },
            Event::SynAcked {
                data_sent: 500,
                data_acked: 500
            },
            Event::TunnelStarted,
            Event::TunnelReady,
            Event::HandshakeStarted,
            Event::HandshakeFinished,
            Event::EarlyDataRefused,
            Event::RequestStarted,
            Event::RequestSent,
            Event::FirstByte,
            Event::Finished,
        ]),
        (0u64..40_000).prop_map(|bytes| Event::Sent { bytes }),
        (0u64..40_000).prop_map(|bytes| Event::Received { bytes }),
        (0u32..4, 0u64..2_000).prop_map(|(segments, ms)| Event::Resent {
            segments,
            unacked: Duration::from_millis(ms)
        }),
        (0u32..4, 0u64..2_000).prop_map(|(segments, ms)| Event::Overtaken {
            segments,
            late: Duration::from_millis(ms)
        }),
        (0u64..30, 0u64..40_000).prop_map(|(segments, bytes)| Event::Paused {
            segments,
            bytes,
            window: None
        }),
        Just(Event::CutOff),
    ]
}

/// Any exchange that an observer can record, with events in any order.
fn any_exchange() -> impl Strategy<Value = Exchange> {
    let moment = prop_oneof![0u64..2_000_000_000, Just(0), 0u64..86_400_000_000_000];
    let events = prop::collection::vec((moment, any_event()), 0..24);
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
