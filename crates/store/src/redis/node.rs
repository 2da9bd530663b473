//! One server, and the connection of one thread to it: opened when it is first needed, and again
//! when it was lost.
//!
//! A connection counts as open only after the server has accepted the user, has begun to report
//! changes, and has answered its probe: a server that does not answer for its sessions is as good
//! as none.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_wire::resp::Value;
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, timeout};

use super::link::{Link, LinkWatcher};
use super::settings::{Address, RedisSettings};
use super::{expect_ok, refused, socket};
use crate::StoreError;

/// The purpose of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// A server with sessions.
    Server,
    /// A sentinel, which knows which server is the master.
    Sentinel,
}

pub(super) struct Node {
    pub(super) address: Address,
    kind: NodeKind,
    settings: Arc<RedisSettings>,
    watcher: Rc<dyn LinkWatcher>,
    link: RefCell<Option<Rc<Link>>>,
    /// Held by the task that connects, while others wait.
    connecting: Mutex<()>,
    failed: RefCell<Option<Failed>>,
    had_link: Cell<bool>,
    /// Signals that the connection has ended.
    pub(super) ended: Rc<Notify>,
    /// The command that shows whether the server still answers for its sessions.
    probe: RefCell<Vec<Vec<u8>>>,
}

/// The last attempt to connect.
#[derive(Clone)]
struct Failed {
    error: StoreError,
    pause: Duration,
    until: Instant,
}

impl Node {
    pub(super) fn new(
        address: Address,
        kind: NodeKind,
        settings: Arc<RedisSettings>,
        watcher: Rc<dyn LinkWatcher>,
        ended: Rc<Notify>,
    ) -> Self {
        Self {
            address,
            kind,
            settings,
            watcher,
            link: RefCell::default(),
            connecting: Mutex::new(()),
            failed: RefCell::default(),
            had_link: Cell::new(false),
            ended,
            probe: RefCell::new(vec![b"PING".to_vec()]),
        }
    }

    pub(super) fn set_probe(&self, probe: Vec<Vec<u8>>) {
        *self.probe.borrow_mut() = probe;
    }

    pub(super) fn live(&self) -> Option<Rc<Link>> {
        let link = self.link.borrow();
        link.as_ref().filter(|l| l.broken().is_none()).cloned()
    }

    /// Whether the server reports changes.
    pub(super) fn is_watching(&self) -> bool {
        self.live().is_some_and(|link| link.pushes.get())
    }

    /// Whether connecting failed, or the server did not answer on an open connection.
    pub(super) fn is_down(&self) -> bool {
        let link = self.link.borrow();
        match link.as_ref().map(|link| link.broken()) {
            Some(None) => false,
            Some(Some(StoreError::TimedOut { .. })) => true,
            _ => self.failed.borrow().is_some(),
        }
    }

    pub(super) fn why_down(&self) -> Option<StoreError> {
        let down = self.is_down();
        let link = self.link.borrow();
        let broken = link.as_ref().and_then(|link| link.broken());
        let failed = self.failed.borrow().as_ref().map(|f| f.error.clone());
        failed.or(broken).filter(|_| down)
    }

    /// When the next attempt to connect may begin; in the past while another task connects.
    pub(super) fn next_attempt(&self) -> Instant {
        let soonest = Instant::now() + self.settings.pause;
        let until = self.failed.borrow().as_ref().map(|f| f.until);
        until.unwrap_or(soonest).max(soonest)
    }

    pub(super) async fn link(&self) -> Result<Rc<Link>, StoreError> {
        self.open().await.map(|(link, _)| link)
    }

    /// Opens a connection, and returns whether it replaces a lost one.
    pub(super) async fn open(&self) -> Result<(Rc<Link>, bool), StoreError> {
        if let Some(link) = self.live() {
            return Ok((link, false));
        }
        let _turn = match self.connecting.try_lock() {
            Ok(turn) => turn,
            // The last attempt failed and another is under way: do not wait for it.
            Err(_) if self.failed.borrow().is_some() => return Err(self.last_error()),
            Err(_) => self.connecting.lock().await,
        };
        if let Some(link) = self.live() {
            return Ok((link, false));
        }
        let resting = |failed: &Failed| Instant::now() < failed.until;
        if self.failed.borrow().as_ref().is_some_and(resting) {
            return Err(self.last_error());
        }
        match timeout(self.settings.connect, self.connect()).await {
            Ok(Ok(link)) => {
                let link = Rc::new(link);
                *self.link.borrow_mut() = Some(link.clone());
                *self.failed.borrow_mut() = None;
                Ok((link, self.had_link.replace(true)))
            }
            Ok(Err(error)) => Err(self.note_failure(error)),
            Err(_) => Err(self.note_failure(StoreError::TimedOut { what: "connect" })),
        }
    }

    fn last_error(&self) -> StoreError {
        let failed = self.failed.borrow();
        let error = failed.as_ref().map(|f| f.error.clone());
        error.unwrap_or_else(|| StoreError::down("no connection"))
    }

    fn note_failure(&self, error: StoreError) -> StoreError {
        let mut failed = self.failed.borrow_mut();
        let last = failed.as_ref().map(|f| f.pause);
        let pause = match last {
            // A server that is back can receive a revocation at once, and until gate is connected
            // again, its grace would still admit the session.
            _ if error.is_outage() => self.settings.pause,
            None => self.settings.pause,
            Some(last) => last.saturating_mul(2).min(self.settings.longest_pause),
        };
        *failed = Some(Failed {
            error: error.clone(),
            pause,
            until: Instant::now() + pause,
        });
        error
    }

    /// Asks whether the server still answers for its sessions, and closes the connection if it does
    /// not. Returns the answer.
    pub(super) async fn probe(&self, link: &Link) -> Result<Value, StoreError> {
        let probe = self.probe.borrow().clone();
        let parts: Vec<&[u8]> = probe.iter().map(Vec::as_slice).collect();
        let answer = link.ask(&parts).await?;
        if let Err(error @ StoreError::Down { .. }) = refused("the probe", answer.clone()) {
            link.give_up(error.clone());
            return Err(error);
        }
        Ok(answer)
    }

    async fn connect(&self) -> Result<Link, StoreError> {
        let stream = socket::open(&self.address, &self.settings).await?;
        // Changes count from now on: a failure before this loses nothing.
        let link = Link::new(stream, self.settings.answer, self.watcher.clone());
        let modern = self.greet(&link).await?;
        if self.kind == NodeKind::Sentinel {
            if modern {
                link.tell(&[b"SUBSCRIBE", b"+switch-master"]);
            }
            return Ok(link);
        }
        if self.settings.database > 0 {
            let number = self.settings.database.to_string();
            expect_ok("SELECT", link.ask(&[b"SELECT", number.as_bytes()]).await?)?;
        }
        if modern {
            let mut track: Vec<&[u8]> = vec![b"CLIENT", b"TRACKING", b"ON"];
            if !self.settings.prefix.is_empty() {
                let prefix = self.settings.prefix.as_bytes();
                track.extend([b"BCAST".as_slice(), b"PREFIX", prefix]);
            } else if self.settings.has_several_servers() {
                // A server that becomes the master reports what was read from another.
                track.push(b"BCAST");
            }
            let told = expect_ok("CLIENT TRACKING", link.ask(&track).await?);
            if matches!(told, Err(StoreError::Down { .. })) {
                told?;
            } else {
                link.pushes.set(told.is_ok());
            }
        }
        if self.settings.has_several_servers() {
            self.probe(&link).await?;
        }
        Ok(link)
    }

    /// Sends HELLO 3 with the password, or AUTH if the server is too old for it. Returns whether it
    /// speaks RESP3.
    async fn greet(&self, link: &Link) -> Result<bool, StoreError> {
        let (user, password) = match self.kind {
            NodeKind::Server => (&self.settings.user, &self.settings.password),
            NodeKind::Sentinel => (
                &self.settings.sentinel_user,
                &self.settings.sentinel_password,
            ),
        };
        let user = user.as_deref();
        let password = password.as_ref().map(|p| p.line());
        let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
        if let Some(password) = password {
            let user = user.unwrap_or("default");
            hello.extend([b"AUTH".as_slice(), user.as_bytes(), password]);
        }
        match refused("HELLO", link.ask(&hello).await?) {
            Ok(_) => return Ok(true),
            Err(StoreError::Refused { why, .. }) if is_too_old(&why) => {}
            Err(error) => return Err(error),
        }
        if let Some(password) = password {
            let mut auth: Vec<&[u8]> = vec![b"AUTH"];
            auth.extend(user.map(str::as_bytes));
            auth.push(password);
            expect_ok("AUTH", link.ask(&auth).await?)?;
        }
        Ok(false)
    }
}

/// Whether the server is older than version 6, and so lacks `HELLO`.
fn is_too_old(why: &str) -> bool {
    why.starts_with("NOPROTO") || why.to_ascii_lowercase().starts_with("err unknown command")
}
