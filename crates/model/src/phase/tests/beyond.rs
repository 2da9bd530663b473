//! Bodies of servers behind something nearer that acknowledges for them.

use super::bodies::{MSS, body};
use super::*;
use crate::TlsFacts;

/// Behind a path of 5 ms, the server answers the ClientHello 250 ms and the request `answer` ms
/// late. A flight breaks off in a record, and the rest comes 250 ms later.
fn waits(tunnelled: bool, answer: f64) -> Waited {
    let r = 5.0;
    let mut events = vec![
        (0.0, Event::TunnelStarted),
        (0.0, sent(100)),
        (r, received(40)),
        (10.0, Event::HandshakeStarted),
        (10.0, sent(1_700)),
        (260.0 + r, received(3_000)),
        (270.0, sent(80)),
        (270.0, Event::HandshakeFinished),
        (270.0, Event::RequestStarted),
        (270.0, Event::RequestSent),
    ];
    if tunnelled {
        events.push((r, Event::TunnelReady));
    }
    let began = 270.0 + r + answer;
    let flight = Event::Paused {
        segments: 10,
        bytes: 10 * MSS,
        window: None,
    };
    events.extend([
        (began, received(10 * MSS)),
        (began, Event::FirstByte),
        (began, flight),
        (began, Event::CutOff),
        (began + 250.0, received(2 * MSS)),
        (began + 250.0, Event::Finished),
    ]);
    let mut e = exchange(&events);
    e.rtt = Some(Duration::from_secs_f64(r / 1e3));
    e.tls = Some(TlsFacts::default());
    body(&e).waited
}

#[test]
fn a_window_behind_a_tunnel_or_balancer_is_no_loss_of_the_near_path() {
    let rounded = |waited: Waited| (waited.loss.round(), waited.server.round());
    assert_eq!(rounded(waits(true, 0.0)), (0.0, 250.0));
    assert_eq!(rounded(waits(false, 250.0)), (0.0, 250.0));
    assert_eq!(rounded(waits(false, 0.0)), (250.0, 0.0), "nothing is far");
}
