//! Sessions in Redis: one server, a cluster, or a master that sentinels watch. Each thread has one
//! connection to each server: requests are pipelined, and the server reports changes over the same
//! connection (RESP3, `CLIENT TRACKING ON`): those of all keys with the prefix (`BCAST`), or, if
//! there is one server and no prefix, those of the keys that the connection has read.
//!
//! There is one connection and not two, so that reports and answers arrive in order: an answer from
//! before a revocation cannot be mistaken for a later one, and a failure interrupts both.
//!
//! The user on the server needs the commands `hello`, `select`, `client|tracking`, `ping`, `get`,
//! `pttl`; to manage sessions also `set`, `del`, `scan` and `wait`; for TLS sessions of early data
//! `info`, `set` and `getdel` on `roundtrip-ticket:*`; for logins `set` and `del` on
//! `roundtrip-claim:*`, and `zadd`, `zremrangebyscore`, `zrangebyscore` and `pexpireat` on
//! `roundtrip-index:*`; in a cluster `cluster|slots`, `cluster|nodes` and `asking`, behind
//! sentinels `role`. If a server lacks RESP3 or refuses tracking, each lookup of a session asks the
//! server. Replicas are never asked for sessions: what they answer can be old.

mod discovery;
mod index;
mod link;
mod maintenance;
mod node;
mod once;
mod pushes;
mod servers;
mod settings;
mod slots;
mod socket;

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_wire::resp::Value;
use tokio::task::JoinSet;

use crate::{Change, Page, Record, Source, Store, StoreError, check_sid, is_sid};
use servers::{Asked, RedisServers};
pub use settings::{Address, RedisSettings, RedisTopology};

/// The largest `COUNT` for a page of `SCAN`.
const MAX_SCANNED: usize = 10_000;
/// The largest number of `SCAN`s for one listing of one server. With pages of 500 names, they visit
/// 500 million keys.
const MAX_SCANS: u32 = 1_000_000;
/// Waits for a replica to confirm what this connection wrote, for at most 200 ms. Other requests on
/// the connection wait as well.
const CONFIRM: &[&[u8]] = &[b"WAIT", b"1", b"200"];

/// One thread's connections, opened when they are first needed.
pub struct Redis {
    servers: Rc<RedisServers>,
    /// Keeps connections open, once the thread waits for changes.
    tending: RefCell<JoinSet<()>>,
}

impl Redis {
    pub fn new(settings: Arc<RedisSettings>) -> Self {
        Self {
            servers: Rc::new(RedisServers::new(settings)),
            tending: RefCell::default(),
        }
    }

    /// Connects and authenticates. Returns whether the servers report changes.
    pub async fn check(&self) -> Result<bool, StoreError> {
        let mut pushes = true;
        for master in self.servers.masters().await? {
            pushes &= self.servers.link_to(&master).await?.pushes.get();
        }
        Ok(pushes)
    }

    /// Sends one command about one key.
    async fn ask(&self, name: &str, key: &[u8], command: &[&[u8]]) -> Result<Value, StoreError> {
        let mut asked = self.servers.ask(key, &[command]).await?;
        refused(name, asked.answers.pop().unwrap_or(Value::Null))
    }

    /// Waits until a replica has this connection's last write.
    async fn confirm(&self, asked: &Asked) -> Result<(), StoreError> {
        expect_confirmed(asked.link.ask(CONFIRM).await?)
    }

    fn key(&self, sid: &str) -> Vec<u8> {
        [self.servers.settings.prefix.as_bytes(), sid.as_bytes()].concat()
    }
}

/// Where a page of a listing begins.
struct ListPlace {
    /// Counts the masters.
    at: usize,
    cursor: String,
    /// The number of `SCAN`s that this master has answered.
    scans: u32,
}

impl ListPlace {
    fn parse(after: Option<&str>) -> Self {
        let read = |text: &str| {
            let mut parts = text.split(':');
            let (at, cursor, scans) = (parts.next()?, parts.next()?, parts.next()?);
            Some(Self {
                at: at.parse().ok()?,
                cursor: cursor.to_owned(),
                scans: scans.parse().ok()?,
            })
        };
        after.and_then(read).unwrap_or(Self {
            at: 0,
            cursor: "0".into(),
            scans: 0,
        })
    }
}

/// The session that a key belongs to. With an empty prefix, keys that do not belong to sessions
/// match as well.
fn session_of<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    let others = [once::PREFIX, once::CLAIM_PREFIX, index::PREFIX];
    let is_other = others.iter().any(|other| key.as_bytes().starts_with(other));
    key.strip_prefix(prefix).filter(|_| !is_other)
}

impl Store for Redis {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        if !is_sid(sid) {
            return Ok(None);
        }
        let key = self.key(sid);
        // The remaining lifetime is counted from before the request, so it is never too long.
        let now = self.now();
        let commands: [&[&[u8]]; 2] = [&[b"GET", &key], &[b"PTTL", &key]];
        let mut answers = self.servers.ask(&key, &commands).await?.answers.into_iter();
        let value = refused("GET", answers.next().unwrap_or(Value::Null))?;
        let left = refused("PTTL", answers.next().unwrap_or(Value::Null))?;
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
        let mut set: Vec<&[u8]> = vec![b"SET", &key, &json];
        let end = record.expires.map(|end| {
            let since = end.duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_millis().max(1).to_string()
        });
        if let Some(end) = &end {
            set.extend([b"PXAT".as_slice(), end.as_bytes()]);
        }
        expect_ok("SET", self.ask("SET", &key, &set).await?)
    }

    /// Stores sessions; all commands are sent before the first answer is awaited.
    async fn put_all(&self, sessions: &[(&str, &Record)]) -> Result<(), StoreError> {
        let puts = sessions.iter();
        let puts = puts.map(|(sid, record)| self.put(sid, record));
        at_once(puts).await.map(drop)
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
        let set: [&[u8]; 5] = [b"SET", &key, &json, b"XX", b"KEEPTTL"];
        match self.ask("SET", &key, &set).await? {
            Value::Null => Ok(false),
            answer => expect_ok("SET", answer).map(|()| true),
        }
    }

    /// Compares all of them before it waits for the answers, and then replaces them alike.
    async fn replace_all(
        &self,
        sessions: &[(&str, &[u8], &Record)],
    ) -> Result<Vec<bool>, StoreError> {
        let all = sessions.iter();
        let all = all.map(|(sid, credentials, record)| self.replace(sid, credentials, record));
        at_once(all).await
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        if !is_sid(sid) {
            return Ok(false);
        }
        let key = self.key(sid);
        let del: [&[u8]; 2] = [b"DEL", &key];
        let mut asked = self.servers.ask(&key, &[&del]).await?;
        let count = refused("DEL", asked.answers.pop().unwrap_or(Value::Null))?;
        let Value::Integer(count) = count else {
            return Err(StoreError::NotUnderstood("DEL did not return a number"));
        };
        if !self.servers.is_replicated(&asked).await {
            return Ok(count > 0);
        }
        if count == 0 {
            // An earlier attempt may have removed it without a confirmation. `WAIT` covers only
            // writes on the same connection, so this writes a dummy value, which admits no one.
            let set: [&[u8]; 5] = [b"SET", &key, b"", b"PX", b"1"];
            asked = self.servers.ask(&key, &[&set, &del]).await?;
            let mut answers = std::mem::take(&mut asked.answers).into_iter();
            expect_ok("SET", answers.next().unwrap_or(Value::Null))?;
            refused("DEL", answers.next().unwrap_or(Value::Null))?;
        }
        self.confirm(&asked).await?;
        Ok(count > 0)
    }

    /// Lists names. Keys of another type below the prefix are listed as well, because only `get`
    /// can tell them apart. A cluster is listed one master after another; the end of a page says
    /// which one is next.
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        let prefix = self.servers.settings.prefix.as_str();
        let (pattern, count) = (pattern(prefix), limit.clamp(10, 1000).to_string());
        let masters = self.servers.masters().await?;
        let ListPlace {
            mut at,
            mut cursor,
            mut scans,
        } = ListPlace::parse(after);
        let mut sids = Vec::new();
        // A cursor that comes back would come back for ever.
        let mut mark = None;
        while let Some(master) = masters.get(at) {
            let link = self.servers.link_to(master).await?;
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
            let ours = text.filter_map(|key| session_of(key, prefix));
            sids.extend(ours.filter(|sid| is_sid(sid)).map(str::to_owned));
            scans += 1;
            if next == "0" {
                (at, scans, mark) = (at + 1, 0, None);
            } else if mark.as_ref() == Some(&next) || scans >= MAX_SCANS {
                return Err(StoreError::NotUnderstood("SCAN does not end"));
            } else if scans.is_power_of_two() {
                mark = Some(next.clone());
            }
            cursor = next;
            if sids.len() >= limit.min(MAX_SCANNED) && at < masters.len() {
                let next = Some(format!("{at}:{cursor}:{scans}"));
                return Ok(Page { sids, next });
            }
        }
        Ok(Page { sids, next: None })
    }
}

impl Source for Redis {
    fn next_change(&self) -> Option<Change> {
        self.servers.news.next()
    }

    /// Connections are kept open from the first call on.
    async fn changed(&self) {
        if self.tending.borrow().is_empty() {
            let tend = maintenance::tend(self.servers.clone());
            self.tending.borrow_mut().spawn_local(tend);
        }
        while self.servers.news.is_empty() {
            self.servers.news.came().await;
        }
    }

    fn is_watching(&self, sid: Option<&str>) -> bool {
        if self.servers.is_single() {
            return self.servers.is_watching(None);
        }
        let key = sid.map(|sid| self.key(sid));
        self.servers.is_watching(key.as_deref())
    }

    fn is_down(&self, sid: Option<&str>) -> bool {
        let key = sid.map(|sid| self.key(sid));
        self.servers.is_down(key.as_deref())
    }

    fn why_down(&self) -> Option<String> {
        self.servers.why_down().map(|why| why.to_string())
    }

    fn now(&self) -> SystemTime {
        self.servers.settings.clock.now()
    }
}

/// Runs all of them at the same time, and returns their results in order; ends at the first error.
async fn at_once<T>(
    work: impl Iterator<Item = impl Future<Output = Result<T, StoreError>>>,
) -> Result<Vec<T>, StoreError> {
    let mut running: Vec<_> = work.map(|work| (Box::pin(work), None)).collect();
    poll_fn(|cx| {
        let mut is_pending = false;
        for (work, done) in running.iter_mut().filter(|(_, done)| done.is_none()) {
            match work.as_mut().poll(cx) {
                Poll::Pending => is_pending = true,
                Poll::Ready(Ok(result)) => *done = Some(result),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        if is_pending {
            return Poll::Pending;
        }
        Poll::Ready(Ok(running
            .iter_mut()
            .filter_map(|(_, done)| done.take())
            .collect()))
    })
    .await
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
        "MOVED" | "ASK" => Err(StoreError::Refused {
            command: command.into(),
            why: format!("{why}; the address of a cluster begins with redis+cluster:"),
        }),
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

/// Checks that a replica has confirmed a revocation. Servers do not wait for their replicas, so a
/// failover could otherwise lose it.
fn expect_confirmed(value: Value) -> Result<(), StoreError> {
    match refused("WAIT", value)? {
        Value::Integer(1..) => Ok(()),
        _ => Err(StoreError::Unconfirmed),
    }
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
