//! Paths that drop full segments, and exchanges that only seem to be on such a path.

use std::time::Duration;

use roundtrip_explain::findings;
use roundtrip_model::{Answer, Event, HttpFacts};

use crate::story::{MSS, R, Story, ids, secured, tls};

/// No part of the answer came through until the server tried smaller segments.
#[test]
fn an_answer_in_small_segments_after_seconds_met_a_black_hole() {
    let answered = |late: f64, peer_mss: u32, says: u64| {
        let mut story = Story::over(0.5)
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.1);
        story.e.tcp.as_mut().unwrap().peer_mss = peer_mss;
        let mut story = story.asked().pass(0.5).acknowledged(0.5).pass(late);
        story.r = 0.0;
        let timing = (
            "app".into(),
            Some(Duration::from_millis(says)),
            String::new(),
        );
        let mut story = story.told(0.0).received(9_000);
        story.e.http.as_mut().unwrap().server_timing.push(timing);
        ids(&story.end())
    };
    assert_eq!(answered(3_000.0, 1024, 0), ["mtu-black-hole"]);
    assert!(!answered(3_000.0, MSS as u32, 0).contains(&"mtu-black-hole"));
    assert!(!answered(300.0, 1024, 0).contains(&"mtu-black-hole"));
    assert_eq!(answered(3_000.0, 1024, 3_000), ["server-think-time"]);
}

/// The segments behind the gap were short, and so was the missing one: no full segment was lost.
#[test]
fn a_short_segment_that_is_lost_again_and_again_met_no_black_hole() {
    let filled = |bytes: u64, largest: u32, kept: bool| {
        let mut story = secured().asked().pass(R).acknowledged(R);
        story = story.event(Event::GapOpened {
            segments: 1,
            short: false,
        });
        story = story.pass(16_000.0).event(Event::Overtaken {
            segments: 1,
            late: Duration::from_secs(16),
        });
        story.e.tcp.as_mut().unwrap().peer_mss = largest;
        story.r = 0.0;
        story.e.reused = kept;
        story.e.http = Some(HttpFacts {
            status: 200,
            ..HttpFacts::default()
        });
        ids(&story.received(bytes).event(Event::FirstByte).end())
    };
    assert_eq!(filled(1_393, 819, false), ["response-segment-lost"]);
    assert_eq!(filled(4_000, 819, false), ["mtu-black-hole"]);
    // A full segment had come through, on a new connection or on a kept one.
    for kept in [false, true] {
        let found = filled(4_000, MSS as u32, kept);
        assert_eq!(found, ["response-segment-lost"], "kept: {kept}");
    }
}

/// The server's flight was acknowledged late by its own probing. Segments behind a gap count when
/// they come, their bytes when they can be read.
#[test]
fn a_certificate_in_small_segments_with_gaps_met_a_black_hole() {
    let story = Story::over(40.0)
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.1);
    let story = story.hello().pass(40.0).acknowledged(40.0).pass(3_784.0);
    let paused = |segments, bytes| Event::Paused {
        segments,
        bytes,
        window: None,
    };
    let story = story
        .received(1_024)
        .event(Event::RecordBegan { bytes: 4_499 });
    let story = story.event(paused(3, 1_024)).event(Event::CutOff).pass(0.1);
    let story = story.event(Event::GapOpened {
        segments: 2,
        short: false,
    });
    let story = story.pass(40.0).received(1_448).event(paused(2, 1_448));
    let story = story
        .event(Event::CutOff)
        .pass(40.0)
        .event(Event::Overtaken {
            segments: 2,
            late: Duration::from_millis(40),
        });
    let mut story = story.received(2_381).event(paused(1, 2_381));
    story.e.tcp.as_mut().unwrap().peer_mss = 1_200;
    let story = story.shook_hands(tls("TLSv1.3", 4_853));
    let found = findings(&story.asked().told(0.3).end());
    assert_eq!(found[0].id, "mtu-black-hole", "{found:?}");
    assert!(found[0].ms > 3_700.0, "{found:?}");
}

/// A server that writes little at a time sends small segments, too, and had the request meanwhile.
#[test]
fn a_server_that_thinks_and_writes_little_is_not_a_black_hole() {
    for (size, id) in [(600, "server-think-time"), (1_012, "mtu-black-hole")] {
        let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.1);
        story.e.tcp.as_mut().unwrap().peer_mss = size;
        let mut story = story.asked().pass(R).acknowledged(R).pass(1_500.0);
        story.r = 0.0;
        let e = story.told(0.0).received(4 * u64::from(size)).end();
        assert_eq!(ids(&e), [id]);
    }
}

/// A router that says what fits makes the kernel send smaller segments at once; without it, the
/// kernel tries them after several timeouts.
#[test]
fn segments_that_shrink_at_once_met_no_black_hole() {
    let uploaded = |unacked: f64| {
        let story = secured().asked().pass(unacked + 0.2);
        let mut story = story.acknowledged(unacked).event(Event::Resent {
            segments: 4,
            unacked: Duration::from_secs_f64(unacked / 1e3),
        });
        let tcp = story.e.tcp.as_mut().unwrap();
        (tcp.first_mss, tcp.mss, tcp.retransmits) = (1_448, 1_300, 4);
        story.r = 0.0;
        ids(&story.told(0.2).end())
    };
    assert_eq!(uploaded(2_000.0), ["mtu-black-hole"]);
    assert!(!uploaded(250.0).contains(&"mtu-black-hole"));
}
