//! The storage of answers: one file each, in sixteen directories chosen by the hash of the key.
//!
//! Each directory has a sixteenth of the total size. Processes that write there check it from time
//! to time and remove the oldest files; no totals need to be kept between runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::digest::{SHA256, digest};
use roundtrip_wire::hex;

use crate::memory::Stamp;
use crate::memory::directory::Directory;

const SHARDS: usize = 16;
/// The number of bytes of the hash in a file's name.
const HASH: usize = 20;
/// The largest number of files that are examined at once.
const MAX_ITEMS: usize = 200_000;

#[derive(Debug)]
pub(in crate::memory) struct AnswerFiles {
    shards: Vec<Shard>,
    directory: Directory,
    /// The largest size of each directory in bytes.
    share: u64,
}

#[derive(Debug, Default)]
struct Shard {
    directory: OnceLock<Option<Directory>>,
    /// The number of bytes that this process has written since its last check.
    written: AtomicU64,
}

impl AnswerFiles {
    pub(super) fn new(directory: Directory, size: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            directory,
            share: size / SHARDS as u64,
        }
    }

    /// The directory and file name of the answer with this key, if its directory exists.
    pub(super) fn directory(&self, key: &[u8]) -> Option<(&Directory, String)> {
        let hash = digest(&SHA256, key);
        let name = hex(hash.as_ref().get(..HASH)?);
        let shard = self.shard(&name)?;
        let directory = shard
            .directory
            .get_or_init(|| self.directory.below(name.get(..1)?).ok());
        Some((directory.as_ref()?, name))
    }

    /// Records that bytes were written, and checks the directory if it is time: after each 256th
    /// file by hash, and after one process has written much. So both many small runs and a single
    /// large one stay within the size, and most writes cost no check.
    pub(super) fn written(&self, name: &str, bytes: usize, now: Stamp) {
        let Some(shard) = self.shard(name) else {
            return;
        };
        let before = shard.written.fetch_add(bytes as u64, Ordering::Relaxed);
        if name.ends_with("00") || before + bytes as u64 > self.share / 16 {
            shard.written.store(0, Ordering::Relaxed);
            if let Some(Some(directory)) = shard.directory.get() {
                clear(directory, name, self.share, now);
            }
        }
    }

    fn shard(&self, name: &str) -> Option<&Shard> {
        let digit = name.chars().next()?.to_digit(16)?;
        self.shards.get(digit as usize)
    }
}

/// Removes the oldest files, but not `newest`, until a tenth of the size is free.
fn clear(directory: &Directory, newest: &str, share: u64, now: Stamp) {
    let Ok(mut items) = directory.finished(MAX_ITEMS, now) else {
        return;
    };
    let mut total: u64 = items.iter().map(|item| item.size).sum();
    if total <= share {
        return;
    }
    items.sort_unstable();
    for item in items.iter().filter(|item| item.name != newest) {
        if total <= share / 10 * 9 {
            break;
        }
        let _ = directory.remove(&item.name);
        total -= item.size;
    }
}
