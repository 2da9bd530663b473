//! The connections to one backend: kept after use, taken again while they live, and never shared by two at once.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::config;

/// A connection to a backend, and what was read from it and not yet used.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: Vec<u8>,
    home: Rc<Upstream>,
    reused: bool,
    since: Instant,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Spent,
    Failed,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(#[from] io::Error);

impl Trouble {
    pub(crate) fn status(&self) -> u16 {
        502
    }

    pub(crate) fn reason(&self) -> crate::record::Reason {
        crate::record::Reason::Unreachable
    }
}

/// One backend, as one thread knows it.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    settings: config::Upstream,
    idle: RefCell<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    link: Link,
    until: Instant,
}

impl Upstream {
    pub(crate) fn new(address: SocketAddr, settings: config::Upstream) -> Rc<Self> {
        Rc::new(Self {
            address,
            settings,
            idle: RefCell::default(),
        })
    }

    /// A connection that lives, the one used last first; or a new one.
    pub(crate) async fn lease(self: &Rc<Self>) -> Result<Link, Trouble> {
        match self.take() {
            Some(link) => Ok(link),
            None => self.fresh().await,
        }
    }

    /// A connection that nobody has used.
    pub(crate) async fn fresh(self: &Rc<Self>) -> Result<Link, Trouble> {
        let connecting = TcpStream::connect(self.address);
        let stream = timeout(self.settings.connect.0, connecting)
            .await
            .map_err(io::Error::from)??;
        stream.set_nodelay(true)?;
        Ok(Link {
            stream,
            buffer: Vec::with_capacity(4096),
            home: self.clone(),
            reused: false,
            since: Instant::now(),
        })
    }

    pub(crate) fn may_retry(&self) -> bool {
        true
    }

    pub(crate) fn first_byte(&self) -> Option<Duration> {
        Some(self.settings.first_byte.0)
    }

    pub(crate) fn silence(&self) -> Option<Duration> {
        Some(self.settings.silence.0)
    }

    fn take(&self) -> Option<Link> {
        let mut idle = self.idle.borrow_mut();
        while let Some(Idle { mut link, until }) = idle.pop() {
            if until > Instant::now() && link.is_quiet() {
                link.reused = true;
                return Some(link);
            }
        }
        None
    }
}

impl Link {
    pub(crate) fn server(&self) -> u16 {
        0
    }

    pub(crate) fn is_secure(&self) -> bool {
        false
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.reused
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn finish(mut self, fate: Fate) {
        let home = self.home.clone();
        let mut idle = home.idle.borrow_mut();
        let now = Instant::now();
        let spent = !self.buffer.is_empty() || now - self.since > home.settings.age.0;
        if fate != Fate::Kept || spent || idle.len() >= home.settings.idle {
            return;
        }
        self.buffer.clear();
        let until = now + home.settings.idle_time.0;
        idle.push(Idle { link: self, until });
    }

    /// Open, and without a byte that nobody asked for. Costs no system call unless something came.
    fn is_quiet(&self) -> bool {
        let mut byte = [0];
        matches!(self.stream.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}
