//! What the kernel saw: acknowledgements, departures, gaps, windows, and a client that did not run.

use std::time::Duration;

use roundtrip_model::{Event, Exchange, Moment};
use roundtrip_origin::Knobs;

use crate::scene::{RTT, Scene};

fn trips(span: Duration) -> f64 {
    span.as_secs_f64() / RTT.as_secs_f64()
}

/// The moments of the events for which `is` returns something, and that.
fn told<T>(exchange: &Exchange, is: impl Fn(&Event) -> Option<T>) -> Vec<(Moment, T)> {
    let entries = exchange.timeline.iter();
    entries.filter_map(|(at, e)| Some((*at, is(e)?))).collect()
}

fn acknowledged(exchange: &Exchange) -> Vec<(Moment, Duration)> {
    told(exchange, |event| match event {
        Event::Acknowledged { after } => Some(*after),
        _ => None,
    })
}

#[test]
fn a_request_is_acknowledged_a_round_trip_after_it_left_while_the_server_thinks() {
    let scene = Scene::new(Knobs::default());
    for word in ["h1+clear", "h1+tls1.3", "h2+tls1.3"] {
        let exchange = scene.probe(word, "/delay/300");
        let asked = exchange
            .timeline
            .last(|e| *e == Event::RequestSent)
            .unwrap();
        let answered = exchange.timeline.last(|e| *e == Event::FirstByte).unwrap();
        let heard = acknowledged(&exchange);
        let of_request = heard.iter().find(|(at, _)| *at > asked).unwrap();
        let after = trips(of_request.1);
        assert!((1.0..1.5).contains(&after), "{word}: {after} {heard:?}");
        let first = trips(answered.since(of_request.0));
        assert!(first > 2.0, "{word}: {first}");
    }
}
