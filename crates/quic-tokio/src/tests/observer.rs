//! What an observer sees, and when.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use roundtrip_model::Moment;
use roundtrip_quic::Endpoint as Engine;
use tokio::task::yield_now;

use super::config;
use crate::{DatagramObserver, Endpoint};

/// Records what it sees, and which task ran in between.
#[derive(Default)]
struct Log {
    each: bool,
    written: Mutex<Vec<String>>,
}

impl Log {
    fn write(&self, what: &str) {
        self.written.lock().unwrap().push(what.to_owned());
    }
}

impl DatagramObserver for Log {
    fn now(&self) -> Moment {
        Moment::ZERO
    }

    fn on_sent(&self, _: Moment, segment: usize, bytes: &[u8]) {
        self.write(&format!("{segment} of {} left", bytes.len()));
    }

    fn on_received(&self, _: Moment, _: usize, bytes: &[u8]) {
        self.write(&format!("{} came", bytes.len()));
    }

    fn wants_each(&self) -> bool {
        self.each
    }
}

/// Returns what an observer saw while an endpoint received three datagrams, with the turns of
/// another task in between.
async fn watch(each: bool) -> Vec<String> {
    let log = Arc::new(Log {
        each,
        ..Log::default()
    });
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [30, 40, 50] {
        sender.send_to(&[0; 60][..length], to).unwrap();
    }
    let engine = Engine::new(None, [9; 32]);
    let _endpoint = Endpoint::with_observer(socket, engine, log.clone()).unwrap();
    let heard = |log: &Log| {
        let written = log.written.lock().unwrap();
        written.iter().filter(|line| line.ends_with("came")).count()
    };
    for _ in 0..100 {
        yield_now().await;
        log.write("others");
        if heard(&log) == 3 {
            break;
        }
    }
    let mut written = std::mem::take(&mut *log.written.lock().unwrap());
    written.dedup();
    let first = written.iter().position(|line| line.ends_with("came"));
    written.drain(..first.unwrap());
    written
}

#[tokio::test]
async fn an_observer_sees_each_datagram_before_the_next_arrives() {
    let together = ["30 came", "40 came", "50 came", "others"];
    assert_eq!(watch(false).await, together);
    let singly = [
        "30 came", "others", "40 came", "others", "50 came", "others",
    ];
    assert_eq!(watch(true).await, singly);
}

#[tokio::test]
async fn an_observer_sees_sent_datagrams_with_their_length() {
    let log = Arc::new(Log::default());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let engine = Engine::new(None, [9; 32]);
    let endpoint = Endpoint::with_observer(socket, engine, log.clone()).unwrap();
    let to = silent.local_addr().unwrap();
    let connection = endpoint.connect(&config(), to, "localhost").unwrap();
    let mut lengths = 0;
    for _ in 0..3 {
        yield_now().await;
    }
    silent.set_nonblocking(true).unwrap();
    while let Ok(length) = silent.recv(&mut [0; 2048]) {
        lengths += length;
        assert!(
            log.written
                .lock()
                .unwrap()
                .contains(&format!("{length} of {length} left"))
        );
    }
    assert!(lengths >= 1200);
    drop(connection);
}
