//! Connects two paths: TCP connections to a server's own address are relayed to a server behind
//! another path.
//!
//! This represents the network between two machines, for TCP only. A connection is accepted before
//! the further one exists; data waits for the handshake of that one, so no round trip is saved: the
//! client sees the handshake in its first answer. Fast open and refused connections are not
//! relayed.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use roundtrip_path::Namespace;

const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The largest number of connections at once.
const MAX_CONNECTIONS: usize = 512;

/// A relay, which runs until this is dropped.
pub(super) struct TcpRelay {
    over: Arc<AtomicBool>,
    streams: Streams,
}

/// Both ends of all connections, to close them with the hop.
type Streams = Arc<Mutex<Vec<TcpStream>>>;

impl TcpRelay {
    /// Opens the relay. `here` is an address in the network `from`; `there` is one that the network
    /// `by` reaches.
    pub(super) fn open(
        (from, here): (&Namespace, SocketAddr),
        (by, there): (&Namespace, SocketAddr),
    ) -> io::Result<Self> {
        let bound = from.run(|| TcpListener::bind(here));
        let listener = bound.map_err(io::Error::other)??;
        listener.set_nonblocking(true)?;
        let hop = Self {
            over: Arc::default(),
            streams: Arc::default(),
        };
        let (over, streams, by) = (hop.over.clone(), hop.streams.clone(), by.clone());
        let accepting = move || {
            while !over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((near, _)) => carry(near, by.clone(), there, &streams),
                    Err(_) => thread::sleep(POLL_INTERVAL),
                }
            }
        };
        thread::Builder::new().name("hop".into()).spawn(accepting)?;
        Ok(hop)
    }
}

impl Drop for TcpRelay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.iter() {
            // It may already be closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Relays a connection; closes it if that is impossible.
fn carry(near: TcpStream, by: Namespace, there: SocketAddr, streams: &Streams) {
    let streams = streams.clone();
    let work = move || -> io::Result<()> {
        near.set_nonblocking(false)?;
        let connected = by.run(|| TcpStream::connect(there));
        let far = connected.map_err(io::Error::other)??;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        {
            let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
            if streams.len() >= 2 * MAX_CONNECTIONS {
                return Ok(());
            }
            streams.push(near.try_clone()?);
            streams.push(far.try_clone()?);
        }
        let (up, down) = ((near.try_clone()?, far.try_clone()?), (far, near));
        let upward = thread::Builder::new().spawn(move || pass(up.0, up.1))?;
        pass(down.0, down.1);
        let _ = upward.join();
        Ok(())
    };
    // If no thread can be started, the client's connection is closed.
    let _ = thread::Builder::new().name("hop".into()).spawn(work);
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
