//! The announcements of a name server decide which protocol a modern client uses.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use roundtrip_model::{Answer, AttemptOutcome, Http, PhaseName, Target};
use roundtrip_origin::{Knobs, Quic};
use roundtrip_probe::Options;
use roundtrip_wire::dns::{Data, Kind, Message, Name, Rcode, Record, Service};

use crate::scene::{RTT, Scene};

/// Answers all queries about one host at the server's end of the path, until its thread is the last
/// owner of the socket.
fn name_server(scene: &Scene, alpn: &'static [&'static str]) -> SocketAddr {
    let address = scene.path.server().address_v4();
    let socket = scene
        .path
        .server()
        .run(move || UdpSocket::bind((address, 0)).unwrap())
        .unwrap();
    let place = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((n, from)) = socket.recv_from(&mut buffer) {
            let reply = answer(&Message::parse(&buffer[..n]).unwrap(), address, alpn);
            socket.send_to(&reply.encode().unwrap(), from).unwrap();
        }
    });
    place
}

fn answer(query: &Message, address: Ipv4Addr, alpn: &[&str]) -> Message {
    let question = query.questions.first().unwrap();
    let mut reply = query.reply(Rcode::NO_ERROR);
    let data = match question.kind {
        Kind::A => Data::A(address),
        Kind::HTTPS if !alpn.is_empty() => Data::Https(Service {
            target: Name::root(),
            alpn: alpn.iter().map(ToString::to_string).collect(),
            ..Service::default()
        }),
        _ => return reply,
    };
    reply.answers.push(Record {
        name: question.name.clone(),
        ttl: 60,
        data,
    });
    reply
}

fn scene() -> Scene {
    let mut knobs = Knobs::default();
    knobs.http.alt_svc = Some("none".into());
    Scene::new(knobs)
}

fn ask(scene: &Scene, alpn: &'static [&'static str]) -> roundtrip_model::Exchange {
    let options = Options {
        name_servers: vec![name_server(scene, alpn)],
        ..scene.trusting(Options::default())
    };
    let target = Target::parse(&format!(
        "https://far.test:{}/bytes/10",
        scene.origin.https.port()
    ))
    .unwrap();
    scene.ask(1, options, target).remove(0)
}

#[test]
fn an_https_record_that_announces_h3_is_honoured_at_once() {
    let scene = scene();
    let exchange = ask(&scene, &["h3", "h2"]);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let name = exchange.name.as_ref().unwrap();
    assert!(matches!(name.answer, Answer::Server(_)));
    assert_eq!(name.https_record.as_ref().unwrap().alpn, ["h3", "h2"]);
    assert_eq!(exchange.used.http, Http::H3, "{:?}", exchange.notes);
    // The name costs a round trip to the resolver over this path, but no extra round trip to the
    // target.
    let phases = exchange.phases();
    let lookup = phases.iter().find(|p| p.name == PhaseName::Name).unwrap();
    assert_eq!(lookup.round_trips, 0);
    let trips = lookup.waited.resolver / (RTT.as_secs_f64() * 1e3);
    assert!((0.99..1.9).contains(&trips), "{lookup:?}");
    assert_eq!(exchange.round_trips(), 2);
}

#[test]
fn without_the_record_tcp_is_used() {
    let scene = scene();
    for alpn in [&[][..], &["h2"]] {
        let exchange = ask(&scene, alpn);
        assert!(exchange.ok(), "{:?}", exchange.failure);
        assert_eq!(exchange.used.http, Http::H2);
        assert_eq!(exchange.round_trips(), 3);
    }
}

/// The refusal arrives after one round trip, and QUIC's head start is three of them.
#[test]
fn a_udp_port_that_refuses_lets_tcp_start_at_once() {
    let mut knobs = Knobs::default();
    knobs.listen.h3 = Quic::Off;
    let scene = Scene::new(knobs);
    let exchange = ask(&scene, &["h3", "h2"]);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_eq!(exchange.used.http, Http::H2);
    let [quic, tcp] = exchange.attempts.as_slice() else {
        panic!("{:?}", exchange.attempts);
    };
    assert!(quic.over_quic && !tcp.over_quic);
    let AttemptOutcome::Failed(why) = &quic.outcome else {
        panic!("{quic:?}");
    };
    assert!(why.contains("connection refused"), "{why}");
    assert!(tcp.began >= quic.ended);
    assert!(tcp.began.since(quic.began) < 2 * RTT, "{quic:?} {tcp:?}");
    let named = exchange.findings.iter().any(|f| f.id == "quic-failed");
    assert!(named, "{:?}", exchange.findings);
}
