//! Indexes of sessions, in Redis: sorted sets whose scores are the sessions' ends.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_wire::resp::Value;

use super::{Redis, refused};
use crate::index::{Indexes, MAX_INDEXED};
use crate::{Source, StoreError};

/// Servers report changes of these keys only if the prefix of sessions is empty.
pub(super) const PREFIX: &[u8] = b"roundtrip-index:";

const NO_LIST: &str = "ZRANGEBYSCORE did not return a list";

impl Indexes for Redis {
    /// The index expires with the session that was entered last; a session that was entered earlier
    /// may not end later, which holds if all of them last equally long.
    async fn insert(
        &self,
        index: &str,
        sid: &str,
        end: SystemTime,
    ) -> Result<Vec<String>, StoreError> {
        let key = [PREFIX, index.as_bytes()].concat();
        let lasts = end > self.now();
        let (now, end) = (millis(self.now()), millis(end));
        let most = MAX_INDEXED.to_string();
        let page = |from| -> [&[u8]; 7] {
            [
                b"ZRANGEBYSCORE",
                &key,
                b"-inf",
                b"+inf",
                b"LIMIT",
                from,
                b"2",
            ]
        };
        // The oldest entries are surplus, as many of them as there are entries beyond the limit.
        let (oldest, beyond) = (page(b"0"), page(most.as_bytes()));
        let commands: [&[&[u8]]; 5] = [
            &[b"ZADD", &key, end.as_bytes(), sid.as_bytes()],
            &[b"ZREMRANGEBYSCORE", &key, b"-inf", now.as_bytes()],
            &oldest,
            &beyond,
            &[b"PEXPIREAT", &key, end.as_bytes()],
        ];
        // An entry that is removed does not end the index.
        let count = commands.len() - usize::from(!lasts);
        let commands = commands.get(..count).unwrap_or_default();
        let answers = self.servers.ask(&key, commands).await?.answers;
        let mut replies = Vec::new();
        for (command, answer) in commands.iter().zip(answers) {
            let name = command.first().copied().unwrap_or_default();
            replies.push(refused(&String::from_utf8_lossy(name), answer)?);
        }
        let [_, _, Value::Array(oldest), Value::Array(beyond), ..] = &replies[..] else {
            return Err(StoreError::NotUnderstood(NO_LIST));
        };
        let surplus = texts(oldest).take(beyond.len());
        Ok(surplus.filter(|other| other != sid).collect())
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
            return Err(StoreError::NotUnderstood(NO_LIST));
        };
        Ok(texts(&sids).collect())
    }
}

fn texts(sids: &[Value]) -> impl Iterator<Item = String> {
    let text = sids
        .iter()
        .filter_map(|sid| str::from_utf8(sid.bytes()?).ok());
    text.map(str::to_owned)
}

fn millis(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().max(1).to_string()
}
