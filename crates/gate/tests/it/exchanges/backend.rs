//! A server whose connections a test controls one by one; it can be killed and started again.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};

use crate::exchanges::raw_client::{RawClient, counted, path};

pub(crate) struct Backend {
    pub(crate) at: SocketAddr,
    inner: Arc<Inner>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Inner {
    dead: AtomicBool,
    connections: AtomicUsize,
    /// Each is closed by the thread that serves it.
    open: Mutex<Vec<Weak<TcpStream>>>,
}

impl Backend {
    pub(crate) fn start(serve: impl Fn(RawClient) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), serve)
    }

    pub(crate) fn at(at: SocketAddr, serve: impl Fn(RawClient) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).unwrap();
        let at = listener.local_addr().unwrap();
        let inner = Arc::new(Inner::default());
        let (known, serve) = (inner.clone(), Arc::new(serve));
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if known.dead.load(Ordering::SeqCst) {
                    return;
                }
                known.connections.fetch_add(1, Ordering::SeqCst);
                let raw_client = RawClient::new(stream);
                let open = Arc::downgrade(&raw_client.stream);
                known.open.lock().unwrap().push(open);
                let serve = serve.clone();
                thread::spawn(move || serve(raw_client));
            }
        });
        Self {
            at,
            inner,
            accepting,
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.inner.connections.load(Ordering::SeqCst)
    }

    /// Stops listening, and closes all connections.
    pub(crate) fn kill(self) {
        self.inner.dead.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.at));
        self.accepting.join().unwrap();
        for stream in self.inner.open.lock().unwrap().drain(..) {
            if let Some(stream) = stream.upgrade() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Answers each request with its path and its body, until the peer closes.
pub(crate) fn echo(mut client: RawClient) {
    while let Some(request) = client.request() {
        let body = format!("{} {}", path(&request.head), request.body);
        if !client.send(&counted(&body)) {
            return;
        }
    }
}
