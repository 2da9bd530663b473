//! Requests that have to wait while they are sent.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use roundtrip_model::{Exchange, Target};
use roundtrip_origin::{Expect, Knobs};
use roundtrip_path::Path;
use roundtrip_probe::Options;

use super::{assert_named, trip};
use crate::peer::peer;
use crate::scene::Scene;

fn upload(scene: &Scene, word: &str, bytes: usize, header: Option<(&str, String)>) -> Exchange {
    let header = header.map(|(name, value)| (name.to_owned(), value));
    let options = Options {
        strategy: word.parse().unwrap(),
        body: vec![b'x'; bytes].into(),
        headers: header.into_iter().collect(),
        ..Options::default()
    };
    let exchange = scene.probe_times(1, options, "/bytes/10").remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    exchange
}

#[test]
fn a_body_that_waits_for_permission() {
    let expect = || Some(("Expect", "100-continue".to_owned()));
    let scene = Scene::new(Knobs::default());
    for word in ["h1+clear", "h1+tls1.3"] {
        let exchange = upload(&scene, word, 20, expect());
        assert_named(&exchange, "expect-continue", trip(), 1);
    }
    let mut knobs = Knobs::default();
    knobs.http.expect = Expect::Ignore;
    let exchange = upload(&Scene::new(knobs), "h1+clear", 20, expect());
    assert_named(&exchange, "expect-ignored", 1_000.0, 0);
    assert_eq!(exchange.round_trips(), 2);
}

#[test]
fn a_body_that_waits_for_the_window_to_grow() {
    let scene = Scene::new(Knobs::default());
    // Ten segments, twenty, and the rest.
    let exchange = upload(&scene, "h1+clear", 60_000, None);
    assert_named(&exchange, "upload-slow-start", 2.0 * trip(), 2);
    assert_eq!(exchange.round_trips(), 4);
    let small = upload(&scene, "h1+clear", 10_000, None);
    assert_eq!(small.round_trips(), 2, "{:?}", small.phases());
}

/// Ten round trips of bytes on a line of 1 Mbit/s, or a hello of two segments on a slower one.
#[test]
fn a_line_that_is_slow_for_sent_data() {
    let path = |rate| {
        let mut path = Path::builder();
        for (word, value) in [("rtt", "100ms"), ("rate", rate), ("queue", "up:3s")] {
            path.set(word, value).unwrap();
        }
        Scene::over(path.build().unwrap(), Knobs::default())
    };
    let bytes = 120_000;
    let line = bytes as f64 * 8.0 / 1e3;
    for word in ["h1+clear", "h1+tls1.3"] {
        let exchange = upload(&path("up:1mbit"), word, bytes, None);
        assert_named(&exchange, "slow-uplink", line, 0);
        let server: f64 = exchange.phases().iter().map(|p| p.waited.server).sum();
        assert!(server < 0.2 * line, "{:?}", exchange.phases());
    }
    // At 1 Mbit/s, the 12 ms of a ClientHello would be short compared with a time slice of another
    // program.
    let scene = path("up:250kbit");
    let named = |hello: &Exchange| {
        hello
            .findings
            .first()
            .is_some_and(|f| f.id == "slow-uplink")
    };
    let hellos = (0..15).map(|_| scene.probe("h1+tls1.3", "/bytes/10"));
    let hello = hellos.into_iter().find(named).unwrap();
    assert_named(&hello, "slow-uplink", 44.0, 0);
}

#[test]
fn a_head_that_is_more_than_a_window() {
    let scene = Scene::new(Knobs::default());
    let cookie = Some(("Cookie", "c=".to_owned() + &"x".repeat(20_000)));
    let exchange = upload(&scene, "h1+clear", 0, cookie);
    assert_named(&exchange, "request-over-window", trip(), 1);
}

/// Just enough of HTTP/2 to allow another window whenever the previous one is used up, and to
/// answer 200. RFC 9113 §6.
fn miserly(mut stream: TcpStream) {
    const WINDOW: usize = 65_535;
    let frame = |kind: u8, flags: u8, id: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, id], payload].concat()
    };
    let credit = u32::try_from(WINDOW).unwrap().to_be_bytes();
    stream.set_nodelay(true).unwrap();
    stream.read_exact(&mut [0; 24]).unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    let (mut head, mut used) = ([0; 9], 0);
    while stream.read_exact(&mut head).is_ok() {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        stream.read_exact(&mut vec![0; length]).unwrap();
        let (kind, ends) = (head[3], head[4] & 1 == 1);
        let answer = match kind {
            0 if ends => frame(1, 5, 1, &[0x88]),
            0 => {
                used += length;
                if used < WINDOW {
                    continue;
                }
                used -= WINDOW;
                [frame(8, 0, 0, &credit), frame(8, 0, 1, &credit)].concat()
            }
            4 if !ends => frame(4, 1, 0, &[]),
            _ => continue,
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn a_body_that_waits_for_http_2_s_window() {
    let scene = Scene::new(Knobs::default());
    let target = Target::parse(&format!("http://{}/", peer(&scene, miserly))).unwrap();
    let options = Options {
        strategy: "h2+clear".parse().unwrap(),
        body: vec![b'x'; 15 * 65_535].into(),
        max_time: Duration::from_secs(20),
        ..Options::default()
    };
    let exchange = scene.ask(1, options, target).remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let told = || format!("{:?} {:?}", exchange.findings, exchange.phases());
    let waits = exchange.findings.first().map_or(0, |f| f.round_trips);
    // Fourteen windows beyond the first, while the connection's own window would double six times.
    assert!(waits >= 14 - 6, "{}", told());
    let cost = f64::from(waits) * trip();
    assert_named(&exchange, "h2-upload-window", cost, waits);
    // A server that allows much at once is not a cause.
    let generous = upload(&scene, "h2+tls1.3", 300_000, None);
    let found = generous.findings.first().map(|f| f.id);
    assert_eq!(found, Some("upload-slow-start"), "{:?}", generous.phases());
}

#[test]
fn a_server_that_does_not_read() {
    let scene = Scene::new(Knobs::default());
    let lazy = peer(&scene, |mut stream| {
        std::thread::sleep(Duration::from_millis(1_500));
        let mut buffer = vec![0; 64 * 1024];
        let mut read = 0;
        while read < 3_000_000 {
            match stream.read(&mut buffer) {
                Ok(n @ 1..) => read += n,
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    let options = Options {
        strategy: "h1+clear".parse().unwrap(),
        body: vec![b'x'; 3_000_000].into(),
        max_time: Duration::from_secs(20),
        ..Options::default()
    };
    let target = Target::parse(&format!("http://{lazy}/")).unwrap();
    let exchange = scene.ask(1, options, target).remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let limited = exchange
        .tcp
        .as_ref()
        .unwrap()
        .receiver_limited
        .as_secs_f64()
        * 1e3;
    assert!(limited > 300.0, "{:?}", exchange.tcp);
    let first = exchange.findings.first().unwrap();
    assert_eq!(first.id, "upload-window", "{:?}", exchange.findings);
    assert!(
        (0.95 * limited..1.01 * limited).contains(&first.ms),
        "{first:?} {limited}"
    );
}
