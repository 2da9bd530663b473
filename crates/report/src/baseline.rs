//! The counts that requests had, kept in a file, and which of them rose since: round trips,
//! connections, handshakes and bytes, never milliseconds. Pure: reading and writing the file is
//! left to the caller.

mod counts;
mod file;

use crate::Run;

pub use counts::{COUNTS, RequestCounts, RequestKey};
pub use file::BaselineError;

pub const SCHEMA: &str = "roundtrip/baseline/1";

/// Signatures, dates and cookies differ by some bytes from one answer to the next. A number of
/// bytes has risen if it is larger by more than this many and by more than one in a hundred.
const BYTES_OF_CHANCE: u64 = 64;
const SHARE_OF_CHANCE: u64 = 100;

/// The counts of each request that the file knows, in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    requests: Vec<RequestCounts>,
}

/// A count that differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountChange {
    pub name: &'static str,
    pub was: u64,
    pub is: u64,
}

impl Baseline {
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let mut requests = file::parse(text)?;
        requests.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requests })
    }

    /// The text of the file: one line for each count.
    pub fn to_text(&self) -> String {
        file::text(&self.requests)
    }

    pub fn knows(&self, key: &RequestKey) -> bool {
        self.requests.iter().any(|known| known.key == *key)
    }

    /// Replaces the stored counts of this request.
    pub fn put(&mut self, counts: RequestCounts) {
        self.requests.retain(|known| known.key != counts.key);
        self.requests.push(counts);
        self.requests.sort_by(|a, b| a.key.cmp(&b.key));
    }

    /// Every count that differs by more than chance; counts that the file lacks are not compared.
    pub fn changes(&self, now: &RequestCounts) -> Vec<CountChange> {
        let known = self.requests.iter().find(|known| known.key == now.key);
        let pairs = known.into_iter().flat_map(|known| known.pairs(now));
        pairs.filter(CountChange::is_told).collect()
    }

    /// The counts that have risen.
    pub fn rises(&self, now: &RequestCounts) -> Vec<CountChange> {
        let mut changes = self.changes(now);
        changes.retain(CountChange::rose);
        changes
    }
}

impl CountChange {
    pub fn rose(&self) -> bool {
        self.is > self.was
    }

    /// Whether to report the change. A body's round trips vary, so a lower count of them is not
    /// reported.
    fn is_told(&self) -> bool {
        self.is_beyond_chance() && (self.rose() || self.name != counts::BODY)
    }

    fn is_beyond_chance(&self) -> bool {
        let (low, high) = (self.was.min(self.is), self.was.max(self.is));
        let chance = if self.name.starts_with("bytes") {
            BYTES_OF_CHANCE.max(low / SHARE_OF_CHANCE)
        } else {
            0
        };
        high - low > chance
    }
}

impl std::fmt::Display for CountChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let turn = if self.rose() { "rose" } else { "fell" };
        let (was, is) = (self.was, self.is);
        write!(f, "{} {turn} from {was} to {is}", self.name)
    }
}

/// The counts of each run that succeeded. Chance adds to a count (a loss, a second attempt), so
/// several are joined by [`RequestCounts::least`] or [`RequestCounts::to_keep`].
pub fn counts<'a>(runs: impl Iterator<Item = Run<'a>>) -> impl Iterator<Item = RequestCounts> {
    runs.filter(Run::ok)
        .filter_map(|run| RequestCounts::from_run(&run))
}

#[cfg(test)]
mod tests;
