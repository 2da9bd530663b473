//! A server that counts what it holds. What it is asked for below `/work` it does until it is
//! released, whoever has left; but it knows who has.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::exchanges::raw_client::{RawClient, counted, field, path};
use crate::lifecycle::scene::PATIENCE;

pub(crate) struct Backend {
    pub(crate) at: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Asked for work; and those of them that still wait for it.
    asked: AtomicUsize,
    working: AtomicUsize,
    /// Heads that came with a body to follow.
    uploads: AtomicUsize,
    released: AtomicBool,
}

impl Backend {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let inner = Arc::new(Inner::default());
        let known = inner.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, inner) = (stream.unwrap(), known.clone());
                thread::spawn(move || inner.serve(stream));
            }
        });
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
    fn serve(&self, stream: TcpStream) {
        let mut client = RawClient::new(stream);
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
        let there = self.wait(&client.stream);
        self.working.fetch_sub(1, Ordering::SeqCst);
        there
    }

    /// Until it is released; `false` where the other side closes before.
    fn wait(&self, mut stream: &TcpStream) -> bool {
        let pause = Duration::from_millis(5);
        stream.set_read_timeout(Some(pause)).unwrap();
        while !self.released.load(Ordering::SeqCst) {
            // Nobody sends the next request before the answer to this one.
            match stream.read(&mut [0]) {
                Ok(0) => return false,
                Ok(_) => panic!("more than one request at a time"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(pause),
                Err(_) => return false,
            }
        }
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        true
    }
}
