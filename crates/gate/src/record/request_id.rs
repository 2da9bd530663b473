//! The ID of one request, common to its client, gate's log and its backend. Making one allocates
//! nothing: it is the thread's prefix and a number.

use std::cell::Cell;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A longer ID of a client is replaced.
const MAX_ID_LENGTH: usize = 64;
const HEX: &[u8; 16] = b"0123456789abcdef";

#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    bytes: [u8; MAX_ID_LENGTH],
    length: u8,
}

thread_local! {
    /// The prefix of this thread in this run, and how many IDs it has made.
    static MADE: Cell<Option<(u64, u32)>> = const { Cell::new(None) };
}

impl RequestId {
    /// Stands for a request that has no ID yet.
    pub(crate) const NONE: Self = Self {
        bytes: [0; MAX_ID_LENGTH],
        length: 0,
    };

    /// A new ID, which no other thread or run will make.
    pub(crate) fn new() -> Self {
        let (prefix, number) = MADE.get().unwrap_or_else(|| (prefix(), 0));
        // After four billion IDs, a new prefix.
        let next = number.checked_add(1).map(|next| (prefix, next));
        MADE.set(next);
        let mut id = Self::NONE;
        id.hex(prefix, 16);
        id.push(b'-');
        id.hex(number.into(), 8);
        id
    }

    /// The client's own ID, if it is safe to repeat.
    pub(crate) fn from_client(value: &[u8]) -> Option<Self> {
        let sane = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:=+/@~".contains(b);
        let fits = (1..=MAX_ID_LENGTH).contains(&value.len());
        if !fits || !value.iter().all(sane) {
            return None;
        }
        let mut id = Self::NONE;
        for byte in value {
            id.push(*byte);
        }
        Some(id)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    pub(crate) fn as_str(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
    }

    fn hex(&mut self, number: u64, digits: u32) {
        for at in (0..digits).rev() {
            let digit = (number >> (4 * at)) & 15;
            self.push(HEX.get(digit as usize).copied().unwrap_or(b'0'));
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn prefix() -> u64 {
    let mut bytes = [0; 8];
    if aws_lc_rs::rand::fill(&mut bytes).is_ok() {
        return u64::from_ne_bytes(bytes);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_are_alike_in_whatever_thread() {
        let some = || (0..1000).map(|_| RequestId::new().as_str().to_owned());
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(move || some().collect::<Vec<_>>()))
            .collect();
        let made: Vec<String> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let different: HashSet<&String> = made.iter().collect();
        assert_eq!(different.len(), 4000);
    }

    #[test]
    fn a_thread_that_has_counted_to_the_end_begins_anew() {
        MADE.set(Some((1, u32::MAX)));
        assert_eq!(RequestId::new().as_str(), "0000000000000001-ffffffff");
        assert!(RequestId::new().as_str().ends_with("-00000000"));
    }
}
