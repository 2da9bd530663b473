//! The kernel's evidence: acknowledgements, departures, gaps, windows, and a client that did not
//! run.

use std::io::{Read, Write};
use std::time::Duration;

use roundtrip_model::{Event, Exchange, Moment, Target, Task};
use roundtrip_net::cpu::ThreadCpu;
use roundtrip_origin::Knobs;
use roundtrip_path::{Direction, LinkMtu, Path};
use roundtrip_probe::{Options, Prober};

use crate::peer::{peer, read_head};
use crate::scene::{RTT, Scene};
use crate::skip;

fn trips(span: Duration) -> f64 {
    span.as_secs_f64() / RTT.as_secs_f64()
}

/// The moments of the events for which `is` returns a value, and that value.
fn told<T>(exchange: &Exchange, is: impl Fn(&Event) -> Option<T>) -> Vec<(Moment, T)> {
    let entries = exchange.timeline.iter();
    entries.filter_map(|(at, e)| Some((*at, is(e)?))).collect()
}

fn acknowledged(exchange: &Exchange) -> Vec<(Moment, Duration)> {
    told(exchange, |event| match event {
        Event::Acknowledged { after, .. } => Some(*after),
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
        assert!((1.0..2.0).contains(&after), "{word}: {after} {heard:?}");
        let first = trips(answered.since(of_request.0));
        assert!(first > 2.0, "{word}: {first}");
    }
}

#[test]
fn each_exchange_of_a_kept_connection_has_its_own_acknowledgements() {
    let scene = Scene::new(Knobs::default());
    let options = Options {
        strategy: "h1+tls1.3+reuse".parse().unwrap(),
        ..Options::default()
    };
    for exchange in scene.probe_times(3, options, "/delay/200") {
        let heard = acknowledged(&exchange);
        assert_eq!(heard.len(), 1, "{:?}", exchange.timeline);
        let (at, after) = heard[0];
        let trips = trips(after);
        assert!((1.0..2.0).contains(&trips), "{trips} {heard:?}");
        assert!(at.since(Moment::ZERO) >= after);
    }
}

#[test]
fn data_in_a_syn_is_acknowledged_by_the_syn_ack_and_what_follows_by_itself() {
    let scene = Scene::new(Knobs::default());
    for _ in 0..2 {
        let exchange = scene.probe("h1+tls1.3+tfo", "/delay/200");
        assert!(exchange.ok(), "{:?}", exchange.failure);
        let asked = exchange.timeline.last(|e| *e == Event::RequestSent);
        let heard = acknowledged(&exchange);
        let of_request = heard.iter().find(|(at, _)| Some(*at) > asked).unwrap();
        let after = trips(of_request.1);
        assert!((1.0..2.0).contains(&after), "{after} {heard:?}");
    }
}

/// The acknowledgements wake the runtime while the writer waits for room; they are not mistaken for
/// room, nor for the end of the connection.
#[test]
fn an_upload_that_waits_for_room_neither_fails_nor_spins() {
    const LENGTH: usize = 300_000;
    let pause = RTT * 10;
    let scene = Scene::new(Knobs::default());
    let near = scene.path.client();
    near.sysctl("net.ipv4.tcp_wmem", "4096 30000 30000")
        .unwrap();
    let slow = peer(&scene, move |mut stream| {
        std::thread::sleep(pause);
        read_head(&stream);
        // Part of the body was read with the head.
        stream.set_read_timeout(Some(RTT * 3)).unwrap();
        let mut rest = Vec::new();
        let _ = (&stream).take(LENGTH as u64).read_to_end(&mut rest);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    let (exchange, used) = scene.near(async || {
        let options = scene.trusting(Options {
            strategy: "h1+clear".parse().unwrap(),
            method: Some("POST".into()),
            body: vec![7; LENGTH].into(),
            ..Options::default()
        });
        let target = Target::parse(&format!("http://{slow}/")).unwrap();
        let mut prober = Prober::new(options);
        let used = ThreadCpu::now();
        let exchange = prober.run(&target, 0, &mut std::io::sink()).await.remove(0);
        (exchange, ThreadCpu::now().since(used).exact)
    });
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert!(used < pause / 4, "{used:?}");
    assert!(acknowledged(&exchange).len() > 3);
}

#[test]
fn a_client_that_does_not_run_says_so() {
    let scene = Scene::new(Knobs::default());
    let stopped = Duration::from_millis(400);
    let exchange = scene.near(async || {
        let options = scene.trusting(Options {
            strategy: "h1+clear".parse().unwrap(),
            ..Options::default()
        });
        let target = scene.target(options.strategy, "/bytes/10");
        // The connection takes one round trip, and the answer comes after two.
        tokio::spawn(async move {
            tokio::time::sleep(RTT * 3 / 2).await;
            std::thread::sleep(stopped);
        });
        let mut prober = Prober::new(options);
        prober.run(&target, 0, &mut std::io::sink()).await.remove(0)
    });
    let starved = starved(&exchange);
    let (at, took) = *starved.iter().max_by_key(|(_, took)| *took).unwrap();
    // Half a round trip of the stop had passed before the answer arrived.
    assert!(took > stopped / 2 && took < stopped, "{starved:?}");
    let came = exchange.timeline.last(|e| *e == Event::FirstByte).unwrap();
    assert!(trips(came.since(Moment::ZERO)) < 3.0, "{came:?}");
    assert!(at.since(came) >= took.mul_f64(0.9), "{starved:?} {came:?}");
}

#[test]
fn a_connection_that_was_noticed_late_is_as_old_as_its_syn_ack() {
    let scene = Scene::new(Knobs::default());
    let exchange = scene.near(async || {
        let options = scene.trusting(Options {
            strategy: "h1+clear".parse().unwrap(),
            ..Options::default()
        });
        let target = scene.target(options.strategy, "/bytes/10");
        tokio::spawn(async move {
            tokio::time::sleep(RTT / 2).await;
            std::thread::sleep(RTT * 4);
        });
        let mut prober = Prober::new(options);
        prober.run(&target, 0, &mut std::io::sink()).await.remove(0)
    });
    let is_open = |e: &Event| matches!(e, Event::Connected { .. });
    let open = exchange.timeline.first(is_open).unwrap();
    assert!(trips(open.since(Moment::ZERO)) < 2.0, "{exchange:?}");
    let starved = starved(&exchange);
    let (at, took) = *starved.iter().max_by_key(|(_, took)| *took).unwrap();
    assert!((2.5..4.5).contains(&trips(took)), "{starved:?}");
    // The rest of it is the client's own processor time.
    let rest = trips(at.since(open)) - trips(took);
    assert!(rest < 0.5, "{open:?} {starved:?}");
}

/// When the client runs again, both the SYN-ACK of the second SYN and the answer have arrived.
#[test]
fn a_syn_ack_that_was_noticed_after_the_answer_came_before_it() {
    let mut path = Path::builder().rtt(RTT);
    path.set("middlebox", "drop-syn-data").unwrap();
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let exchange = scene.near(async || {
        let options = scene.trusting(Options {
            strategy: "h1+clear+tfo".parse().unwrap(),
            ..Options::default()
        });
        let target = scene.target(options.strategy, "/bytes/10");
        let mut prober = Prober::new(options);
        // An unmeasured exchange takes two round trips; the kernel repeats the SYN after a second.
        tokio::spawn(async move {
            tokio::time::sleep(RTT * 5).await;
            std::thread::sleep(RTT * 14);
        });
        prober.run(&target, 0, &mut std::io::sink()).await.remove(0)
    });
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let at = |is: fn(&Event) -> bool| exchange.timeline.first(is);
    let opened = at(|e| matches!(e, Event::SynAcked { .. }));
    let answered = at(|e| *e == Event::FirstByte);
    assert!(opened < answered, "{:?}", exchange.timeline);
    let first = exchange.findings.first().map(|finding| finding.id);
    assert_eq!(first, Some("fast-open-syn-dropped"), "{exchange:?}");
}

#[test]
fn a_slow_output_is_work_of_the_client_and_no_absence() {
    let scene = Scene::new(Knobs::default());
    for word in ["h1+clear", "h2+tls1.3"] {
        let exchange = scene.near(async || {
            let options = scene.trusting(Options {
                strategy: word.parse().unwrap(),
                ..Options::default()
            });
            let target = scene.target(options.strategy, "/bytes/60000");
            let mut prober = Prober::new(options);
            prober.run(&target, 0, &mut Slow).await.remove(0)
        });
        assert!(exchange.ok(), "{:?}", exchange.failure);
        let written: Duration = told(&exchange, |event| match event {
            Event::Worked { task, took } => (*task == Task::Write).then_some(*took),
            _ => None,
        })
        .iter()
        .map(|(_, took)| *took)
        .sum();
        assert!(written >= Slow::BLOCKED * 2, "{word}: {written:?}");
        let absent: Duration = starved(&exchange).iter().map(|(_, took)| *took).sum();
        assert!(absent < written / 2, "{word}: {:?}", exchange.timeline);
    }
}

/// A sink that blocks at each write.
struct Slow;

impl Slow {
    const BLOCKED: Duration = Duration::from_millis(150);
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::thread::sleep(Self::BLOCKED);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn starved(exchange: &Exchange) -> Vec<(Moment, Duration)> {
    told(exchange, |event| match event {
        Event::Starved { took, .. } => Some(*took),
        _ => None,
    })
}

fn gaps(exchange: &Exchange) -> Vec<(Moment, (u32, bool))> {
    told(exchange, |event| match event {
        Event::GapOpened { segments, short } => Some((*segments, *short)),
        _ => None,
    })
}

/// Only short segments of the server's flight get through.
#[test]
fn a_gap_that_is_never_filled_is_reported() {
    let hole = LinkMtu {
        bytes: 1300,
        says_so: false,
    };
    let path = Path::builder()
        .rtt(RTT)
        .link(Direction::Down, |link| link.mtu = Some(hole));
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let options = Options {
        strategy: "h1+clear".parse().unwrap(),
        ..Options::default()
    };
    let options = Options {
        max_time: Duration::from_secs(2),
        ..scene.trusting(options)
    };
    let target = scene.target(options.strategy, "/bytes/1500");
    let exchange = scene.ask(1, options, target).remove(0);
    assert!(!exchange.ok());
    let gaps = gaps(&exchange);
    let [(at, (1, true))] = gaps[..] else {
        panic!("{gaps:?} {:?}", exchange.timeline)
    };
    // A check during the wait noticed it, and dated it back to the segment's arrival.
    let trips = trips(at.since(Moment::ZERO));
    assert!((1.9..3.5).contains(&trips), "{trips}");
}

#[test]
fn a_gap_is_reported_when_it_arises_and_when_it_is_filled() {
    // The SYN-ACK, the acknowledgement of the request, and then the answer.
    let path = Path::builder().rtt(RTT).drop_nth(Direction::Down, 4);
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/8000");
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let filled = told(&exchange, |event| match event {
        Event::Overtaken { late, .. } => Some(*late),
        _ => None,
    });
    let (at, late) = filled[0];
    assert!(trips(late) > 0.5, "{:?}", exchange.timeline);
    // If the gap arises only after a check, it may be filled before the next one.
    for (opened, (_, short)) in gaps(&exchange) {
        assert!(trips(at.since(opened)) > 0.5 && !short, "{filled:?}");
    }
}

#[test]
fn the_client_s_window_is_reported_with_each_flight() {
    let scene = Scene::new(Knobs::default());
    let near = scene.path.client();
    near.sysctl("net.ipv4.tcp_rmem", "4096 8192 8192").unwrap();
    let exchange = scene.probe("h1+clear", "/bytes/40000");
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let flights = told(&exchange, |event| match event {
        Event::Paused { bytes, window, .. } => Some((*bytes, *window)),
        _ => None,
    });
    if flights.iter().all(|(_, (_, window))| window.is_none()) {
        return skip::lacking("a client's window", "Linux 6.2");
    }
    assert!(flights.len() > 3, "{flights:?}");
    for (_, (bytes, window)) in &flights {
        let window = window.unwrap();
        // Each flight fills the window, except for less than a segment.
        assert!((1..=8192).contains(&window), "{flights:?}");
        assert!(*bytes <= window + 1448, "{flights:?}");
    }
    let tcp = exchange.tcp.unwrap();
    assert!(tcp.rtt_var.is_some() && tcp.peer_window > 8192, "{tcp:?}");
}

#[test]
fn the_peer_s_mss_is_known_if_it_is_less_than_the_path_allows() {
    let scene = Scene::new(Knobs::default());
    let usual = scene.probe("h1+clear", "/bytes/10").tcp.unwrap();
    assert_eq!(usual.announced_mss, None, "{usual:?}");
    let path = Path::builder()
        .rtt(RTT)
        .middlebox("clamp-mss:1000".parse().unwrap());
    let scene = Scene::over(path.build().unwrap(), Knobs::default());
    let clamped = scene.probe("h1+clear", "/bytes/10").tcp.unwrap();
    assert_eq!(clamped.announced_mss, Some(1000), "{clamped:?}");
}
