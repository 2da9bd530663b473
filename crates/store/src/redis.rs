//! Sessions in Redis, over one connection for each thread: requests are pipelined, and the server
//! reports changes over the same connection (RESP3, `CLIENT TRACKING ON BCAST`).
//!
//! There is one connection and not two, so that reports are in order with answers: an answer from
//! before a revocation cannot be mistaken for a later one, and whatever interrupts one interrupts
//! the other.
//!
//! The user on the server needs the commands `hello`, `select`, `client|tracking`, `ping`, `get`,
//! `pttl`; to manage sessions also `set`, `del`, `scan`; for TLS sessions of early data `set` and
//! `getdel` on `roundtrip-ticket:*`. If the server lacks RESP3 or refuses tracking, each lookup of
//! a session asks the server.

mod link;
mod news;
mod once;
mod settings;
mod socket;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_wire::resp::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{Change, Page, Record, Source, Store, StoreError, check_sid, is_sid};
use link::Link;
use news::News;
pub use settings::{Address, RedisSettings};

/// The largest `COUNT` for a page of `SCAN`.
const MAX_SCANNED: usize = 10_000;

/// One thread's connection, opened when it is first needed.
pub struct Redis {
    settings: Arc<RedisSettings>,
    link: RefCell<Option<Rc<Link>>>,
    /// Held by the task that connects; the others wait.
    connecting: Mutex<()>,
    failed: RefCell<Option<Failed>>,
    news: Rc<News>,
    had_link: Cell<bool>,
}

/// The last attempt to connect.
#[derive(Clone)]
struct Failed {
    error: StoreError,
    pause: Duration,
    until: Instant,
}

impl Redis {
    pub fn new(settings: Arc<RedisSettings>) -> Self {
        let news = Rc::new(News::new(&settings.prefix));
        Self {
            settings,
            link: RefCell::default(),
            connecting: Mutex::new(()),
            failed: RefCell::default(),
            news,
            had_link: Cell::new(false),
        }
    }

    /// Connects and authenticates. Returns whether the server reports changes.
    pub async fn check(&self) -> Result<bool, StoreError> {
        Ok(self.link().await?.pushes.get())
    }

    fn live(&self) -> Option<Rc<Link>> {
        let link = self.link.borrow();
        link.as_ref().filter(|l| l.broken().is_none()).cloned()
    }

    pub(crate) async fn link(&self) -> Result<Rc<Link>, StoreError> {
        if let Some(link) = self.live() {
            return Ok(link);
        }
        let _turn = match self.connecting.try_lock() {
            Ok(turn) => turn,
            // The last attempt failed and another is under way: do not wait for it.
            Err(_) if self.failed.borrow().is_some() => return Err(self.last_error()),
            Err(_) => self.connecting.lock().await,
        };
        if let Some(link) = self.live() {
            return Ok(link);
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
                if self.had_link.replace(true) {
                    self.news.back();
                }
                Ok(link)
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

    async fn connect(&self) -> Result<Link, StoreError> {
        let stream = socket::open(&self.settings).await?;
        // Changes count from now on: a failure before this loses nothing.
        let link = Link::new(stream, self.settings.answer, self.news.clone());
        let modern = self.greet(&link).await?;
        if self.settings.database > 0 {
            let number = self.settings.database.to_string();
            expect_ok("SELECT", link.ask(&[b"SELECT", number.as_bytes()]).await?)?;
        }
        if modern {
            let mut track: Vec<&[u8]> = vec![b"CLIENT", b"TRACKING", b"ON", b"BCAST"];
            if !self.settings.prefix.is_empty() {
                track.extend([b"PREFIX".as_slice(), self.settings.prefix.as_bytes()]);
            }
            let told = expect_ok("CLIENT TRACKING", link.ask(&track).await?);
            if matches!(told, Err(StoreError::Down { .. })) {
                told?;
            } else {
                link.pushes.set(told.is_ok());
            }
        }
        Ok(link)
    }

    /// Sends HELLO 3 with the password, or AUTH if the server is too old for it. Returns whether it
    /// speaks RESP3.
    async fn greet(&self, link: &Link) -> Result<bool, StoreError> {
        let user = self.settings.user.as_deref();
        let password = self.settings.password.as_ref().map(|p| p.line());
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

    fn key(&self, sid: &str) -> Vec<u8> {
        [self.settings.prefix.as_bytes(), sid.as_bytes()].concat()
    }
}

impl Store for Redis {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        if !is_sid(sid) {
            return Ok(None);
        }
        let (link, key) = (self.link().await?, self.key(sid));
        // The remaining lifetime is counted from before the request, so it is never too long.
        let now = self.now();
        let (value, left) = link.ask_two(&[b"GET", &key], &[b"PTTL", &key]).await?;
        let (value, left) = (refused("GET", value)?, refused("PTTL", left)?);
        let bytes = match &value {
            Value::Null => return Ok(None),
            value => value.bytes(),
        };
        let bytes = bytes.ok_or(StoreError::NotUnderstood("it is not a string"))?;
        let expires = match left {
            Value::Integer(-1) => None,
            // The key expired between the two commands.
            Value::Integer(-2) => return Ok(None),
            Value::Integer(left) => {
                let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
                now.checked_add(left)
            }
            _ => return Err(StoreError::NotUnderstood("its lifetime is not a number")),
        };
        Record::from_json(bytes, expires).map(Some)
    }

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        check_sid(sid)?;
        let (key, json) = (self.key(sid), record.to_json()?);
        let link = self.link().await?;
        let mut set: Vec<&[u8]> = vec![b"SET", &key, &json];
        let end = record.expires.map(|end| {
            let since = end.duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_millis().max(1).to_string()
        });
        if let Some(end) = &end {
            set.extend([b"PXAT".as_slice(), end.as_bytes()]);
        }
        expect_ok("SET", link.ask(&set).await?)
    }

    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError> {
        let there = self.get(sid).await?;
        if there.is_none_or(|there| there.credentials != credentials) {
            return Ok(false);
        }
        let (key, json) = (self.key(sid), record.to_json()?);
        let link = self.link().await?;
        let set: [&[u8]; 5] = [b"SET", &key, &json, b"XX", b"KEEPTTL"];
        match refused("SET", link.ask(&set).await?)? {
            Value::Null => Ok(false),
            answer => expect_ok("SET", answer).map(|()| true),
        }
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        if !is_sid(sid) {
            return Ok(false);
        }
        let (link, key) = (self.link().await?, self.key(sid));
        match refused("DEL", link.ask(&[b"DEL", &key]).await?)? {
            Value::Integer(count) => Ok(count > 0),
            _ => Err(StoreError::NotUnderstood("DEL did not return a number")),
        }
    }

    /// Keys of another type below the prefix are listed as well; only `get` can tell.
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        let link = self.link().await?;
        let pattern = pattern(&self.settings.prefix);
        let count = limit.clamp(10, 1000).to_string();
        let mut cursor = after.unwrap_or("0").to_owned();
        let mut sids = Vec::new();
        loop {
            let scan: [&[u8]; 6] = [
                b"SCAN",
                cursor.as_bytes(),
                b"MATCH",
                &pattern,
                b"COUNT",
                count.as_bytes(),
            ];
            let (next, keys) = scanned(refused("SCAN", link.ask(&scan).await?)?)?;
            let text = keys.iter().filter_map(|k| str::from_utf8(k.bytes()?).ok());
            let ours = text.filter_map(|k| k.strip_prefix(self.settings.prefix.as_str()));
            sids.extend(ours.filter(|sid| is_sid(sid)).map(str::to_owned));
            if next == "0" {
                return Ok(Page { sids, next: None });
            }
            cursor = next;
            if sids.len() >= limit.min(MAX_SCANNED) {
                let next = Some(cursor);
                return Ok(Page { sids, next });
            }
        }
    }
}

impl Source for Redis {
    fn next_change(&self) -> Option<Change> {
        self.news.next()
    }

    /// Meanwhile maintains the connection: reconnects if it is gone, and sends a ping if it is
    /// silent.
    async fn changed(&self) {
        while self.news.is_empty() {
            match self.link().await {
                Ok(link) => {
                    tokio::select! {
                        () = self.news.came() => {}
                        () = sleep(self.settings.heartbeat) => {
                            let _ = link.ask(&[b"PING"]).await;
                        }
                    }
                }
                Err(_) => {
                    let until = self.failed.borrow().as_ref().map(|f| f.until);
                    // The time is in the past while another task connects.
                    let soonest = Instant::now() + self.settings.pause;
                    tokio::select! {
                        () = self.news.came() => {}
                        () = sleep_until(until.unwrap_or(soonest).max(soonest)) => {}
                    }
                }
            }
        }
    }

    fn is_watching(&self) -> bool {
        self.live().is_some_and(|link| link.pushes.get())
    }

    /// Whether connecting failed, or the server did not answer on an open connection.
    fn is_down(&self) -> bool {
        let link = self.link.borrow();
        match link.as_ref().map(|link| link.broken()) {
            Some(None) => false,
            Some(Some(StoreError::TimedOut { .. })) => true,
            _ => self.failed.borrow().is_some(),
        }
    }

    fn why_down(&self) -> Option<String> {
        let down = self.is_down();
        let link = self.link.borrow();
        let broken = link.as_ref().and_then(|link| link.broken());
        let failed = self.failed.borrow().as_ref().map(|f| f.error.clone());
        let why = failed.or(broken).filter(|_| down)?;
        Some(why.to_string())
    }

    fn now(&self) -> SystemTime {
        self.settings.clock.now()
    }
}

/// Classifies an error reply by its first word.
fn refused(command: &str, value: Value) -> Result<Value, StoreError> {
    let Value::Error(text) = value else {
        return Ok(value);
    };
    let text = String::from_utf8_lossy(&text);
    let why: String = text
        .chars()
        .take(120)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match why.split(' ').next().unwrap_or_default() {
        "WRONGTYPE" => Err(StoreError::WrongType),
        // This server, or another, will answer later.
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY" | "READONLY" => {
            Err(StoreError::down(why))
        }
        _ => Err(StoreError::Refused {
            command: command.into(),
            why,
        }),
    }
}

fn expect_ok(command: &str, value: Value) -> Result<(), StoreError> {
    match refused(command, value)? {
        Value::Simple(text) if text == b"OK" => Ok(()),
        _ => Err(StoreError::NotUnderstood("the server did not answer OK")),
    }
}

/// Whether the server is older than version 6, and so lacks `HELLO`.
fn is_too_old(why: &str) -> bool {
    why.starts_with("NOPROTO") || why.to_ascii_lowercase().starts_with("err unknown command")
}

/// The pattern by which `MATCH` finds all keys with the prefix.
fn pattern(prefix: &str) -> Vec<u8> {
    let mut pattern = Vec::new();
    for byte in prefix.bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

fn scanned(value: Value) -> Result<(String, Vec<Value>), StoreError> {
    let not = || StoreError::NotUnderstood("SCAN did not return a page");
    let Value::Array(parts) = value else {
        return Err(not());
    };
    let mut parts = parts.into_iter();
    let (Some(cursor), Some(Value::Array(keys))) = (parts.next(), parts.next()) else {
        return Err(not());
    };
    let digits = |c: &&[u8]| c.iter().all(u8::is_ascii_digit) && (1..=20).contains(&c.len());
    let cursor = cursor.bytes().filter(digits).ok_or_else(not)?;
    Ok((String::from_utf8_lossy(cursor).into_owned(), keys))
}
