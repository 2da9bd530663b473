//! Bodies: windows, pauses and lines at any pace of the sender.

use super::*;
use crate::{FullWindow, TlsFacts};

pub(super) const MSS: u64 = 1448;

/// An answer that begins at 50 ms; each part is given by its time in ms after the beginning and its
/// segments.
pub(super) fn answer(parts: &[(f64, u64)]) -> Exchange {
    let mut events = vec![(0.0, Event::RequestStarted), (0.0, Event::RequestSent)];
    for (at, segments) in parts {
        events.push((R + at, received(segments * MSS)));
    }
    events.push((R, Event::FirstByte));
    let end = parts.last().unwrap().0;
    events.push((R + end, Event::Finished));
    let mut e = exchange(&events);
    e.tls = Some(TlsFacts::default());
    e
}

/// One flight per round trip; its segments are spread over this share of the round trip.
fn paced(flights: &[u64], share: f64) -> Exchange {
    answer(&parts(flights, share))
}

fn parts(flights: &[u64], share: f64) -> Vec<(f64, u64)> {
    let mut parts = Vec::new();
    for (n, segments) in flights.iter().enumerate() {
        for segment in 0..*segments {
            let within = share * R * segment as f64 / *segments as f64;
            parts.push((n as f64 * R + within, 1));
        }
    }
    parts
}

pub(super) fn body(e: &Exchange) -> Phase {
    *e.phases()
        .iter()
        .find(|p| p.name == PhaseName::Body)
        .unwrap()
}

#[test]
fn round_trips_do_not_depend_on_the_sender_s_pace() {
    for share in [0.02, 0.3, 0.6, 0.9] {
        let body = body(&paced(&[10, 20, 40, 80, 30], share));
        assert_eq!(body.round_trips, 4, "{share}: {body:?}");
        assert!(body.waited.server < 1.0, "{share}: {body:?}");
    }
}

/// The last bytes come just before the fourth round trip is over, or just after.
#[test]
fn a_count_near_a_whole_number_does_not_flip() {
    for over in [-0.06, -0.02, 0.0, 0.02, 0.06] {
        let mut parts = parts(&[10, 20, 40, 70], 0.93);
        parts.push(((4.0 + over) * R, 1));
        assert_eq!(body(&answer(&parts)).round_trips, 4, "{over}");
    }
}

#[test]
fn a_steady_stream_takes_no_round_trips() {
    let parts: Vec<(f64, u64)> = (0..400).map(|n| (f64::from(n), 3)).collect();
    let e = answer(&parts);
    assert_eq!(body(&e).round_trips, 0);
    let transfer = e.transfer().unwrap();
    assert_eq!(transfer.windows, []);
    assert!((transfer.steady.1 - 399.0).abs() < 1.0, "{transfer:?}");
}

#[test]
fn a_line_that_is_full_ends_the_growth() {
    let mut parts = vec![(0.0, 10), (R, 20)];
    parts.extend((0..200).map(|n| (2.0 * R + f64::from(n), 1)));
    assert_eq!(body(&answer(&parts)).round_trips, 2);
}

#[test]
fn a_pause_of_another_length_is_the_server_s() {
    let e = answer(&[(0.0, 10), (3.6 * R, 20)]);
    let body = body(&e);
    assert_eq!(body.round_trips, 0);
    assert!((body.waited.server - 3.6 * R).abs() < 1.0, "{body:?}");
    let pause = e.transfer().unwrap().pauses[0];
    assert_eq!(pause.after, 10 * MSS);
}

#[test]
fn the_client_s_own_window_is_told_from_the_server_s() {
    let mut e = answer(&[(0.0, 6), (R, 6), (2.0 * R, 6)]);
    for at in [R, 2.0 * R] {
        let flight = Event::Paused {
            segments: 6,
            bytes: 6 * MSS,
            window: Some(7 * MSS),
        };
        e.timeline.push(Moment::from_millis(at), flight);
    }
    assert_eq!(body(&e).round_trips, 2);
    let windows = e.transfer().unwrap().windows;
    let own = FullWindow {
        bytes: 6 * MSS,
        segments: Some(6),
        grew: false,
        own: true,
        limited: false,
        after_loss: false,
    };
    assert_eq!(windows, [own, own]);
}

/// A window of ten segments, two of them tickets, cuts the first record, and none of the record can
/// be read.
#[test]
fn the_wait_for_the_server_ends_when_the_answer_begins_to_arrive() {
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(12_158)),
        (R, Event::RecordBegan { bytes: 16_401 }),
        (2.0 * R, received(5_000)),
        (2.0 * R, Event::FirstByte),
        (2.0 * R, Event::Finished),
    ]);
    e.tls = Some(TlsFacts::default());
    let flight = Event::Paused {
        segments: 10,
        bytes: 12_158,
        window: None,
    };
    e.timeline.push(Moment::from_millis(R), flight);
    e.timeline.push(Moment::from_millis(R), Event::CutOff);
    let wait = e.phases()[0];
    assert_eq!((wait.name, wait.round_trips), (PhaseName::FirstByte, 2));
    assert!(wait.waited.server < 1.0, "{wait:?}");
}

/// Behind a hole in the path, all segments stay small. A flight may only look small, because a
/// segment came twice. If full flights follow it, it shows no hole: the request took long to
/// arrive.
#[test]
fn a_late_answer_in_full_segments_was_not_lost() {
    let late = 3_000.0;
    let lost = |second: u64| {
        let mut e = exchange(&[
            (0.0, Event::RequestStarted),
            (0.0, Event::RequestSent),
            (late, received(MSS / 2)),
            (late, Event::FirstByte),
            (late + R, received(second)),
            (late + 2.0 * R, received(700)),
            (late + 2.0 * R, Event::Finished),
        ]);
        e.tls = Some(TlsFacts::default());
        for (at, segments, bytes) in [(late, 2, MSS), (late + R, 1, second)] {
            let flight = Event::Paused {
                segments,
                bytes,
                window: None,
            };
            e.timeline.push(Moment::from_millis(at), flight);
            e.timeline.push(Moment::from_millis(at), Event::CutOff);
        }
        e.phases()[0].waited.loss
    };
    assert!(lost(MSS / 2) > 2_000.0);
    assert!(lost(MSS) < 1.0, "{}", lost(MSS));
}

/// Segments missing from 2 ms on arrive after 2.5 R, and some of the data before them after one R.
fn with_a_hole() -> Exchange {
    let late = Duration::from_secs_f64((2.5 * R - 2.0) / 1e3);
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(8 * MSS)),
        (R, Event::FirstByte),
        (2.0 * R, received(7 * MSS)),
        (3.5 * R, Event::Overtaken { segments: 11, late }),
        (3.5 * R, received(12 * MSS)),
        (3.5 * R, Event::Finished),
    ]);
    e.tls = Some(TlsFacts::default());
    e
}

#[test]
fn while_a_segment_is_missing_all_waits_are_its_loss() {
    let body = body(&with_a_hole());
    assert_eq!(body.round_trips, 0, "{body:?}");
    assert!((body.waited.loss - (2.5 * R - 2.0)).abs() < 1.0, "{body:?}");
}

/// A retransmission takes at least a round trip.
#[test]
fn data_that_is_late_by_less_than_a_round_trip_was_not_lost() {
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(8 * MSS)),
        (R, Event::FirstByte),
    ]);
    for n in 0..5 {
        let at = R + 1.0 + 8.0 * f64::from(n);
        let late = Duration::from_millis(7);
        let gap = Event::GapOpened {
            segments: 1,
            short: false,
        };
        e.timeline.push(Moment::from_millis(at), gap);
        let event = Event::Overtaken { segments: 6, late };
        e.timeline.push(Moment::from_millis(at + 7.0), event);
        e.timeline
            .push(Moment::from_millis(at + 7.0), received(7 * MSS));
    }
    let end = Moment::from_millis(R + 41.0);
    e.timeline.push(end, Event::Finished);
    let body = body(&e);
    assert!(body.waited.loss < 0.001, "{body:?}");
}

#[test]
fn over_quic_data_in_flight_is_still_read() {
    let mut e = with_a_hole();
    (e.tcp, e.quic) = (None, Some(crate::QuicFacts::default()));
    let body = body(&e);
    assert!((body.waited.loss - 1.5 * R).abs() < 1.0, "{body:?}");
}

/// An acknowledgement arrives just before the missing data.
#[test]
fn over_quic_an_acknowledgement_in_a_hole_is_not_data_in_flight() {
    let late = Duration::from_secs_f64((R - 0.1) / 1e3);
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(1_200)),
        (R, Event::FirstByte),
        (R + 0.1, received(1_200)),
        (2.0 * R - 0.1, received(46)),
        (2.0 * R, Event::Overtaken { segments: 5, late }),
        (2.0 * R, received(1_202)),
        (2.0 * R, Event::Finished),
    ]);
    (e.tcp, e.quic) = (None, Some(crate::QuicFacts::default()));
    let body = body(&e);
    assert!(body.waited.loss > 0.9 * R, "{body:?}");
}

/// After the arrival at this time, the kernel saw the end of a flight; with `cut`, it ended in the
/// middle of a record.
pub(super) fn in_clear_text(e: &mut Exchange) {
    let mss = MSS as u32;
    e.tls = None;
    e.tcp = Some(TcpFacts {
        mss,
        ..TcpFacts::default()
    });
}

pub(super) fn flight_ended(e: &mut Exchange, at: f64, segments: u64, bytes: u64, cut: bool) {
    let at = Moment::from_millis(R + at);
    let flight = Event::Paused {
        segments,
        bytes,
        window: None,
    };
    e.timeline.push(at, flight);
    if cut {
        e.timeline.push(at, Event::CutOff);
    }
}

/// The server had written the whole record, so it did not pause in its middle. Behind a radio,
/// acknowledgements come late. Flights that double are nevertheless due to a window; an equally
/// long pause before a flight of another size is not.
#[test]
fn windows_that_double_are_windows_however_late() {
    let body = |flights: [u64; 4]| {
        let starts = [0.0, 110.0, 230.0, 320.0];
        let parts: Vec<(f64, u64)> = starts.into_iter().zip(flights).collect();
        let mut e = answer(&parts);
        (e.tcp, e.tls, e.quic) = (None, None, Some(QuicFacts::default()));
        body(&e)
    };
    let doubling = body([10, 20, 40, 80]);
    assert_eq!(doubling.round_trips, 3, "{doubling:?}");
    assert!(doubling.waited.server < 1.0, "{doubling:?}");
    let pausing = body([10, 10, 10, 10]);
    assert_eq!(pausing.round_trips, 0, "{pausing:?}");
}

/// After slow start, the receiver's window stops flights that no longer grow.
#[test]
fn a_window_that_no_longer_grows_goes_on() {
    let flights = [
        (0.0, 10),
        (R, 20),
        (2.1 * R, 40),
        (3.1 * R, 41),
        (4.0 * R, 38),
        (5.1 * R, 9),
    ];
    let body = body(&answer(&flights));
    assert_eq!(body.round_trips, 5, "{body:?}");
    assert!(body.waited.server < 1.0, "{body:?}");
    // Flights that are far smaller are not full.
    let fewer = [
        (0.0, 10),
        (R, 20),
        (2.1 * R, 40),
        (3.1 * R, 6),
        (4.0 * R, 7),
        (5.1 * R, 9),
    ];
    assert!(self::body(&answer(&fewer)).round_trips < 5);
}

/// A server that writes two segments, the second of them short, in less than half a round trip.
#[test]
fn short_pauses_behind_short_segments_are_the_server_s() {
    let server = |last: u64| {
        let bytes = MSS + last;
        let mut events = vec![
            (0.0, Event::RequestStarted),
            (0.0, Event::RequestSent),
            (R, received(bytes)),
            (R, Event::FirstByte),
        ];
        for n in 1..=10 {
            let (at, segments, window) = (R + 20.0 * f64::from(n), 2, None);
            events.push((
                at - 19.9,
                Event::Paused {
                    segments,
                    bytes,
                    window,
                },
            ));
            events.push((at, received(bytes)));
        }
        events.push((R + 200.0, Event::Finished));
        body(&exchange(&events)).waited.server
    };
    assert!((server(552) - 200.0).abs() < 1.0, "{}", server(552));
    // A line may have separated full segments.
    assert!(server(MSS) < 1.0, "{}", server(MSS));
}

#[test]
fn a_path_that_stops_in_the_middle_of_a_record_is_not_a_server_that_pauses() {
    let mut e = answer(&[(0.0, 10), (3.6 * R, 20)]);
    flight_ended(&mut e, 0.0, 10, 10 * MSS, true);
    let waited = body(&e).waited;
    assert!(waited.server < 1.0, "{waited:?}");
    let transfer = e.transfer().unwrap();
    assert_eq!((transfer.stalls.len(), transfer.pauses.len()), (1, 0));
}

/// With fast open, the answer comes with the SYN-ACK, and its segments are not counted.
#[test]
fn a_first_flight_that_was_not_counted_is_judged_by_its_bytes() {
    let mut e = answer(&[(0.0, 10), (1.05 * R, 20), (2.1 * R, 12)]);
    flight_ended(&mut e, 0.0, 0, 0, false);
    let body = body(&e);
    assert_eq!(body.round_trips, 2, "{body:?}");
    assert!(body.waited.server < 1.0, "{body:?}");
}

/// Acknowledgements show that the path is steady.
pub(super) fn on_a_steady_path(e: &Exchange) -> Exchange {
    let mut e = e.clone();
    for at in [1.0, 70.0, 130.0] {
        let (after, again) = (Duration::from_millis(R as u64), None);
        let event = Event::Acknowledged { after, again };
        e.timeline.push(Moment::from_millis(at), event);
    }
    e
}

pub(super) fn is_doubtful(e: &Exchange) -> bool {
    let pauses = on_a_steady_path(e).transfer().unwrap().pauses;
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    pauses[0].doubtful
}

#[test]
fn a_pause_behind_full_packets_may_be_the_path_s() {
    // Each record fits a segment.
    for (bytes, doubtful) in [(10 * MSS - 20, true), (9 * MSS + 300, false)] {
        let mut e = answer(&[(0.0, 10), (3.6 * R, 20)]);
        flight_ended(&mut e, 0.0, 10, bytes, false);
        assert_eq!(is_doubtful(&e), doubtful, "{bytes}");
        // If nothing is known about the path, no party is blamed for such a pause.
        let unknown = e.transfer().unwrap().pauses;
        assert_eq!(unknown.is_empty(), doubtful, "{unknown:?}");
    }
    // Over QUIC, no segments are counted.
    for (last, doubtful) in [(1_200, true), (700, false)] {
        assert_eq!(is_doubtful(&paused_over_quic(last)), doubtful, "{last}");
    }
}

/// The last datagram before the pause has this size.
fn paused_over_quic(last: u64) -> Exchange {
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(1_200)),
        (R, Event::FirstByte),
        (R + 1.0, received(last)),
        (4.6 * R, received(2_400)),
        (4.6 * R, Event::Finished),
    ]);
    (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
    e
}

/// If round trips differ by a third of their time, some of them are far longer.
#[test]
fn a_pause_on_a_wild_path_is_not_the_server_s() {
    let pauses = |late: f64| {
        let mut e = answer(&[(0.0, 20), (2.6 * R, 20)]);
        in_clear_text(&mut e);
        flight_ended(&mut e, 0.0, 20, 19 * MSS, false);
        for late in [0.0, late, late] {
            let (after, again) = (Duration::from_secs_f64((R + late) / 1e3), None);
            let event = Event::Acknowledged { after, again };
            e.timeline.push(Moment::from_millis(R + 1.0), event);
        }
        e.transfer().unwrap().pauses.len()
    };
    assert_eq!((pauses(0.28 * R), pauses(0.31 * R)), (1, 0));
}

/// The last segment of a flight was lost, and was sent again after 200 ms and a round trip.
#[test]
fn a_single_packet_after_a_time_out_may_have_been_lost() {
    for (pause, segments, doubtful) in [(255.0, 1, true), (255.0, 5, false), (180.0, 1, false)] {
        let mut e = answer(&[(0.0, 2), (pause, segments)]);
        flight_ended(&mut e, 0.0, 2, MSS + 300, false);
        assert_eq!(is_doubtful(&e), doubtful, "{pause} {segments}");
        // It may recur, which a loss does not.
        assert_eq!(e.transfer().unwrap().pauses.len(), 1);
    }
}

/// A flight that is not larger than the one before and comes late is not stopped by a window.
#[test]
fn a_late_flight_that_did_not_grow_is_not_a_round_trip() {
    let count = |late: f64| {
        let mut e = answer(&[
            (0.0, 10),
            (R, 20),
            (2.0 * R, 12),
            (3.0 * R + late, 6),
            (4.0 * R + late, 6),
        ]);
        flight_ended(&mut e, 2.0 * R, 12, 12 * MSS, true);
        body(&e).round_trips
    };
    let on_time = count(0.0);
    assert_eq!(count(0.8 * R) + 1, on_time);
}

/// The window of a kept connection had grown to 95 segments, most of them full.
#[test]
fn a_grown_window_of_a_kept_connection_stops_an_answer() {
    let answered = |reused: bool, bytes: u64| {
        let mut e = answer(&[(0.0, 94), (R - 1.0, 113)]);
        e.tls = None;
        e.reused = reused;
        flight_ended(&mut e, 0.0, 95, bytes, false);
        let body = body(&e);
        (body.round_trips, body.waited.server.round())
    };
    assert_eq!(answered(true, 135_595), (1, 0.0));
    for (reused, bytes) in [(true, 100_000), (false, 135_595)] {
        assert_eq!(answered(reused, bytes), (0, R - 1.0));
    }
}

/// The server may have had more: only acknowledgements fit so small a datagram.
#[test]
fn a_datagram_without_content_does_not_end_an_answer() {
    let doubtful = |last: u64| is_doubtful(&paused_over_quic(last));
    assert!(doubtful(36) && !doubtful(300));
}
