//! A server that counts its requests and open connections, and answers when it is told to.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::exchanges::raw_client::{RawClient, counted, path};

/// Long after anybody should have been told, and not so long that a failing test lasts.
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let inner = Arc::new(Inner::default());
        let known = inner.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, inner) = (stream.unwrap(), known.clone());
                thread::spawn(move || inner.serve(stream, answer));
            }
        });
        Self { at, inner }
    }

    /// Heads that came.
    pub(crate) fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// Requests that were whole.
    pub(crate) fn bodies(&self) -> usize {
        self.inner.bodies.load(Ordering::SeqCst)
    }

    /// Requests that somebody still waits for.
    pub(crate) fn held(&self) -> usize {
        self.inner.held.load(Ordering::SeqCst)
    }

    /// Whoever asks is answered from now on.
    pub(crate) fn release(&self) {
        self.inner.released.store(true, Ordering::SeqCst);
    }

    /// That a failing test does not wait for ever.
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
    fn serve(&self, stream: TcpStream, answer: &str) {
        let mut client = RawClient::new(stream);
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
            let there = self.wait(&client);
            self.held.fetch_sub(1, Ordering::SeqCst);
            if !there || !client.send(&counted(answer)) {
                return;
            }
        }
    }

    /// Until it is released; `false` where the other side closes before.
    fn wait(&self, client: &RawClient) -> bool {
        let stream = client.stream.clone();
        stream
            .set_read_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        while !self.released.load(Ordering::SeqCst) {
            match stream.peek(&mut [0]) {
                Ok(0) => return false,
                Ok(_) => sleep(Duration::from_millis(5)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        stream
            .set_read_timeout(Some(crate::lifecycle::scene::PATIENCE))
            .unwrap();
        true
    }
}
