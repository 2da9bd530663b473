//! Which flights of an answer a window stopped.

use super::bodies::{
    MSS, answer, body, flight_ended, in_clear_text, is_doubtful, on_a_steady_path,
};
use super::*;

/// HTTP/2 writes its settings and the head in separate small segments: ten segments with few bytes
/// filled the first window, and twenty the next one, though it brought 2.5 times the bytes.
#[test]
fn a_window_is_counted_in_segments() {
    let mut e = answer(&[(0.0, 8), (1.25 * R, 20), (2.4 * R, 30)]);
    in_clear_text(&mut e);
    flight_ended(&mut e, 0.1, 10, 8 * MSS, false);
    flight_ended(&mut e, 1.25 * R + 0.1, 20, 20 * MSS - 400, false);
    let e = on_a_steady_path(&e);
    let body = body(&e);
    assert_eq!((body.round_trips, body.waited.server), (2, 0.0), "{body:?}");
}

/// Makes flights with these numbers of bytes and segments, one in each period.
fn flights(period: f64, each: &[(u64, u64)]) -> Exchange {
    let starts = (0..).map(|n| f64::from(n) * period);
    let at = |(start, (bytes, segments)): (f64, &(u64, u64))| (start, *bytes, *segments);
    let flights: Vec<(f64, u64, u64)> = starts.zip(each).map(at).collect();
    let mut e = answer(&[(0.0, 0), (period * (each.len() - 1) as f64, 0)]);
    in_clear_text(&mut e);
    for (at, bytes, segments) in flights {
        let received = Event::Received { bytes };
        e.timeline.push(Moment::from_millis(R + at), received);
        flight_ended(&mut e, at, segments, bytes, false);
    }
    on_a_steady_path(&e)
}

/// A server whose send buffer holds three segments waits for their acknowledgements each time.
#[test]
fn flights_that_follow_at_round_trips_wait_for_acknowledgements() {
    let windows = |period: f64, bytes: u64, segments: u64| {
        let e = flights(period, &[(bytes, segments); 9]);
        let transfer = e.transfer().unwrap();
        let limited = transfer.windows.iter().all(|window| window.limited);
        (body(&e).round_trips, transfer.pauses.len(), limited)
    };
    assert_eq!(windows(R, 3 * MSS, 3), (8, 0, true));
    // It writes less than full segments.
    assert_eq!(windows(R + 0.5, 2 * MSS + 9, 3), (8, 0, true));
    // Its pieces are smaller than a segment, or it pauses in another rhythm: it waits for something
    // else.
    assert_eq!(windows(R, 1_000, 1).1, 8);
    assert_eq!(windows(1.1 * R, 2 * MSS + 9, 3).1, 8);
    assert_eq!(windows(1.6 * R, 3 * MSS, 3).0, 0);
    // A timer may be quicker than the path.
    assert_eq!(windows(R - 0.2, 2 * MSS + 9, 3).1, 8);
    // Two pieces each round trip only seem to be in step with it.
    assert_eq!(windows(0.5 * R, MSS + 552, 2).0, 0);
}

/// A line of 500 kbit/s takes 24 ms for a segment, about as long as the path.
#[test]
fn a_line_that_takes_a_round_trip_for_a_segment_is_not_a_window() {
    for period in [R, 0.5 * R] {
        let e = flights(period, &[(MSS, 1); 20]);
        let transfer = e.transfer().unwrap();
        assert_eq!(transfer.windows, [], "{period}");
        assert_eq!(transfer.steady.0, 20 * MSS, "{period}");
    }
}

/// nginx with a small send buffer: a flight is smaller than the one before, although that one was
/// acknowledged at once.
#[test]
fn a_flight_smaller_than_an_acknowledged_one_was_not_stopped_by_the_congestion_window() {
    let e = flights(
        R + 0.4,
        &[
            (4_338, 3),
            (14_232, 10),
            (28_960, 20),
            (7_240, 5),
            (5_472, 4),
        ],
    );
    let windows = e.transfer().unwrap().windows;
    assert_eq!(windows.len(), 4, "{windows:?}");
    assert!(windows.iter().all(|w| w.limited && !w.grew), "{windows:?}");
}

/// A send buffer under BBR: the first flight is small, the next ones are far more than twice as
/// large, or paced. The last one waited until its last segment had been acknowledged.
#[test]
fn flights_of_a_buffer_that_grows_with_the_pace_are_limited() {
    let grows = flights(R, &[(4_338, 3), (18_576, 13), (27_512, 19)]);
    let windows = grows.transfer().unwrap().windows;
    assert!(
        windows.len() == 2 && windows.iter().all(|w| w.limited),
        "{windows:?}"
    );

    let paced = |step: f64| {
        let mut parts = vec![(0.0, 3)];
        parts.extend((0..8).map(|n| (R + step * f64::from(n), 2)));
        let next = 2.0 * R;
        parts.extend((0..8).map(|n| (next + step * f64::from(n), 2)));
        let end = next + 7.0 * step;
        parts.push((end + R, 12));
        let mut e = answer(&parts);
        in_clear_text(&mut e);
        flight_ended(&mut e, 0.1, 3, 3 * MSS - 9, false);
        flight_ended(&mut e, R + 7.0 * step + 0.1, 16, 16 * MSS - 9, false);
        flight_ended(&mut e, end + 0.1, 16, 16 * MSS - 9, false);
        let windows = on_a_steady_path(&e).transfer().unwrap().windows;
        windows.iter().filter(|window| window.limited).count()
    };
    assert_eq!(paced(0.06 * R), 3);
    // Arrivals as far apart as the flights are those of a line.
    assert_eq!(paced(0.125 * R), 0);
}

/// A congestion window counts segments: the first ten, of HTTP/2, had few bytes.
#[test]
fn a_congestion_window_that_grows_is_not_limited() {
    for each in [
        [
            (10 * MSS, 10),
            (20 * MSS, 20),
            (40 * MSS, 40),
            (41 * MSS, 41),
            (9, 1),
        ],
        [
            (11_633, 10),
            (28_541, 20),
            (57_920, 40),
            (75_296, 52),
            (26_875, 19),
        ],
    ] {
        let windows = flights(R, &each).transfer().unwrap().windows;
        assert_eq!(windows.len(), 4, "{windows:?}");
        assert!(windows.iter().all(|w| !w.limited), "{windows:?}");
    }
}

/// A kept connection whose window had grown. The server wrote small records between its segments.
#[test]
fn a_large_flight_and_one_a_round_trip_later_filled_a_window() {
    let answered = |period: f64, segments: u64| {
        let e = flights(period, &[(1_300 * segments, segments), (135_529, 94)]);
        (body(&e).round_trips, e.transfer().unwrap().pauses.len())
    };
    assert_eq!(answered(R + 0.2, 125), (1, 0));
    assert_eq!(answered(R + 3.0, 125), (0, 1));
    assert_eq!(answered(R + 0.2, 5), (0, 1));
}

/// One flight filled the client's window. That does not mean that the smaller ones waited for it.
#[test]
fn a_window_that_was_full_once_is_not_filled_by_less() {
    let room = 60 * MSS;
    let own = |later: [u64; 7]| {
        let mut flights = vec![(0.0, 55), (R, 55)];
        flights.extend((2..9).map(|n| f64::from(n) * R).zip(later));
        let mut e = answer(&flights);
        for (at, segments) in &flights {
            let flight = Event::Paused {
                segments: *segments,
                bytes: segments * MSS,
                window: Some(room),
            };
            e.timeline.push(Moment::from_millis(R + at), flight);
        }
        let windows = e.transfer().unwrap().windows;
        windows.iter().filter(|window| window.own).count()
    };
    assert!(own([50; 7]) > 5);
    assert!(own([46, 38, 32, 27, 23, 19, 16]) <= 3);
}

/// A first flight of ten segments filled the window, although the segment with the head was small.
/// The next flight came five round trips later.
#[test]
fn a_pause_behind_a_full_first_window_may_be_the_path_s() {
    for (segments, next, doubtful) in [(7, 20, false), (10, 10, false), (10, 20, true)] {
        let mut e = answer(&[(0.0, segments), (5.0 * R, next)]);
        in_clear_text(&mut e);
        flight_ended(&mut e, 4.0 * R, segments, segments * MSS - 700, false);
        assert_eq!(is_doubtful(&e), doubtful, "{segments}");
        let unknown = e.transfer().unwrap().pauses;
        assert_eq!(unknown.is_empty(), doubtful, "{unknown:?}");
    }
}

/// Two segments, one of which is short because it holds only a head; or tickets, settings and a
/// head.
#[test]
fn a_small_first_window_may_have_small_segments() {
    for (small, flights) in [((2, 1_689), [0, 4, 2]), ((3, 732), [0, 6, 8])] {
        let mut parts = vec![(0.0, 1)];
        parts.extend([(R, flights[1]), (2.0 * R, flights[2])]);
        let mut e = answer(&parts);
        let told = [small, (flights[1], flights[1] * MSS)];
        for (at, (segments, bytes)) in [0.0, R].into_iter().zip(told) {
            let flight = Event::Paused {
                segments,
                bytes,
                window: None,
            };
            e.timeline.push(Moment::from_millis(R + at), flight);
        }
        e.tls = None;
        let body = body(&e);
        assert_eq!(body.round_trips, 2, "{body:?}");
        assert!(body.waited.server < 1.0, "{body:?}");
    }
}

/// As BBR sends its first megabyte on a busy machine: the third flight came partly with the fourth.
#[test]
fn one_flight_that_hardly_grew_does_not_end_the_growth() {
    let trips = |flights: &[u64]| {
        let mut parts = Vec::new();
        for (n, segments) in flights.iter().enumerate() {
            let at = |segment: u64| n as f64 + 0.85 * segment as f64 / *segments as f64;
            parts.extend((0..*segments).map(|segment| (R * at(segment), 1)));
        }
        body(&answer(&parts)).round_trips
    };
    assert_eq!(trips(&[11, 24, 27, 75, 132, 179, 140]), 6);
    // A line that is full does not grow again.
    assert_eq!(trips(&[11, 24, 27, 28, 28, 28]), 1);
}
