//! Indexes of sessions, in Redis: sorted sets whose scores are the sessions' ends.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_wire::resp::Value;

use super::{Redis, refused};
use crate::index::{Indexes, MAX_INDEXED};
use crate::{Source, StoreError};

/// Servers report changes of these keys only if the prefix of sessions is empty.
pub(super) const PREFIX: &[u8] = b"roundtrip-index:";

impl Indexes for Redis {
    /// The index expires with the session that was entered last; a session that was entered earlier
    /// may not end later, which holds if all of them last equally long.
    async fn enter(&self, index: &str, sid: &str, end: SystemTime) -> Result<(), StoreError> {
        let key = [PREFIX, index.as_bytes()].concat();
        let (now, end) = (millis(self.now()), millis(end));
        // The rank of the first that is too many, counted from the end.
        let surplus = format!("-{}", MAX_INDEXED + 1);
        let commands: [&[&[u8]]; 4] = [
            &[b"ZADD", &key, end.as_bytes(), sid.as_bytes()],
            &[b"ZREMRANGEBYSCORE", &key, b"-inf", now.as_bytes()],
            &[b"ZREMRANGEBYRANK", &key, b"0", surplus.as_bytes()],
            &[b"PEXPIREAT", &key, end.as_bytes()],
        ];
        let answers = self.servers.ask(&key, &commands).await?.answers;
        for (command, answer) in commands.iter().zip(answers) {
            let name = command.first().copied().unwrap_or_default();
            refused(&String::from_utf8_lossy(name), answer)?;
        }
        Ok(())
    }

    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError> {
        let key = [PREFIX, index.as_bytes()].concat();
        let (now, most) = (millis(self.now()), MAX_INDEXED.to_string());
        let range: [&[u8]; 7] = [
            b"ZRANGEBYSCORE",
            &key,
            now.as_bytes(),
            b"+inf",
            b"LIMIT",
            b"0",
            most.as_bytes(),
        ];
        let Value::Array(sids) = self.ask("ZRANGEBYSCORE", &key, &range).await? else {
            return Err(StoreError::NotUnderstood(
                "ZRANGEBYSCORE did not return a list",
            ));
        };
        let text = sids
            .iter()
            .filter_map(|sid| str::from_utf8(sid.bytes()?).ok());
        Ok(text.map(str::to_owned).collect())
    }
}

fn millis(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().max(1).to_string()
}
