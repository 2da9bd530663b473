//! Clients that close their side and still wait: `half_close` lets them.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{Answer, RawClient, counted};
use crate::lifecycle::scene::Scene;
use crate::{runtime, until};

/// Larger than the buffers between the backend and the client.
const LARGE: usize = 8_000_000;

#[derive(Default)]
struct Seen {
    asked: AtomicUsize,
    /// Requests whose client left before the answer.
    left: AtomicUsize,
    released: AtomicBool,
}

fn wait(what: &str, is: impl Fn() -> bool) {
    let runtime = runtime();
    runtime.block_on(until(what, async || is()));
}

fn scene(half_close: bool) -> (Scene, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let known = seen.clone();
    let backend = Backend::start(move |mut client| {
        while client.request().is_some() {
            known.asked.fetch_add(1, Ordering::SeqCst);
            if !client.stays_until(&known.released) {
                known.left.fetch_add(1, Ordering::SeqCst);
                return;
            }
            if !client.send(&counted(&"x".repeat(LARGE))) {
                return;
            }
        }
    });
    let scene = Scene::tuned(backend.at, "", |config| {
        config.listen.threads = 1;
        config.route[0].auth = false;
        config.route[0].half_close = half_close;
    });
    (scene, seen)
}

const REQUESTS: [&str; 3] = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
];

#[test]
fn a_client_may_close_its_side_and_still_wait() {
    for request in REQUESTS {
        let (scene, seen) = scene(true);
        let mut client = RawClient::to(scene.gate().addresses().http[0]);
        client.send(request);
        client.stream.shutdown(Shutdown::Write).unwrap();
        wait("the backend is asked", || {
            seen.asked.load(Ordering::SeqCst) == 1
        });
        seen.released.store(true, Ordering::SeqCst);
        assert_eq!(client.answer().whole(200).body.len(), LARGE, "{request}");
        assert_eq!(seen.left.load(Ordering::SeqCst), 0, "{request}");
    }
}

#[test]
fn otherwise_closing_one_side_is_leaving() {
    for request in REQUESTS {
        let (scene, seen) = scene(false);
        let mut client = RawClient::to(scene.gate().addresses().http[0]);
        client.send(request);
        wait("the backend is asked", || {
            seen.asked.load(Ordering::SeqCst) == 1
        });
        client.stream.shutdown(Shutdown::Write).unwrap();
        wait("the backend is left", || {
            seen.left.load(Ordering::SeqCst) == 1
        });
        assert_eq!(client.answer(), Answer::Nothing, "{request}");
    }
}
