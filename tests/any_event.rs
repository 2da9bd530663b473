//! Any event of a timeline, for properties that must hold whatever was recorded; included by tests
//! (`#[path = "../../../../tests/any_event.rs"] mod any_event`).

use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;
use roundtrip_model::{Event, Task};

fn peer() -> impl Strategy<Value = SocketAddr> {
    let peers = ["192.0.2.7:443", "[2001:db8::7]:443"];
    prop::sample::select(peers.map(|peer| peer.parse().unwrap()).to_vec())
}

fn span() -> impl Strategy<Value = Duration> {
    (0u64..2_000).prop_map(Duration::from_millis)
}

pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        16 => a_step(),
        10 => a_witness(),
        2 => (0u64..40_000).prop_map(|bytes| Event::Sent { bytes }),
        2 => (0u64..40_000).prop_map(|bytes| Event::Received { bytes }),
    ]
}

fn a_step() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => prop::sample::select(vec![
            Event::LookupStarted,
            Event::LookupFinished,
            Event::TunnelStarted,
            Event::TunnelReady,
            Event::HandshakeStarted,
            Event::HandshakeFinished,
            Event::EarlyDataRefused,
            Event::RequestStarted,
            Event::RequestSent,
            Event::FirstByte,
            Event::CutOff,
            Event::Finished,
        ]),
        1 => peer().prop_map(|peer| Event::AttemptStarted { peer }),
        1 => peer().prop_map(|peer| Event::AttemptFailed { peer }),
        1 => (peer(), any::<bool>())
            .prop_map(|(peer, deferred)| Event::Connected { peer, deferred }),
        1 => (0u64..3_000, 0u64..3_000).prop_map(|(data_sent, data_acked)| Event::SynAcked {
            data_sent,
            data_acked
        }),
    ]
}

/// What the kernel, QUIC and TLS report about a wait.
fn a_witness() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0u32..4, span()).prop_map(|(segments, unacked)| Event::Resent { segments, unacked }),
        (0u32..4, span()).prop_map(|(segments, late)| Event::Overtaken { segments, late }),
        (0u64..30, 0u64..40_000).prop_map(|(segments, bytes)| Event::Paused {
            segments,
            bytes,
            window: None
        }),
        (span(), prop::option::of(span()))
            .prop_map(|(after, again)| Event::Acknowledged { after, again }),
        (span(), any::<bool>()).prop_map(|(took, throttled)| Event::Starved { took, throttled }),
        (0u32..4, any::<bool>()).prop_map(|(segments, short)| Event::GapOpened { segments, short }),
        (0u64..4).prop_map(|packets| Event::Missed { packets }),
        span().prop_map(|took| Event::HeldBack { took }),
        span().prop_map(|after| Event::Departed { after }),
        span().prop_map(|took| Event::WindowClosed { took }),
        (0u64..20_000).prop_map(|bytes| Event::RecordBegan { bytes }),
        Just(Event::AckDelayed),
        Just(Event::AckLeftLate),
        Just(Event::Answered),
        (
            prop::sample::select(vec![Task::Write, Task::LoadRoots]),
            span()
        )
            .prop_map(|(task, took)| Event::Worked { task, took }),
    ]
}
