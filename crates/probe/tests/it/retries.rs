//! Sequences against servers whose every frame is scripted: which requests are rejected, and which
//! may be repeated. No path is needed; `sequences` measures the round trips.

mod script;

use std::net::SocketAddr;

use roundtrip_model::{Exchange, FailureKind};
use roundtrip_probe::{ConnectionUse, Options, Sequence};

use crate::sequences::without_a_path::ask;
use script::{ALL_THREE, Script, server};

const GET: &str = "GET";
const POST: &str = "POST";

/// Three simultaneous requests, without TLS.
fn three(method: &str, place: SocketAddr) -> Sequence {
    let options = Options {
        strategy: "h2+clear".parse().unwrap(),
        method: Some(method.into()),
        ..Options::default()
    };
    let urls: Vec<String> = (1..=3).map(|n| format!("http://{place}/{n}")).collect();
    ask(options, &urls, ConnectionUse::AtOnce)
}

fn hops(sequence: &Sequence) -> Vec<usize> {
    sequence.hops.iter().map(Vec::len).collect()
}

fn outcomes(sequence: &Sequence) -> Vec<bool> {
    sequence.exchanges().map(Exchange::ok).collect()
}

#[test]
fn requests_beyond_goaway_are_repeated_for_any_method() {
    static SCRIPTS: [Script; 2] = [
        Script {
            answers: 1,
            goes_away: true,
            ..ALL_THREE
        },
        Script {
            hears: 2,
            answers: 2,
            ..ALL_THREE
        },
    ];
    for method in [GET, POST] {
        let (place, serving) = server(&SCRIPTS);
        let sequence = three(method, place);
        assert!(sequence.ok(), "{method}: {sequence:?}");
        assert_eq!((hops(&sequence), sequence.connections), (vec![1, 2, 2], 2));
        for hops in &sequence.hops[1..] {
            let said = hops[0].notes.iter().any(|n| n.contains("sent again"));
            assert!(said && !hops[0].ok() && hops[1].hop == 1, "{hops:?}");
        }
        assert_eq!(serving.join().unwrap(), 5);
    }
}

#[test]
fn requests_on_a_closed_connection_are_repeated_only_if_harmless() {
    static SCRIPTS: [Script; 2] = [
        Script {
            answers: 2,
            ..ALL_THREE
        },
        Script {
            hears: 1,
            answers: 1,
            ..ALL_THREE
        },
    ];
    let (place, serving) = server(&SCRIPTS);
    let sequence = three(GET, place);
    assert!(sequence.ok(), "{sequence:?}");
    assert_eq!((hops(&sequence), sequence.connections), (vec![1, 1, 2], 2));
    assert_eq!(serving.join().unwrap(), 4);

    let (place, serving) = server(&SCRIPTS[..1]);
    let sequence = three(POST, place);
    assert_eq!(outcomes(&sequence), [true, true, false], "{sequence:?}");
    assert_eq!((hops(&sequence), sequence.connections), (vec![1, 1, 1], 1));
    let failure = sequence.exchanges().last().unwrap().failure.as_ref();
    assert_eq!(failure.unwrap().kind, FailureKind::Closed, "{failure:?}");
    assert_eq!(serving.join().unwrap(), 3);
}

#[test]
fn a_stream_that_is_reset_fails_alone() {
    const INTERNAL_ERROR: u32 = 2;
    static FAILING: [Script; 1] = [Script {
        answers: 2,
        resets: Some(INTERNAL_ERROR),
        ..ALL_THREE
    }];
    let (place, serving) = server(&FAILING);
    let sequence = three(GET, place);
    assert_eq!(outcomes(&sequence), [true, true, false], "{sequence:?}");
    assert_eq!((hops(&sequence), sequence.connections), (vec![1, 1, 1], 1));
    assert_eq!(serving.join().unwrap(), 3);
}

#[test]
fn a_stream_that_is_refused_goes_again() {
    const REFUSED_STREAM: u32 = 7;
    static REFUSING: [Script; 2] = [
        Script {
            answers: 2,
            resets: Some(REFUSED_STREAM),
            ..ALL_THREE
        },
        Script {
            hears: 1,
            answers: 1,
            ..ALL_THREE
        },
    ];
    let (place, serving) = server(&REFUSING);
    let sequence = three(POST, place);
    assert!(sequence.ok(), "{sequence:?}");
    assert_eq!(hops(&sequence), [1, 1, 2]);
    assert_eq!(serving.join().unwrap(), 4);
}

/// If a new connection answers none of the requests, no other one is opened.
#[test]
fn a_server_that_never_answers_is_asked_once() {
    static SCRIPTS: [Script; 1] = [Script {
        answers: 0,
        goes_away: true,
        ..ALL_THREE
    }];
    let (place, serving) = server(&SCRIPTS);
    let sequence = three(GET, place);
    assert_eq!(outcomes(&sequence), [false; 3], "{sequence:?}");
    assert_eq!((hops(&sequence), sequence.connections), (vec![1, 1, 1], 1));
    assert_eq!(serving.join().unwrap(), 3);
}
