//! A second process takes over the addresses of the first: no request is lost.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::gate::{Running, User, backend};

const CLIENTS: usize = 4;
/// Requests of all clients in each phase.
const REQUESTS: usize = 200;
/// Long enough for any machine; nothing waits for it to pass.
const LONG: Duration = Duration::from_mins(1);

/// A process that ends resets clients that connect and are silent for 700 ms. A client on a busy
/// machine may be silent for so long because it does not run.
const MAX_SILENT_MS: u32 = 300;

/// Whether either process serves a request on a new connection; `None` if the client was silent for
/// too long.
fn is_served(port: u16) -> Option<bool> {
    let began = Instant::now();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return Some(false);
    };
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    let sent = stream.write_all(request).is_ok();
    // SYNs that were dropped are repeated after whole seconds.
    let is_prompt = began.elapsed().subsec_millis() < MAX_SILENT_MS;
    let answered = sent && stream.read_to_string(&mut answer).is_ok();
    let served = answered && answer.starts_with("HTTP/1.1 200 ");
    (served || is_prompt).then_some(served)
}

#[test]
fn another_process_takes_over() {
    let user = User::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let backend = backend();
    let file = user.write(
        "gate.toml",
        &format!(
            "[listen]\nhttp = [\"127.0.0.1:{port}\"]\n[session]\nstore = \"memory:\"\n\
             [upstream.b]\nservers = [\"{backend}\"]\n[[route]]\nauth = false\nupstream = \"b\"\n"
        ),
    );
    let start = || Running::spawn(&mut user.command(&["run", "--config", &file]), 1);
    let (mut old, told) = start();
    assert!(told.contains("gate: "), "{told}");
    let (served, lost, over) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let many_more = || {
        let until = served.load(Ordering::SeqCst) + REQUESTS;
        let began = Instant::now();
        while served.load(Ordering::SeqCst) < until && began.elapsed() < LONG {
            sleep(Duration::from_millis(2));
        }
    };
    // Ends after the clients.
    let mut second = None;
    scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let count = match is_served(port) {
                        Some(true) => &served,
                        Some(false) => &lost,
                        None => continue,
                    };
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        many_more();
        let (new, told) = start();
        second = Some(new);
        assert!(told.contains("gate: "), "{told}");
        many_more();
        old.process.signal("TERM");
        let ended = old.process.0.wait().unwrap();
        many_more();
        over.store(true, Ordering::SeqCst);
        assert!(ended.success(), "{ended}");
    });
    drop(second);
    assert_eq!(lost.load(Ordering::SeqCst), 0);
    assert!(served.load(Ordering::SeqCst) >= 3 * REQUESTS);
}
