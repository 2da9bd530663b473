//! Values that can be taken only once, in Redis.

use std::time::Duration;

use roundtrip_wire::hex;
use roundtrip_wire::resp::Value;

use super::{Redis, expect_ok, refused};
use crate::StoreError;
use crate::once::{Once, TakesOnce};

/// Outside the prefix of sessions, so that nobody is notified of changes.
const PREFIX: &[u8] = b"roundtrip-ticket:";

/// Uses `GETDEL`, which is atomic; servers have it since version 6.2.
impl TakesOnce for Redis {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        let link = self.link().await?;
        let life = life.as_millis().max(1).to_string();
        for pair in entries.chunks(2) {
            let keys: Vec<Vec<u8>> = pair.iter().map(|kept| key(&kept.name)).collect();
            let commands: Vec<[&[u8]; 5]> = pair
                .iter()
                .zip(&keys)
                .map(|(kept, key)| [b"SET", key.as_slice(), &kept.value, b"PX", life.as_bytes()])
                .collect();
            match commands.as_slice() {
                [one, other] => {
                    let (first, second) = link.ask_two(one, other).await?;
                    expect_ok("SET", first)?;
                    expect_ok("SET", second)?;
                }
                [one] => expect_ok("SET", link.ask(one).await?)?,
                _ => {}
            }
        }
        Ok(())
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let (link, key) = (self.link().await?, key(name));
        match refused("GETDEL", link.ask(&[b"GETDEL", &key]).await?)? {
            Value::Null => Ok(None),
            value => match value.bytes() {
                Some(bytes) => Ok(Some(bytes.to_vec())),
                None => Err(StoreError::NotUnderstood("it is not a string")),
            },
        }
    }
}

/// In hexadecimal, for people who look at the server's keys.
fn key(name: &[u8]) -> Vec<u8> {
    [PREFIX, hex(name).as_bytes()].concat()
}
