//! Transfers whose receiver takes nothing: they stop, and do not accumulate in gate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::alone;
use crate::gauge::{gate, resident};

const SIZE: u64 = 64 << 20;
const TRANSFERS: u64 = 4;
/// The memory that a transfer may use in gate.
const MOST: u64 = 1 << 20;

/// The progress of the fast senders, and whether the slow receivers may begin.
#[derive(Default)]
struct Progress {
    sent: AtomicU64,
    received: AtomicU64,
    go: AtomicBool,
}

impl Progress {
    /// Waits until no sender makes progress.
    fn stalls(&self) {
        let mut before = u64::MAX;
        loop {
            let sent = self.sent.load(Ordering::SeqCst);
            if sent == before && sent > 0 {
                return;
            }
            before = sent;
            sleep(Duration::from_millis(500));
        }
    }

    fn send(&self, stream: &mut TcpStream) {
        let piece = vec![b'x'; 64 * 1024];
        let mut left = SIZE;
        while left > 0 {
            let n = stream
                .write(&piece[..piece.len().min(left as usize)])
                .unwrap() as u64;
            self.sent.fetch_add(n, Ordering::SeqCst);
            left -= n;
        }
    }

    /// Reads the body, once it may begin.
    fn receive(&self, stream: &mut TcpStream) {
        while !self.go.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(10));
        }
        skip_head(stream);
        let mut piece = vec![0; 64 * 1024];
        let mut left = SIZE;
        while left > 0 {
            let n = stream.read(&mut piece).unwrap() as u64;
            assert!(n > 0 && n <= left, "{left} are missing");
            self.received.fetch_add(n, Ordering::SeqCst);
            left -= n;
        }
    }
}

fn skip_head(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
}

fn backend(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    address
}

/// Starts all transfers, measures the memory while they stall, and lets them finish.
fn transfer(
    progress: &Arc<Progress>,
    to: SocketAddr,
    ask: impl Fn(&mut TcpStream, &Progress) + Clone + Send + 'static,
) {
    let gate = gate(to, "silence = \"10min\"\nfirst_byte = \"10min\"\n");
    let address = gate.addresses().http[0];
    let before = resident();
    let clients: Vec<_> = (0..TRANSFERS)
        .map(|_| {
            let (progress, ask) = (progress.clone(), ask.clone());
            thread::spawn(move || ask(&mut TcpStream::connect(address).unwrap(), &progress))
        })
        .collect();
    progress.stalls();
    let sent = progress.sent.load(Ordering::SeqCst);
    assert!(sent < TRANSFERS * SIZE, "nothing held it back");
    let stalled = resident().saturating_sub(before);
    progress.go.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().unwrap();
    }
    let after = resident().saturating_sub(before);
    println!(
        "measured: {TRANSFERS} transfers, {sent} bytes under way: {stalled} bytes of memory; {after} after them"
    );
    assert_eq!(progress.received.load(Ordering::SeqCst), TRANSFERS * SIZE);
    for grown in [stalled, after] {
        assert!(grown < TRANSFERS * MOST, "{grown} bytes");
    }
}

#[test]
fn a_download_to_a_client_that_takes_nothing_does_not_pile_up() {
    let _alone = alone();
    let progress = Arc::<Progress>::default();
    let sending = progress.clone();
    let to = backend(move |mut stream| {
        skip_head(&mut stream);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        sending.send(&mut stream);
    });
    transfer(&progress, to, |client, progress| {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        progress.receive(client);
    });
}

#[test]
fn an_upload_to_a_backend_that_takes_nothing_does_not_pile_up() {
    let _alone = alone();
    let progress = Arc::<Progress>::default();
    let receiving = progress.clone();
    let to = backend(move |mut stream| {
        receiving.receive(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    });
    transfer(&progress, to, |client, progress| {
        let head = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n");
        client.write_all(head.as_bytes()).unwrap();
        progress.send(client);
        skip_head(client);
    });
}
