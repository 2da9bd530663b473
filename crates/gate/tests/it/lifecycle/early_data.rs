//! Early data on a connection whose handshake never completed: it may be a replay. RFC 8446 §8.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use roundtrip_gate::config::Limits;

use crate::lifecycle::quic::{Caller, EARLY, run, scene};
use crate::lifecycle::scene::{PATIENCE, Scene};

/// A backend that counts its requests.
fn backend() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = reached.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), count.clone());
            thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                    count.fetch_add(1, Ordering::Relaxed);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                }
            });
        }
    });
    (at, reached)
}

/// An attacker on the path: once activated, it lets only first flights pass.
struct Interceptor {
    at: SocketAddr,
    robs: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Interceptor {
    fn before(gate: SocketAddr) -> Self {
        let socket = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let soon = Some(Duration::from_millis(100));
            socket.set_read_timeout(soon).unwrap();
            socket
        };
        let (front, back) = (socket(), socket());
        back.connect(gate).unwrap();
        let at = front.local_addr().unwrap();
        let (robs, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (answered, client) = (Arc::<AtomicBool>::default(), Arc::new(Mutex::new(at)));
        let flag = |flag: &Arc<AtomicBool>| flag.clone();
        let there = (front.try_clone().unwrap(), back.try_clone().unwrap());
        let (robbing, heard, ended) = (flag(&robs), flag(&answered), flag(&over));
        let whose = client.clone();
        thread::spawn(move || {
            let mut datagram = [0; 2000];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = there.0.recv_from(&mut datagram) else {
                    continue;
                };
                *whose.lock().unwrap() = from;
                let is_first = is_first_flight(&datagram, heard.load(Ordering::Relaxed));
                if is_first || !robbing.load(Ordering::Relaxed) {
                    let _ = there.1.send(&datagram[..length]);
                }
            }
        });
        let (robbing, ended) = (flag(&robs), flag(&over));
        thread::spawn(move || {
            let mut datagram = [0; 2000];
            while !ended.load(Ordering::Relaxed) {
                let Ok(length) = back.recv(&mut datagram) else {
                    continue;
                };
                if robbing.load(Ordering::Relaxed) {
                    answered.store(true, Ordering::Relaxed);
                } else {
                    let _ = front.send_to(&datagram[..length], *client.lock().unwrap());
                }
            }
        });
        Self { at, robs, over }
    }
}

impl Drop for Interceptor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Initial packets up to the answer, and early data. RFC 9000 §17.2.
fn is_first_flight(datagram: &[u8], answered: bool) -> bool {
    match datagram[0] & 0xb0 {
        0x80 => !answered,
        0x90 => true,
        _ => false,
    }
}

fn requests(scene: &Scene) -> u64 {
    let (_, metrics) = scene.admin("/metrics");
    let of_requests = metrics
        .lines()
        .filter(|line| line.starts_with("roundtrip_gate_requests_total{"));
    of_requests
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
        .sum()
}

/// Sends a request as early data. Dropping what is returned closes the connection.
async fn send_early(caller: &Caller, request: http::request::Builder) -> impl Sized + use<> {
    let connecting = caller.endpoint.connect(caller.to, "localhost").unwrap();
    let (connection, accepted) = connecting.into_0rtt().ok().unwrap();
    let carrier = h3_quinn::Connection::new(connection);
    let (driver, mut sender) = h3::client::new(carrier).await.unwrap();
    let request = request.body(()).unwrap();
    let mut stream = sender.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    (accepted, driver, sender, stream)
}

#[test]
fn early_requests_of_unconfirmed_clients_reach_no_backend() {
    let (at, reached) = backend();
    let more = format!("auth = false\n{EARLY}[limits]\nidle_time = \"1s\"\n");
    let scene = scene(at, &more);
    let way = Interceptor::before(scene.gate().addresses().https[0]);
    run(async {
        let mut caller = Caller::new(&scene);
        caller.to = way.at;
        assert_eq!(caller.ask("/").await, (false, 200));
        way.robs.store(true, Ordering::Relaxed);
        let _early = send_early(&caller, http::Request::post("https://localhost/order")).await;
        let ended = async {
            while requests(&scene) < 2 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.unwrap();
    });
    let (_, metrics) = scene.admin("/metrics");
    assert!(metrics.contains("roundtrip_gate_tls_handshakes_total{kind=\"early\"} 1"));
    assert_eq!(reached.load(Ordering::Relaxed), 1, "{metrics}");
}

/// A client that sends early data from an address and never reads an answer there may have forged
/// it: the backend would get another client's address.
#[test]
fn early_data_waits_until_the_address_is_validated() {
    for (has_token, passed) in [(true, 2), (false, 1)] {
        let (at, reached) = backend();
        let more = format!("auth = false\n{EARLY}[limits]\nidle_time = \"1s\"\n");
        let scene = scene(at, &more);
        let way = Interceptor::before(scene.gate().addresses().https[0]);
        run(async {
            let mut caller = if has_token {
                Caller::new(&scene)
            } else {
                Caller::without_tokens(&scene)
            };
            caller.to = way.at;
            assert_eq!(caller.ask("/").await, (false, 200));
            way.robs.store(true, Ordering::Relaxed);
            let _early = send_early(&caller, http::Request::get("https://localhost/")).await;
            let arriving = async {
                while reached.load(Ordering::Relaxed) < 2 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            let patience = if has_token {
                PATIENCE
            } else {
                Duration::from_secs(2)
            };
            let _ = tokio::time::timeout(patience, arriving).await;
        });
        assert_eq!(reached.load(Ordering::Relaxed), passed);
    }
}

type Change = fn(&mut Limits);

/// RFC 9000 §7.4.1, RFC 9114 §7.2.4.2: the client sends early data under the limits that it
/// remembers.
#[test]
fn early_data_under_limits_that_were_lowered_is_refused() {
    let (at, _) = backend();
    let changes: [(&str, Change, bool); 4] = [
        ("as before", |_| {}, true),
        ("higher", |limits| limits.streams += 1, true),
        ("fewer streams", |limits| limits.streams -= 1, false),
        ("smaller heads", |limits| limits.head.0 -= 1, false),
    ];
    for (name, change, is_taken) in changes {
        let scene = scene(at, &format!("auth = false\n{EARLY}"));
        run(async {
            let caller = Caller::new(&scene);
            assert_eq!(caller.ask("/").await, (false, 200), "{name}");
            assert_eq!(caller.ask("/").await, (true, 200), "{name}");
            let mut config = scene.config.clone();
            change(&mut config.limits);
            scene.gate().reload(config).unwrap();
            assert_eq!(caller.may_send_early_data().await, is_taken, "{name}");
        });
    }
}
