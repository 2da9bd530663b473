//! Bytes in transit.

use std::time::Duration;

use roundtrip_explain::findings;
use roundtrip_model::{Answer, Event, Exchange, HttpFacts, PhaseName};

use crate::story::{MSS, R, Story, assert_only, assert_silent, ids, secured, tls};

/// A body in flights of these numbers of segments, each one round trip after the one before.
fn body(flights: &[u64], gap: f64) -> Exchange {
    let mut story = secured();
    story.e.http = Some(HttpFacts {
        status: 200,
        downloaded: flights.iter().sum::<u64>() * MSS,
        ..HttpFacts::default()
    });
    let mut story = story.asked().told(0.3);
    for (n, segments) in flights.iter().enumerate() {
        story = story
            .pass(if n == 0 { 0.1 } else { gap })
            .received(segments * MSS)
            .event(Event::Paused {
                segments: *segments,
                bytes: segments * MSS,
                window: None,
            })
            .event(Event::CutOff);
    }
    story.end()
}

#[test]
fn a_body_that_waits_for_the_window_to_grow() {
    assert_only(&body(&[10, 20, 39], R), "slow-start", 2.0 * R, 2);
    assert_silent(&body(&[6], R));
    // A fast line and a wide window: many segments, no pause.
    assert_silent(&body(&[10, 20, 39], 0.2));
}

#[test]
fn a_body_that_keeps_waiting_waits_for_something_else_too() {
    // Flights that do not grow are not slow start.
    let found = roundtrip_explain::findings(&body(&[10; 7], R));
    assert_eq!(found[0].id, "send-window");
    let trips: u32 = found.iter().map(|f| f.round_trips).sum();
    assert_eq!(trips, 6);
}

/// The client's data was acknowledged after `unacked`, because a segment had to be sent again.
fn resent(story: Story, unacked: f64) -> Story {
    story.event(Event::Resent {
        segments: 1,
        unacked: Duration::from_secs_f64(unacked / 1e3),
    })
}

#[test]
fn a_lost_request_is_not_a_slow_server() {
    let mut story = secured().asked().pass(R + 305.0);
    story = resent(story.acknowledged(R + 304.0), R + 304.0);
    story.r = 0.0;
    assert_only(&story.told(0.0).end(), "segment-lost", 305.0, 0);
    let thought = secured().asked().told(305.0).end();
    assert_only(&thought, "server-think-time", 305.0, 0);
}

/// An acknowledgement, or the server's own report, proves that a server is slow; an answer that
/// came late together with the acknowledgement of the request proves nothing.
#[test]
fn a_late_answer_without_a_witness_is_not_attributed() {
    let late = |late: f64, says: Option<u64>| {
        let mut story = secured().asked().pass(R + late).acknowledged(R + late);
        story.r = 0.0;
        story = story.told(0.0);
        let timing = says.map(|ms| ("app".into(), Some(Duration::from_millis(ms)), String::new()));
        story.e.http.as_mut().unwrap().server_timing.extend(timing);
        story.end()
    };
    assert_only(&late(30.0, None), "late-answer", 30.0, 0);
    assert_only(&late(30.0, Some(0)), "late-answer", 30.0, 0);
    assert_only(&late(30.0, Some(28)), "server-think-time", 30.0, 0);
    // No acknowledgement is delayed by that much: the path was slow, and not necessarily the
    // server.
    let longer = late(150.0, None);
    assert!(longer.phases().iter().all(|p| p.waited.server < 1.0));
    assert_only(&longer, "path-varies", 150.0, 0);
}

/// Its milliseconds are attributed neither to the server nor to the path, and the parts still add
/// up to the whole.
#[test]
fn a_late_answer_without_a_witness_has_no_culprit() {
    let mut story = secured().asked().pass(R + 30.0).acknowledged(R + 30.0);
    story.r = 0.0;
    let mut e = story.told(0.0).end();
    for _ in 0..2 {
        let account = roundtrip_explain::account(&e);
        assert_eq!(account.findings[0].id, "late-answer");
        e.undecided = account.undecided;
    }
    let phases = e.phases();
    let of = |share: fn(&roundtrip_model::Waited) -> f64| -> f64 {
        phases.iter().map(|phase| share(&phase.waited)).sum()
    };
    assert!(of(|w| w.server) < 1.0, "{phases:?}");
    assert!((of(|w| w.unknown) - 30.0).abs() < 1.0, "{phases:?}");
    let whole = e.total().as_secs_f64() * 1e3;
    assert!((of(roundtrip_model::Waited::sum) - whole).abs() < 1e-6);
    // A witness names the party.
    let thought = secured().asked().told(30.0).end();
    assert_eq!(roundtrip_explain::account(&thought).undecided, []);
}

/// If the second round trip took 9 ms more than the first, the third may take 60 ms more: the wait
/// is then neither the server's nor irreducible.
#[test]
fn a_late_answer_within_the_path_s_spread_is_unexplained() {
    let late = |late: f64| {
        let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(9.0);
        let story = story.tls13().asked().pass(R + late);
        let mut story = story.acknowledged(R + late);
        story.r = 0.0;
        roundtrip_explain::account(&story.told(0.0).end())
    };
    let account = late(60.0);
    assert!(!account.findings.iter().any(|f| f.id.contains("server")));
    let at: Vec<_> = account.unexplained_at.iter().map(|at| at.phase).collect();
    assert!(at.contains(&PhaseName::FirstByte), "{account:?}");
    assert!(account.irreducible < R + 3.0, "{account:?}");
    let of_server = account.unexplained_at.iter().map(|at| at.waited.server);
    assert!(of_server.sum::<f64>() < 1.0, "{account:?}");
    assert!((account.undecided[0].1 - 60.0).abs() < 3.0, "{account:?}");
    // A server's usual work needs no reason.
    let usual = late(4.0);
    let at: Vec<_> = usual.unexplained_at.iter().map(|at| at.phase).collect();
    assert!(!at.contains(&PhaseName::FirstByte), "{usual:?}");
}

#[test]
fn a_server_that_thinks_is_not_acquitted_by_a_loss() {
    let story = secured().asked().pass(R + 130.0).acknowledged(R + 130.0);
    let mut story = resent(story.pass(375.0), R + 130.0);
    story.r = 0.0;
    let found = findings(&story.told(0.0).end());
    let told: Vec<(&str, i32)> = found.iter().map(|f| (f.id, f.ms.round() as i32)).collect();
    assert_eq!(told, [("server-think-time", 375), ("segment-lost", 130)]);
}

/// A ClientHello that is acknowledged and answered this many ms later than the path needs.
fn greeted(acknowledged: f64, late: f64, seen: impl FnOnce(Story) -> Story) -> Exchange {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.2);
    let story = story.hello().pass(R + acknowledged);
    let story = story.acknowledged(R + acknowledged);
    let mut story = seen(story.pass(late - acknowledged));
    story.r = 0.0;
    let mut story = story
        .answered(0.0, 3_000)
        .shook_hands(tls("TLSv1.3", 3_000));
    story.r = R;
    story.asked().told(0.3).end()
}

/// A slow line held the hello up, and its acknowledgement shows for how long.
#[test]
fn a_hello_that_was_acknowledged_late_was_not_with_the_server_before() {
    let slow = |acknowledged, late| ids(&greeted(acknowledged, late, |story| story));
    assert!(!slow(31.0, 40.0).contains(&"slow-tls-server"));
    assert!(slow(0.0, 40.0).contains(&"slow-tls-server"));
    let found = findings(&greeted(31.0, 231.0, |story| story));
    let server = found.iter().find(|f| f.id == "slow-tls-server");
    assert_eq!(server.map(|f| f.ms.round()), Some(200.0), "{found:?}");
}

#[test]
fn a_hello_with_a_lost_segment_is_not_a_slow_server() {
    let lost = greeted(136.0, 140.0, |story| resent(story, R + 136.0));
    assert_only(&lost, "segment-lost", 140.0, 0);
    assert_only(
        &greeted(0.0, 140.0, |story| story),
        "slow-tls-server",
        140.0,
        0,
    );
    // The server received everything in time, and the retransmission was needless.
    let slow = greeted(0.0, 140.0, |story| resent(story, R));
    assert_only(&slow, "slow-tls-server", 140.0, 0);
}

#[test]
fn a_server_flight_with_a_lost_segment_is_not_a_slow_server() {
    let overtaken = |late: f64| {
        move |story: Story| {
            story.event(Event::Overtaken {
                segments: 1,
                late: Duration::from_secs_f64(late / 1e3),
            })
        }
    };
    let found = assert_only(
        &greeted(0.0, 140.0, overtaken(140.0)),
        "response-segment-lost",
        140.0,
        0,
    );
    assert!(found.evidence.contains("a segment"), "{}", found.evidence);
    // The rest of the flight was late as well.
    let told = findings(&greeted(0.0, 440.0, overtaken(140.0)));
    let told: Vec<(&str, i32)> = told.iter().map(|f| (f.id, f.ms.round() as i32)).collect();
    assert_eq!(
        told,
        [("slow-tls-server", 300), ("response-segment-lost", 140)]
    );
}

/// The server's flight comes in two parts, `gap` ms apart.
fn in_parts(gap: f64, cut: bool) -> Exchange {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.2);
    let mut story = story.hello().answered(0.3, MSS).event(Event::Paused {
        segments: 1,
        bytes: MSS,
        window: None,
    });
    if cut {
        story = story.event(Event::CutOff);
    }
    let story = story.pass(gap).received(900);
    story
        .shook_hands(tls("TLSv1.3", 2_300))
        .asked()
        .told(0.3)
        .end()
}

#[test]
fn a_flight_that_ends_within_a_record_is_not_a_slow_server() {
    assert_only(&in_parts(310.0, true), "response-segment-lost", 310.0, 0);
    // If whole records arrived, that may have been all the data.
    assert!(!ids(&in_parts(310.0, false)).contains(&"response-segment-lost"));
    // A slow line needs some time for each segment, too.
    assert!(!ids(&in_parts(90.0, true)).contains(&"response-segment-lost"));
}

#[test]
fn losses_of_both_sides_in_one_wait_are_priced_apart() {
    let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.2);
    let mut story = resent(story.hello().pass(R + 270.0), R + 266.0);
    story.r = 0.0;
    let story = story.answered(0.0, MSS).event(Event::Paused {
        segments: 1,
        bytes: MSS,
        window: None,
    });
    let mut story = story.event(Event::CutOff).pass(320.0).received(900);
    story = story.shook_hands(tls("TLSv1.3", 2_300));
    story.r = R;
    let found = findings(&story.asked().told(0.3).end());
    let told: Vec<(&str, i32)> = found.iter().map(|f| (f.id, f.ms.round() as i32)).collect();
    assert_eq!(
        told,
        [("response-segment-lost", 324), ("segment-lost", 266)]
    );
}

#[test]
fn a_loss_before_the_first_byte_does_not_belong_to_the_body() {
    let mut story = secured().asked().pass(R + 305.0);
    story = resent(story, R + 304.0);
    story.r = 0.0;
    let story = story.told(0.0).event(Event::Paused {
        segments: 3,
        bytes: 4_000,
        window: None,
    });
    let story = story.event(Event::CutOff).pass(320.0).received(900);
    let found = findings(&story.end());
    let told: Vec<(&str, i32)> = found.iter().map(|f| (f.id, f.ms.round() as i32)).collect();
    assert_eq!(
        told,
        [("response-segment-lost", 320), ("segment-lost", 305)]
    );
}

/// A body over TLS in flights with these numbers of segments, a round trip apart, `bytes` in each
/// segment; with `cut`, each flight ends in the middle of a record.
fn flights(sizes: &[u64], bytes: u64, cut: bool) -> Exchange {
    pieces(sizes, bytes, cut, R)
}

fn pieces(sizes: &[u64], bytes: u64, cut: bool, gap: f64) -> Exchange {
    let mut story = secured();
    story.e.http = Some(HttpFacts {
        status: 200,
        downloaded: sizes.iter().sum::<u64>() * bytes,
        ..HttpFacts::default()
    });
    let mut story = story.asked().told(0.3);
    for segments in sizes {
        story = story.received(segments * bytes).event(Event::Paused {
            segments: *segments,
            bytes: segments * bytes,
            window: None,
        });
        if cut {
            story = story.event(Event::CutOff);
        }
        story = story.pass(gap);
    }
    story.received(500).end()
}

#[test]
fn a_window_counts_segments_and_small_ones_fill_it() {
    let found = assert_only(&flights(&[10], 1_100, true), "slow-start", R, 1);
    assert!(
        found.evidence.contains("had to wait once"),
        "{}",
        found.evidence
    );
    assert!(
        found.evidence.contains("10 segments with 11000 bytes"),
        "{}",
        found.evidence
    );
    assert_only(&flights(&[13, 26], 1_400, true), "slow-start", 2.0 * R, 2);
    // Each segment holds a whole record.
    assert_only(&flights(&[10, 20], MSS, false), "slow-start", 2.0 * R, 2);
}

#[test]
fn a_server_that_sends_in_pieces_is_not_slow_start() {
    for sizes in [&[12, 12, 12][..], &[3, 3], &[30, 12]] {
        let e = pieces(sizes, 1_300, false, 1.2 * R);
        assert_eq!(ids(&e), ["body-stalls"]);
        let body = e.phases().into_iter().find(|p| p.name == PhaseName::Body);
        let waited = body.unwrap().waited;
        assert!(waited.server >= R && waited.network < 1.0, "{waited:?}");
    }
}

/// A sender that pauses for exactly one round trip may have waited for acknowledgements; if it does
/// so three times, it did wait.
#[test]
fn a_server_that_sends_in_step_with_the_path_has_a_small_buffer() {
    let found = assert_only(&flights(&[6; 7], 1_372, false), "send-window", 7.0 * R, 7);
    assert!(
        found.evidence.contains("wait 7 times"),
        "{}",
        found.evidence
    );
    assert_eq!(ids(&flights(&[12, 12, 12], 1_300, false)), ["send-window"]);
    assert_eq!(ids(&flights(&[6, 6], 1_300, false)), ["late-body"]);
    // A piece that fits a segment waits for none.
    assert_eq!(ids(&flights(&[1; 7], 1_000, false)), ["body-stalls"]);
}

/// A line of 40 kbit/s takes the same time for each packet.
#[test]
fn equal_pauses_before_full_packets_accuse_nobody() {
    let paused = |sizes: &[u64], gaps: &[f64]| {
        let mut story = secured().asked().told(0.3).received(5_000);
        for (bytes, gap) in sizes.iter().zip(gaps) {
            story = story.pass(*gap).received(*bytes);
        }
        ids(&story.end())
    };
    assert!(paused(&[MSS, MSS], &[245.0, 246.0]).is_empty());
    for (sizes, gaps) in [
        (&[1_200, 1_200], &[160.0, 180.0]),
        (&[300, 300], &[160.0, 160.0]),
        (&[5_000, 5_000], &[245.0, 245.0]),
    ] {
        assert_eq!(paused(sizes, gaps), ["body-stalls"]);
    }
    // A server whose full segments hold more had nothing more to send.
    for bytes in [600, 1_000, 1_200] {
        assert_eq!(paused(&[bytes; 5], &[245.0; 5]), ["body-stalls"], "{bytes}");
    }
    // A single packet that was lost at the end of a flight is sent again after two round trips.
    assert_eq!(paused(&[1_200], &[245.0]), ["late-body"]);
    assert_eq!(paused(&[1_200], &[160.0]), ["body-stalls"]);
    assert_eq!(paused(&[1_200; 3], &[245.0, 205.0, 230.0]), ["body-stalls"]);
}

#[test]
fn findings_within_the_path_s_spread_are_withdrawn_and_reported() {
    // Two acknowledgements were 8 and 9 ms late, and an answer came some time after them.
    let mut story = secured().acknowledged(R + 8.0).asked().pass(R + 9.0);
    story = story.acknowledged(R + 9.0).pass(20.0);
    story.r = 0.0;
    let account = roundtrip_explain::account(&story.told(0.0).end());
    assert!(
        account.findings.iter().all(|f| f.id != "server-think-time"),
        "{account:?}"
    );
    let withdrawn = &account.withdrawn[0];
    assert_eq!(withdrawn.id, "server-think-time");
    let why = &withdrawn.why;
    assert!(why.contains("of this path differ"), "{why}");
}

/// A server that limits its rate stops behind full packets now and then, too.
#[test]
fn pauses_that_recur_are_all_the_server_s() {
    let paused = |gaps: &[f64]| {
        let mut story = secured().asked().told(0.3).received(5_000);
        for gap in gaps {
            story = story.pass(*gap).received(1_200);
        }
        let found = findings(&story.end()).into_iter();
        found.map(|f| (f.id, f.ms.round())).collect::<Vec<_>>()
    };
    assert_eq!(paused(&[160.0, 180.0, 245.0]), [("body-stalls", 585.0)]);
    let apart = [("late-body", 245.0), ("body-stalls", 160.0)];
    assert_eq!(paused(&[160.0, 245.0]), apart);
}

/// A client that asked for events waits for events.
#[test]
fn the_pauses_of_an_event_stream_are_not_named() {
    let paused = |kind: &str| {
        let mut story = secured().asked().told(0.3);
        let http = story.e.http.as_mut().unwrap();
        http.headers = vec![("Content-Type".into(), kind.as_bytes().to_vec())];
        for gap in [160.0, R, 245.0, 900.0] {
            story = story.pass(gap).received(80);
        }
        roundtrip_explain::account(&story.end())
    };
    assert_eq!(paused("text/plain").findings[0].id, "body-stalls");
    for kind in ["text/event-stream", "Text/Event-Stream; charset=utf-8"] {
        let account = paused(kind);
        assert_eq!(account.findings, [], "{kind}");
        assert!(account.unexplained < 1.0, "{account:?}");
    }
}

/// HTTP/1.0: the end of the connection is the end of the body.
#[test]
fn a_server_that_ends_its_connection_late_pauses_in_the_body() {
    let ended = |late: f64| {
        let story = secured().asked().told(0.3).received(600).pass(late);
        story.event(Event::StreamEnded).pass(0.1).end()
    };
    let found = assert_only(&ended(700.0), "body-stalls", 700.0, 0);
    assert!(found.evidence.contains("700.0 ms after"), "{found:?}");
    assert_silent(&ended(0.4));
    // The last segment may have been lost, and sent again after a timeout.
    assert_only(&ended(R + 202.0), "late-body", R + 202.0, 0);
}

/// The path stopped in the middle of a record, and then all of it came at once.
#[test]
fn a_path_that_stops_in_a_body_is_named_as_the_path() {
    let mut story = secured().asked().told(0.3);
    story.e.http.as_mut().unwrap().downloaded = 60_000;
    let story = story.received(6 * MSS).event(Event::Paused {
        segments: 6,
        bytes: 6 * MSS,
        window: None,
    });
    let story = story.event(Event::CutOff).pass(320.0).received(30 * MSS);
    assert_only(&story.end(), "path-varies", 320.0, 0);
}

#[test]
fn two_flights_of_one_size_are_not_a_fixed_window() {
    assert!(!ids(&body(&[10, 10, 10], R)).contains(&"send-window"));
}

#[test]
fn a_pause_of_a_round_trip_on_a_path_that_varies_is_not_held_back() {
    let paused = |late: f64| {
        let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(late);
        let story = story.tls13().acknowledged(R + late);
        let mut story = story.asked().told(0.3);
        story.e.http.as_mut().unwrap().downloaded = 300;
        ids(&story.pass(R).received(300).end())
    };
    assert!(paused(0.2).contains(&"nagle-delayed-ack"));
    assert!(!paused(8.0).contains(&"nagle-delayed-ack"));
}
