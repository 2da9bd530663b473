//! Name servers that make a lookup long, each in a different way.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use roundtrip_model::{Exchange, PhaseName, Target};
use roundtrip_origin::Knobs;
use roundtrip_path::Namespace;
use roundtrip_probe::{Family, Options};
use roundtrip_wire::dns::{Data, Kind, Message, Rcode, Record};

use super::assert_named;
use crate::peer::peer;
use crate::scene::{RTT, Scene};

/// Maps a query (over TCP or not) to its answer and the delay; `None` means silence.
type Answer = dyn Fn(&Message, bool) -> Option<(Message, Duration)> + Send + Sync;

fn name_server(at: &Namespace, answer: Arc<Answer>) -> SocketAddr {
    let address = at.address_v4();
    let (udp, tcp) = at
        .run(move || {
            // Another listener may use the port over TCP: then the next free one is tried.
            loop {
                let udp = UdpSocket::bind((address, 0)).unwrap();
                match TcpListener::bind(udp.local_addr().unwrap()) {
                    Ok(tcp) => break (udp, tcp),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
                }
            }
        })
        .unwrap();
    let place = udp.local_addr().unwrap();
    let over_tcp = answer.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((n, from)) = udp.recv_from(&mut buffer) {
            let query = Message::parse(&buffer[..n]).unwrap();
            let Some((reply, late)) = answer(&query, false) else {
                continue;
            };
            let udp = udp.try_clone().unwrap();
            std::thread::spawn(move || {
                std::thread::sleep(late);
                udp.send_to(&reply.encode().unwrap(), from).unwrap();
            });
        }
    });
    std::thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut query = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut query).unwrap();
            let query = Message::parse(&query).unwrap();
            if let Some((reply, _)) = over_tcp(&query, true) {
                let reply = reply.encode().unwrap();
                let length = u16::try_from(reply.len()).unwrap().to_be_bytes();
                stream.write_all(&[&length[..], &reply].concat()).unwrap();
            }
        }
    });
    place
}

/// An answer that contains only the address of the host.
fn reply(query: &Message, address: Ipv4Addr) -> Message {
    let question = &query.questions[0];
    let mut reply = query.reply(Rcode::NO_ERROR);
    if question.kind == Kind::A {
        let name = question.name.clone();
        let data = Data::A(address);
        reply.answers.push(Record {
            name,
            ttl: 60,
            data,
        });
    }
    reply
}

fn ask(
    scene: &Scene,
    server: SocketAddr,
    word: &str,
    change: impl FnOnce(&mut Options),
) -> Exchange {
    let mut options = Options {
        strategy: word.parse().unwrap(),
        name_servers: vec![server],
        ..scene.trusting(Options::default())
    };
    change(&mut options);
    let url = if word.contains("clear") {
        format!("http://far.test:{}/bytes/10", scene.origin.http.port())
    } else {
        format!("https://far.test:{}/bytes/10", scene.origin.https.port())
    };
    let exchange = scene
        .ask(1, options, Target::parse(&url).unwrap())
        .remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    exchange
}

#[test]
fn a_dropped_query_delays_the_answer_of_the_other_type() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let asked = AtomicU32::new(0);
    let answer = move |query: &Message, _| {
        let dropped =
            query.questions[0].kind == Kind::AAAA && asked.fetch_add(1, Ordering::Relaxed) == 0;
        (!dropped).then(|| (reply(query, address), Duration::ZERO))
    };
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |_| ());
    let half = exchange.name.as_ref().unwrap().waits.half.as_secs_f64() * 1e3;
    assert!(
        half >= 1_000.0,
        "{half}: the shortest timeout of a resolver"
    );
    assert_named(&exchange, "dns-one-family-unanswered", half, 0);
}

#[test]
fn an_answer_that_is_too_long_for_a_datagram() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let answer = move |query: &Message, over_tcp: bool| {
        let mut reply = reply(query, address);
        reply.truncated = !over_tcp;
        Some((reply, Duration::ZERO))
    };
    let server = name_server(scene.path.server(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |_| ());
    assert_named(&exchange, "dns-over-tcp", 2.0 * super::trip(), 0);
}

#[test]
fn an_https_record_that_does_not_come() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let answer = move |query: &Message, _| {
        (query.questions[0].kind != Kind::HTTPS).then(|| (reply(query, address), Duration::ZERO))
    };
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "auto+tls1.3", |_| ());
    assert_named(&exchange, "https-record-late", 50.0, 0);
}

#[test]
fn a_slow_name_server() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let late = Duration::from_millis(120);
    let answer = move |query: &Message, _| Some((reply(query, address), late));
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |_| ());
    assert_named(&exchange, "slow-name-lookup", 120.0, 0);
}

#[test]
fn a_question_that_has_to_be_repeated() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let asked = AtomicU32::new(0);
    let answer = move |query: &Message, _| {
        let again = asked.fetch_add(1, Ordering::Relaxed) > 0;
        again.then(|| (reply(query, address), Duration::ZERO))
    };
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |options| {
        options.family = Family::V4;
    });
    let lookup = exchange
        .phases()
        .into_iter()
        .find(|p| p.name == PhaseName::Name);
    let took = lookup.unwrap().ms();
    assert!(
        took >= 1_000.0,
        "{took}: the shortest timeout of a resolver"
    );
    assert_named(&exchange, "dns-query-unanswered", took, 0);
}

/// An answer by way of three aliases.
fn by_aliases(query: &Message, address: Ipv4Addr) -> Message {
    let mut message = reply(query, address);
    if let Some(mut last) = message.answers.pop() {
        for n in 0..3 {
            let next = format!("alias{n}.test").parse().unwrap();
            let name = std::mem::replace(&mut last.name, next);
            let data = Data::Cname(last.name.clone());
            message.answers.push(Record {
                name,
                ttl: 60,
                data,
            });
        }
        message.answers.push(last);
    }
    message
}

/// The resolver follows the aliases once; if it is asked again, it knows them.
#[test]
fn a_chain_of_aliases() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let asked = AtomicU32::new(0);
    let answer = move |query: &Message, _| {
        let late = if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            120
        } else {
            0
        };
        Some((by_aliases(query, address), Duration::from_millis(late)))
    };
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |options| {
        options.family = Family::V4;
    });
    assert_named(&exchange, "alias-chain", 120.0, 0);
}

#[test]
fn aliases_that_a_distant_resolver_knows() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let late = Duration::from_millis(60);
    let answer = move |query: &Message, _| Some((by_aliases(query, address), late));
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "h1+clear", |options| {
        options.family = Family::V4;
    });
    assert_named(&exchange, "slow-name-lookup", 60.0, 0);
}

#[test]
fn http_3_that_no_record_announces() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let answer = move |query: &Message, _| Some((reply(query, address), Duration::ZERO));
    let server = name_server(scene.path.client(), Arc::new(answer));
    let exchange = ask(&scene, server, "auto", |_| ());
    assert_named(&exchange, "h3-by-alt-svc-only", super::trip(), 1);
    let chosen = ask(&scene, server, "h2+tls1.3", |_| ());
    assert!(chosen.findings.iter().all(|f| f.id != "h3-by-alt-svc-only"));
}

/// DNS over HTTP in clear text, which suffices for a resolver that must be connected to first.
#[test]
fn a_resolver_that_has_to_be_connected_to() {
    let scene = Scene::new(Knobs::default());
    let address = scene.path.server().address_v4();
    let resolver = peer(&scene, move |mut stream| {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            let request = &buffer[..n];
            let end = request.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
            let query = Message::parse(&request[end..]).unwrap();
            let body = reply(&query, address).encode().unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream
                .write_all(&[head.as_bytes(), &body].concat())
                .unwrap();
        }
    });
    let server = ([127, 0, 0, 1], 9).into();
    let exchange = ask(&scene, server, "h1+clear", |options| {
        options.doh = Some(Target::parse(&format!("http://{resolver}/dns-query")).unwrap());
        options.family = Family::V4;
    });
    // The query itself takes as long again, which is the resolver's distance.
    let found = exchange
        .findings
        .iter()
        .find(|f| f.id == "doh-connection")
        .unwrap();
    let trip = RTT.as_secs_f64() * 1e3;
    assert!(
        (0.95 * trip..2.0 * trip).contains(&found.ms),
        "{:?}",
        exchange.findings
    );
}
