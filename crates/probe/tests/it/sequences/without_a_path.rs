//! Sequences that need no path: the destinations of bodies, and requests that are refused
//! beforehand.

use std::io::{Read, Write};
use std::net::TcpListener;

use roundtrip_model::{FailureKind, Target};
use roundtrip_probe::{ConnectionUse, Options, Prober, Sequence, SequenceRequest};

pub(crate) fn ask(options: Options, urls: &[String], manner: ConnectionUse) -> Sequence {
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
    let mut asks: Vec<SequenceRequest<Vec<u8>>> = ["/1", "/3"]
        .map(|path| SequenceRequest {
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
        prober.sequence_into(&mut asks, ConnectionUse::Kept).await
    });
    assert!(sequence.ok(), "{sequence:?}");
    assert_eq!(asks[0].sink, b"one");
    assert_eq!(asks[1].sink, b"three");
    serving.join().unwrap();
}

#[test]
fn impossible_sequences_are_refused_before_anything_is_tried() {
    // Nothing listens on these ports, and no request is sent.
    let here = "http://127.0.0.1:1/".to_owned();
    let there = "http://127.0.0.1:2/".to_owned();
    let echo = "tcp://127.0.0.1:1".to_owned();
    let cases = [
        (
            "h1+clear",
            vec![here.clone(), here.clone()],
            ConnectionUse::AtOnce,
            "one request at a time",
        ),
        (
            "auto",
            vec![here.clone(), here.clone()],
            ConnectionUse::AtOnce,
            "one request at a time",
        ),
        (
            "h2+clear",
            vec![here, there],
            ConnectionUse::AtOnce,
            "same origin",
        ),
        ("tcp", vec![echo.clone(), echo], ConnectionUse::Kept, "echo"),
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
    let nothing = ask(Options::default(), &[], ConnectionUse::AtOnce);
    assert!(nothing.ok() && nothing.hops.is_empty() && nothing.took.is_zero());
}
