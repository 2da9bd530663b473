//! Which flights of an answer a window stopped.

use super::bodies::{MSS, answer, body, flight_ended, in_clear_text, on_a_steady_path};
use super::*;

/// HTTP/2 writes its settings and the head in small segments of their own: ten segments with few
/// bytes filled the first window, and twenty the next one, though it brought 2.5 times the bytes.
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

/// A server whose send buffer holds three segments waits for their acknowledgements each time.
#[test]
fn flights_that_follow_at_round_trips_wait_for_acknowledgements() {
    let windows = |period: f64, bytes: u64| {
        let flights: Vec<(f64, u64)> = (0..9).map(|n| (f64::from(n) * period, 3)).collect();
        let mut e = answer(&flights);
        in_clear_text(&mut e);
        for (at, segments) in &flights {
            flight_ended(&mut e, *at, *segments, bytes, false);
        }
        let e = on_a_steady_path(&e);
        (body(&e).round_trips, e.transfer().unwrap().pauses.len())
    };
    assert_eq!(windows(R, 3 * MSS), (8, 0));
    // Its segments are not full, or it pauses in another rhythm: it waits for something else.
    assert_eq!(windows(R, 2 * MSS + 9), (0, 8));
    assert_eq!(windows(1.6 * R, 3 * MSS).0, 0);
}

/// One flight that filled the client's window does not make smaller ones wait for it.
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
