//! Pauses of a body in exchanges that show only one round trip of their path.

use super::bodies::{MSS, answer, body, flight_ended, in_clear_text};
use super::*;
use crate::{EarlyData, TlsFacts};

/// The only round trip took 52 ms. Nobody knows whether others take as long.
#[test]
fn a_path_whose_only_sample_is_a_fast_open_may_have_paused() {
    let server = |data_acked: u64, handshake_rtt| {
        let mut e = answer(&[(0.0, 39), (0.8 * R, 41)]);
        e.tls = None;
        let mut tcp = TcpFacts::default();
        (tcp.mss, tcp.fast_open.data_acked) = (MSS as u32, data_acked);
        tcp.handshake_rtt = handshake_rtt;
        e.tcp = Some(tcp);
        flight_ended(&mut e, 0.0, 40, 39 * MSS + 555, false);
        body(&e).waited.server.round()
    };
    assert_eq!((server(0, None), server(98, None)), (0.8 * R, 0.0));
    let r = Some(Duration::from_secs_f64(R / 1e3));
    assert_eq!((server(0, r), server(98, r)), (0.8 * R, 0.0));
}

/// The only round trip of the exchange brought the answer to early data over QUIC; then the server
/// had nothing more, and nothing came for this many milliseconds.
fn server_over_quic(early_data: EarlyData, pause: f64) -> u64 {
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, Event::RequestSent),
        (R, received(1_200)),
        (R, Event::FirstByte),
        (R, received(700)),
        (R + pause, received(1_200)),
        (R + pause, Event::Finished),
    ]);
    let tls = TlsFacts {
        early_data,
        ..TlsFacts::default()
    };
    (e.tcp, e.quic, e.tls) = (None, Some(QuicFacts::default()), Some(tls));
    body(&e).waited.server.round() as u64
}

#[test]
fn a_path_whose_only_sample_answered_early_data_may_have_paused() {
    let both = [EarlyData::Accepted, EarlyData::NotOffered];
    let server = |pause| both.map(|early_data| server_over_quic(early_data, pause));
    assert_eq!(server(112.0), [0, 112]);
    assert_eq!(server(280.0), [0, 280]);
    assert_eq!(server(400.0), [400, 400]);
}

/// A kept connection whose handshake took 1 ms longer than R. The head came alone, and the body
/// three fifths of a round trip later.
#[test]
fn a_path_that_is_known_by_one_sample_may_have_paused() {
    let server = |handshake: f64| {
        let mut e = answer(&[(0.0, 1), (0.6 * R, 4)]);
        in_clear_text(&mut e);
        e.reused = true;
        let tcp = e.tcp.as_mut().unwrap();
        tcp.handshake_rtt = Some(Duration::from_secs_f64(handshake / 1e3));
        flight_ended(&mut e, 0.0, 1, 62, false);
        body(&e).waited.server.round()
    };
    assert_eq!((server(R), server(R + 2.0)), (0.6 * R, 0.0));
}

/// The SYN-ACK, the only acknowledgement that came alone, was late by this many milliseconds; then
/// the server paused for `pause`, and its next bytes left it `departed` after those before.
fn server_after_a_late_syn_ack(late: f64, pause: f64, departed: Option<f64>) -> f64 {
    let mut e = answer(&[(0.0, 1), (pause, 2)]);
    in_clear_text(&mut e);
    let tcp = e.tcp.as_mut().unwrap();
    tcp.handshake_rtt = Some(Duration::from_secs_f64((R + late) / 1e3));
    // The last segment was not full.
    flight_ended(&mut e, 0.0, 1, 620, false);
    if let Some(after) = departed {
        let after = Duration::from_secs_f64(after / 1e3);
        e.timeline
            .push(Moment::from_millis(R), Event::Departed { after });
    }
    body(&e).waited.server.round()
}

#[test]
fn what_left_late_was_not_held_back_by_the_path() {
    let server = |departed| server_after_a_late_syn_ack(100.0, 300.0, departed);
    assert_eq!((server(None), server(Some(1.0))), (0.0, 0.0));
    assert_eq!((server(Some(300.0)), server(Some(280.0))), (300.0, 280.0));
}
