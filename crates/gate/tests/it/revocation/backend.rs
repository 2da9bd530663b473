//! A server that counts its requests and open connections, and answers when it is released.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::exchanges::raw_client::{RawClient, counted, path};

/// Long after any client should have been answered, but short enough for a failing test.
const LATER: Duration = Duration::from_secs(10);

pub(crate) struct Backend {
    pub(crate) at: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    asked: AtomicUsize,
    bodies: AtomicUsize,
    held: AtomicUsize,
    released: AtomicBool,
}

impl Backend {
    pub(crate) fn start(answer: &'static str) -> Self {
        let inner = Arc::new(Inner::default());
        let serving = inner.clone();
        let at = RawClient::accept_each(move |client| serving.serve(client, answer));
        Self { at, inner }
    }

    /// Heads that arrived.
    pub(crate) fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// Requests that arrived completely.
    pub(crate) fn bodies(&self) -> usize {
        self.inner.bodies.load(Ordering::SeqCst)
    }

    /// Requests whose clients still wait.
    pub(crate) fn held(&self) -> usize {
        self.inner.held.load(Ordering::SeqCst)
    }

    /// From now on requests are answered.
    pub(crate) fn release(&self) {
        self.inner.released.store(true, Ordering::SeqCst);
    }

    /// Releases all requests after a while, so that a failing test does not wait forever.
    pub(crate) fn release_later(&self) {
        let inner = self.inner.clone();
        thread::spawn(move || {
            sleep(LATER);
            inner.released.store(true, Ordering::SeqCst);
        });
    }

    pub(crate) fn is_released(&self) -> bool {
        self.inner.released.load(Ordering::SeqCst)
    }
}

impl Inner {
    fn serve(&self, mut client: RawClient, answer: &str) {
        while let Some(head) = client.head() {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if path(&head) == "/hint" {
                client.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            }
            if client.body(&head).is_none() {
                return;
            }
            self.bodies.fetch_add(1, Ordering::SeqCst);
            self.held.fetch_add(1, Ordering::SeqCst);
            let there = client.stays_until(&self.released);
            self.held.fetch_sub(1, Ordering::SeqCst);
            if !there || !client.send(&counted(answer)) {
                return;
            }
        }
    }
}
