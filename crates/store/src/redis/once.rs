//! Single-use values in Redis.
//!
//! `GETDEL` is atomic on one server; but a failover loses commands that had not reached the
//! replica, and a restart can bring back an old copy. So each value is stored with the server's
//! replication id, which changes when a server is promoted or started. A value with another id is
//! not handed out, because it may have been taken before.

use std::time::Duration;

use roundtrip_wire::hex;
use roundtrip_wire::resp::Value;

use super::link::Link;
use super::{Redis, expect_ok, refused};
use crate::StoreError;
use crate::once::{Once, TakesOnce};

/// The prefix of the keys. Servers report changes of these keys only if there are several servers
/// and the prefix of sessions is empty.
pub(super) const PREFIX: &[u8] = b"roundtrip-ticket:";
pub(super) const CLAIM_PREFIX: &[u8] = b"roundtrip-claim:";
/// `INFO replication` has the server's role and the id of its history.
const INFO: &[&[u8]] = &[b"INFO", b"replication"];
/// The length of a replication id.
const TERM_LENGTH: usize = 40;

/// Servers have `GETDEL` since version 6.2.
impl TakesOnce for Redis {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        let life = life.as_millis().max(1).to_string();
        for kept in entries {
            let key = key(&kept.name);
            let term = self.term(&key).await?;
            let value = [&term[..], &kept.value].concat();
            let set: [&[u8]; 5] = [b"SET", &key, &value, b"PX", life.as_bytes()];
            expect_ok("SET", self.ask("SET", &key, &set).await?)?;
        }
        Ok(())
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key(name);
        let take: [&[u8]; 2] = [b"GETDEL", &key];
        // The history is read afterwards: one that has ended never begins again.
        let asked = self.servers.ask(&key, &[&take, INFO]).await?;
        let (mut answers, link) = (asked.answers.into_iter(), asked.link);
        let value = refused("GETDEL", answers.next().unwrap_or(Value::Null))?;
        let term = Self::read_term(answers.next().unwrap_or(Value::Null), &link)?;
        if value == Value::Null {
            return Ok(None);
        }
        let bytes = value
            .bytes()
            .ok_or(StoreError::NotUnderstood("it is not a string"))?;
        let value = bytes.split_at_checked(TERM_LENGTH);
        Ok(value
            .filter(|(stored, _)| *stored == term)
            .map(|(_, value)| value.to_vec()))
    }

    async fn claim(&self, name: &[u8], life: Duration) -> Result<bool, StoreError> {
        let key = claim_key(name);
        let life = life.as_millis().max(1).to_string();
        let set: [&[u8]; 6] = [b"SET", &key, b"", b"NX", b"PX", life.as_bytes()];
        match self.ask("SET", &key, &set).await? {
            Value::Null => Ok(false),
            answer => expect_ok("SET", answer).map(|()| true),
        }
    }

    async fn release(&self, name: &[u8]) -> Result<(), StoreError> {
        let key = claim_key(name);
        self.ask("DEL", &key, &[b"DEL", &key]).await.map(|_| ())
    }
}

impl Redis {
    /// The replication id of the server that has this key, from its last answer. If the id has
    /// changed since, the value is never handed out.
    async fn term(&self, key: &[u8]) -> Result<Vec<u8>, StoreError> {
        let link = self.servers.link_for(key).await?;
        if let Some(term) = link.term.borrow().clone() {
            return Ok(term);
        }
        Self::read_term(link.ask(INFO).await?, &link)
    }

    /// Reads the id of the server's history. Without it, a server that has restarted from a
    /// snapshot would hand out a value twice.
    fn read_term(info: Value, link: &Link) -> Result<Vec<u8>, StoreError> {
        let info = refused("INFO", info)?;
        let term = term(info.bytes().unwrap_or_default());
        let term = term.ok_or(StoreError::down("it is not a master with a replication id"))?;
        *link.term.borrow_mut() = Some(term.to_vec());
        Ok(term.to_vec())
    }
}

/// The id of a master's history.
fn term(info: &[u8]) -> Option<&[u8]> {
    let field = |name: &[u8]| {
        let mut lines = info.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(b":"));
        value.map(<[u8]>::trim_ascii)
    };
    let is_master = field(b"role") == Some(b"master");
    let term = field(b"master_replid").filter(|term| term.len() == TERM_LENGTH);
    term.filter(|_| is_master)
}

/// The key in hexadecimal, so that people can read the server's keys.
fn key(name: &[u8]) -> Vec<u8> {
    [PREFIX, hex(name).as_bytes()].concat()
}

fn claim_key(name: &[u8]) -> Vec<u8> {
    [CLAIM_PREFIX, hex(name).as_bytes()].concat()
}

#[cfg(test)]
pub(super) mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_master_has_a_history_of_its_own() {
        let id = "0".repeat(TERM_LENGTH);
        let info = |role: &str| format!("# Replication\r\nrole:{role}\r\nmaster_replid:{id}\r\n");
        assert_eq!(term(info("master").as_bytes()), Some(id.as_bytes()));
        assert_eq!(term(info("slave").as_bytes()), None);
        assert_eq!(term(b"role:master\r\nmaster_replid:1\r\n"), None);
        assert_eq!(term(b"OK"), None);
    }
}
