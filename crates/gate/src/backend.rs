//! The connections to one backend: kept after use, taken again while they live, and never shared by two at once.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// A connection to a backend, and what was read from it and not yet used.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: Vec<u8>,
    /// Requests that it has carried.
    pub(crate) carried: u32,
    since: Instant,
}

/// Bounds of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolLimits {
    pub(crate) idle: usize,
    /// A little under the backend's own, so that it is we who close first.
    pub(crate) idle_time: Duration,
    pub(crate) age: Duration,
    pub(crate) connect: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            idle: 64,
            idle_time: Duration::from_secs(50),
            age: Duration::from_mins(10),
            connect: Duration::from_secs(5),
        }
    }
}

/// One backend, as one thread knows it.
#[derive(Debug)]
pub(crate) struct Backend {
    address: SocketAddr,
    limits: PoolLimits,
    idle: RefCell<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    link: Link,
    until: Instant,
}

impl Backend {
    pub(crate) fn new(address: SocketAddr, limits: PoolLimits) -> Self {
        Self {
            address,
            limits,
            idle: RefCell::default(),
        }
    }

    /// A connection that lives, the one used last first; or a new one.
    pub(crate) async fn lease(&self) -> io::Result<Link> {
        match self.take() {
            Some(link) => Ok(link),
            None => self.connect().await,
        }
    }

    /// A connection that nobody has used.
    pub(crate) async fn connect(&self) -> io::Result<Link> {
        let connecting = TcpStream::connect(self.address);
        let stream = timeout(self.limits.connect, connecting).await??;
        stream.set_nodelay(true)?;
        Ok(Link {
            stream,
            buffer: Vec::with_capacity(4096),
            carried: 0,
            since: Instant::now(),
        })
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn give_back(&self, mut link: Link) {
        let mut idle = self.idle.borrow_mut();
        let now = Instant::now();
        let spent = !link.buffer.is_empty() || now - link.since > self.limits.age;
        if spent || idle.len() >= self.limits.idle {
            return;
        }
        link.buffer.clear();
        let until = now + self.limits.idle_time;
        idle.push(Idle { link, until });
    }

    fn take(&self) -> Option<Link> {
        let mut idle = self.idle.borrow_mut();
        while let Some(Idle { link, until }) = idle.pop() {
            if until > Instant::now() && link.is_quiet() {
                return Some(link);
            }
        }
        None
    }
}

impl Link {
    /// Open, and without a byte that nobody asked for. Costs no system call unless something came.
    fn is_quiet(&self) -> bool {
        let mut byte = [0];
        matches!(self.stream.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}
