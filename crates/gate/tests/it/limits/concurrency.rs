//! The limit on exchanges that one client, and one session, may have at once: a client that sends
//! more requests gets 429, and others are served meanwhile.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::exchanges::raw_client::{RawClient, field};
use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::soon;
use crate::readings::h2::Connection;
use roundtrip_gate::config::Config;

const MOST: usize = 5;
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn work(client: &mut RawClient, path: &str, field: &str) {
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
}

/// A client with this address.
pub(crate) fn from(address: IpAddr, to: SocketAddr) -> RawClient {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(address, 0).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    RawClient::new(TcpStream::from(socket))
}

/// 429 with `Retry-After` (RFC 6585 §4); and the backend gets nothing.
fn is_refused(client: &mut RawClient) {
    let answer = client.answer().whole(429);
    let after = field(&answer.head, "retry-after").unwrap_or_else(|| panic!("{}", answer.head));
    assert!(
        after.parse::<u32>().is_ok_and(|seconds| seconds > 0),
        "{after}"
    );
}

#[test]
fn the_exchanges_of_one_address_are_bounded() {
    let backend = Backend::start();
    let more = format!("[limits]\nexchanges_per_client = {MOST}\n");
    let scene = Scene::tuned(backend.at, &more, |config| {
        // The limit is common to all threads.
        config.listen.threads = 2;
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
        config.route[0].auth = false;
    });
    let gate = scene.gate().addresses().http[0];
    let mut holding: Vec<RawClient> = (0..MOST)
        .map(|_| {
            let mut client = RawClient::to(gate);
            work(&mut client, "/work", "");
            client
        })
        .collect();
    assert!(soon(|| backend.working() == MOST));
    let mut one_more = RawClient::to(gate);
    for _ in 0..3 {
        work(&mut one_more, "/quick", "");
        is_refused(&mut one_more);
    }
    // Over any protocol.
    let mut connection = Connection::open(&scene, &[]);
    let fields: [(&str, &[u8]); 4] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/quick"),
    ];
    let id = connection.ask(&fields, true);
    assert_eq!(connection.answer(id).status, 429);
    // Other clients have their own limit.
    let mut other = from(OTHER, gate);
    work(&mut other, "/quick", "");
    other.answer().whole(200);
    assert_eq!(backend.asked(), MOST);
    // One exchange ends, so another may begin.
    drop(holding.pop());
    assert!(soon(|| backend.working() == MOST - 1));
    let served = soon(|| {
        work(&mut one_more, "/quick", "");
        one_more.answer().status() == 200
    });
    assert!(served);
    backend.release();
    for client in &mut holding {
        client.answer().whole(200);
    }
}

/// An upload is an exchange too, wherever its body is.
#[test]
fn uploads_of_one_address_are_bounded() {
    let backend = Backend::start();
    let more = format!("[limits]\nexchanges_per_client = {MOST}\n");
    let scene = Scene::tuned(backend.at, &more, |config| {
        config.listen.threads = 2;
        config.route[0].auth = false;
    });
    let gate = scene.gate().addresses().http[0];
    let mut holding: Vec<RawClient> = (0..MOST)
        .map(|_| {
            let mut client = RawClient::to(gate);
            client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
            client
        })
        .collect();
    assert!(soon(|| crate::limits::exchanges(&scene) == MOST));
    let mut one_more = RawClient::to(gate);
    work(&mut one_more, "/quick", "");
    is_refused(&mut one_more);
    for client in &mut holding {
        client.send("hello");
        assert_eq!(client.answer().whole(200).body, "10");
    }
    let served = soon(|| {
        work(&mut one_more, "/quick", "");
        one_more.answer().status() == 200
    });
    assert!(served);
}

#[test]
fn the_exchanges_of_one_session_are_bounded() {
    let backend = Backend::start();
    let more = format!("[limits]\nexchanges_per_session = {MOST}\n");
    let scene = Scene::tuned(backend.at, &more, |config| config.listen.threads = 2);
    let gate = scene.gate().addresses().http[0];
    let (one, two) = (scene.session("one", "u:p"), scene.session("two", "u:p"));
    let fields = [format!("{one}\r\n"), format!("{two}\r\n")];
    let mut holding: Vec<RawClient> = (0..MOST)
        .map(|n| {
            // From either address.
            let mut client = if n % 2 == 0 {
                RawClient::to(gate)
            } else {
                from(OTHER, gate)
            };
            work(&mut client, "/work", &fields[0]);
            client
        })
        .collect();
    assert!(soon(|| backend.working() == MOST));
    let mut client = RawClient::to(gate);
    for _ in 0..3 {
        work(&mut client, "/quick", &fields[0]);
        is_refused(&mut client);
        // The other session, on the same connection of the same user.
        work(&mut client, "/quick", &fields[1]);
        client.answer().whole(200);
    }
    assert_eq!(backend.asked(), MOST);
    backend.release();
    for client in &mut holding {
        client.answer().whole(200);
    }
    let served = soon(|| {
        work(&mut client, "/quick", &fields[0]);
        client.answer().status() == 200
    });
    assert!(served);
}

/// The requests of a trusted proxy count for the clients that it names.
#[test]
fn clients_of_a_trusted_proxy_have_their_own_bounds() {
    let backend = Backend::start();
    let more = format!("[limits]\nexchanges_per_client = {MOST}\n");
    let scene = Scene::tuned(backend.at, &more, |config| {
        config.listen.threads = 1;
        config.listen.trusted = trusted();
        config.route[0].auth = false;
    });
    let gate = scene.gate().addresses().http[0];
    let _holding: Vec<RawClient> = (0..MOST)
        .map(|_| {
            let mut client = RawClient::to(gate);
            work(&mut client, "/work", "X-Forwarded-For: 192.0.2.1\r\n");
            client
        })
        .collect();
    assert!(soon(|| backend.working() == MOST));
    let mut proxy = RawClient::to(gate);
    for refused in [
        "192.0.2.1",
        "198.51.100.7, 192.0.2.1",
        "192.0.2.1, 127.0.0.9",
    ] {
        let field = format!("X-Forwarded-For: {refused}\r\n");
        work(&mut proxy, "/quick", &field);
        is_refused(&mut proxy);
    }
    for served in ["X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n", ""] {
        work(&mut proxy, "/quick", served);
        proxy.answer().whole(200);
    }
}

/// The connections of a proxy that sends PROXY headers count for the clients that these name.
#[test]
fn connections_through_a_proxy_count_for_its_clients() {
    let backend = Backend::start();
    let more = "[limits]\nconnections_per_client = 1\n";
    let scene = Scene::tuned(backend.at, more, |config| {
        config.listen.proxy_protocol_from = trusted();
        config.route[0].auth = false;
    });
    let gate = scene.gate().addresses().http[0];
    let ask = |source: &str| {
        let mut client = RawClient::to(gate);
        client.send(&format!("PROXY TCP4 {source} 192.0.2.80 1000 80\r\n"));
        work(&mut client, "/quick", "");
        client
    };
    let mut first = ask("192.0.2.1");
    first.answer().whole(200);
    ask("192.0.2.2").answer().whole(200);
    assert_eq!(ask("192.0.2.1").answer().status(), 0);
    work(&mut first, "/quick", "");
    first.answer().whole(200);
}

fn trusted() -> Vec<roundtrip_gate::config::Network> {
    let config = "[listen]\ntrusted = [\"127.0.0.0/8\"]\n";
    Config::parse(config, "test").unwrap().listen.trusted
}
