//! Sequences against servers whose every frame is scripted: what is turned away, what may be repeated, what is refused
//! beforehand. No path is needed; the round trips are measured in `strategies`.

#![allow(clippy::unwrap_used)]

mod script;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use roundtrip_model::{Exchange, FailureKind, Target};
use roundtrip_probe::{Ask, Manner, Options, Prober, Sequence};
use script::{ALL_THREE, Script, server};

const GET: &str = "GET";
const POST: &str = "POST";

fn ask(options: Options, urls: &[String], manner: Manner) -> Sequence {
    let targets: Vec<Target> = urls.iter().map(|u| Target::parse(u).unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        prober.sequence(&targets, manner).await
    })
}

/// Three at once, without TLS.
fn three(method: &str, place: SocketAddr) -> Sequence {
    let options = Options {
        strategy: "h2+clear".parse().unwrap(),
        method: Some(method.into()),
        ..Options::default()
    };
    let urls: Vec<String> = (1..=3).map(|n| format!("http://{place}/{n}")).collect();
    ask(options, &urls, Manner::AtOnce)
}

fn hops(sequence: &Sequence) -> Vec<usize> {
    sequence.hops.iter().map(Vec::len).collect()
}

fn outcomes(sequence: &Sequence) -> Vec<bool> {
    sequence.exchanges().map(Exchange::ok).collect()
}

#[test]
fn what_goaway_leaves_out_goes_again_whatever_the_method() {
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
            let said = hops[0].notes.iter().any(|n| n.contains("asked again"));
            assert!(said && !hops[0].ok() && hops[1].hop == 1, "{hops:?}");
        }
        assert_eq!(serving.join().unwrap(), 5);
    }
}

#[test]
fn what_ends_without_a_word_goes_again_only_where_that_does_no_harm() {
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

/// A new connection that answers nobody is not followed by another.
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

#[test]
fn each_body_goes_to_its_own_place() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for body in ["one", "three"] {
            let mut heard = Vec::new();
            let mut byte = [0];
            while !heard.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                heard.extend(byte);
            }
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let mut asks: Vec<Ask<Vec<u8>>> = ["/1", "/3"]
        .map(|path| Ask {
            target: Target::parse(&format!("http://{place}{path}")).unwrap(),
            sink: Vec::new(),
        })
        .into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let sequence = runtime.block_on(async {
        let mut prober = Prober::new(Options::default());
        prober.sequence_into(&mut asks, Manner::Kept).await
    });
    assert!(sequence.ok(), "{sequence:?}");
    assert_eq!(asks[0].sink, b"one");
    assert_eq!(asks[1].sink, b"three");
    serving.join().unwrap();
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_tried() {
    // Nobody listens there, and nobody is asked.
    let here = "http://127.0.0.1:1/".to_owned();
    let there = "http://127.0.0.1:2/".to_owned();
    let echo = "tcp://127.0.0.1:1".to_owned();
    let cases = [
        (
            "h1+clear",
            vec![here.clone(), here.clone()],
            Manner::AtOnce,
            "one request at a time",
        ),
        (
            "auto",
            vec![here.clone(), here.clone()],
            Manner::AtOnce,
            "one request at a time",
        ),
        ("h2+clear", vec![here, there], Manner::AtOnce, "one origin"),
        ("tcp", vec![echo.clone(), echo], Manner::Kept, "echo"),
    ];
    for (word, urls, manner, why) in cases {
        let options = Options {
            strategy: word.parse().unwrap(),
            ..Options::default()
        };
        let sequence = ask(options, &urls, manner);
        assert_eq!(
            (sequence.hops.len(), sequence.connections),
            (2, 0),
            "{word}"
        );
        for exchange in sequence.exchanges() {
            let failure = exchange.failure.as_ref().unwrap();
            assert_eq!(failure.kind, FailureKind::StrategyUnavailable);
            assert!(failure.message.contains(why), "{failure:?}");
        }
    }
    let nothing = ask(Options::default(), &[], Manner::AtOnce);
    assert!(nothing.ok() && nothing.hops.is_empty() && nothing.took.is_zero());
}
