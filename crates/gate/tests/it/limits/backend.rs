//! A server that counts its requests. It answers `/work` when it is released, and notices clients
//! that leave earlier.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::exchanges::raw_client::{RawClient, counted, field, path};

pub(crate) struct Backend {
    pub(crate) at: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Requests for `/work`, and those among them that still wait.
    asked: AtomicUsize,
    working: AtomicUsize,
    /// Heads that announce a body.
    uploads: AtomicUsize,
    released: AtomicBool,
}

impl Backend {
    pub(crate) fn start() -> Self {
        let inner = Arc::new(Inner::default());
        let serving = inner.clone();
        let at = RawClient::accept_each(move |client| serving.serve(client));
        Self { at, inner }
    }

    pub(crate) fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn working(&self) -> usize {
        self.inner.working.load(Ordering::SeqCst)
    }

    pub(crate) fn uploads(&self) -> usize {
        self.inner.uploads.load(Ordering::SeqCst)
    }

    pub(crate) fn release(&self) {
        self.inner.released.store(true, Ordering::SeqCst);
    }
}

impl Inner {
    fn serve(&self, mut client: RawClient) {
        while let Some(head) = client.head() {
            let length = field(&head, "content-length").is_some_and(|value| value != "0");
            if length || field(&head, "transfer-encoding").is_some() {
                self.uploads.fetch_add(1, Ordering::SeqCst);
            }
            let Some(body) = client.body(&head) else {
                return;
            };
            let there = match path(&head) {
                "/work" => self.work(&client) && client.send(&counted("done")),
                path if path.starts_with("/large/") => {
                    let size = path["/large/".len()..].parse().unwrap();
                    client.send(&counted(&"x".repeat(size)))
                }
                _ => client.send(&counted(&body.len().to_string())),
            };
            if !there {
                return;
            }
        }
    }

    fn work(&self, client: &RawClient) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.working.fetch_add(1, Ordering::SeqCst);
        let there = client.stays_until(&self.released);
        self.working.fetch_sub(1, Ordering::SeqCst);
        there
    }
}
