//! A recorded rate that varies, in mahimahi's format: each line is a chance to send 1500 bytes and
//! names its millisecond; after the last line the trace starts again.

use std::path::Path;
use std::time::Duration;

/// The largest trace file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The times of the chances in ascending order, in milliseconds; not empty, and the last one is
    /// not 0.
    chances: Vec<u64>,
}

impl Trace {
    /// The bytes that one chance carries.
    pub(crate) const CHANCE_BYTES: usize = 1500;

    pub fn read(file: &Path) -> Result<Self, String> {
        let failed = |error| format!("the trace {} cannot be read: {error}", file.display());
        let length = std::fs::metadata(file).map_err(failed)?.len();
        if length > MAX_FILE_BYTES {
            return Err(format!(
                "{} is too large for a trace: {length} bytes",
                file.display()
            ));
        }
        let text = std::fs::read_to_string(file).map_err(failed)?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let mut chances: Vec<u64> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let at = line
                .parse::<u32>()
                .map_err(|_| format!("line {number}: `{line}` is not a number of milliseconds"))?;
            if chances.last().is_some_and(|last| *last > u64::from(at)) {
                return Err(format!(
                    "line {number}: {at} ms is before the line above it"
                ));
            }
            chances.push(at.into());
        }
        if chances.last().is_none_or(|last| *last == 0) {
            return Err(
                "the last line of a trace must be greater than 0 ms: it is the length of the trace"
                    .into(),
            );
        }
        Ok(Self { chances })
    }

    /// The time of the chance with this number, counted from 0 through all repetitions.
    pub(crate) fn chance(&self, number: u64) -> Duration {
        let (rounds, place) = (number / self.count(), number % self.count());
        let within = self.chances.get(place as usize).copied().unwrap_or(0);
        Duration::from_millis(rounds * self.length() + within)
    }

    /// The number of the first chance at or after this time.
    pub(crate) fn first_from(&self, time: Duration) -> u64 {
        // A delivery opportunity is at the start of its millisecond: once that has begun, it has
        // passed.
        let ms = u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let (rounds, within) = (ms / self.length(), ms % self.length());
        let place = self.chances.partition_point(|chance| *chance < within);
        // At the very end of a round, its last delivery opportunities are still to come.
        let last = match (within, rounds.checked_sub(1)) {
            (0, Some(before)) => {
                let place = self
                    .chances
                    .partition_point(|chance| *chance < self.length());
                return before * self.count() + place as u64;
            }
            _ => rounds * self.count(),
        };
        last + place as u64
    }

    /// The mean rate, in bits per second.
    pub(crate) fn mean(&self) -> u64 {
        self.count() * Self::CHANCE_BYTES as u64 * 8 * 1000 / self.length()
    }

    fn count(&self) -> u64 {
        self.chances.len() as u64
    }

    fn length(&self) -> u64 {
        self.chances.last().copied().unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_over() {
        let trace = Trace::parse("1\n1\n4\n").unwrap();
        let times: Vec<_> = (0..6).map(|n| trace.chance(n).as_millis()).collect();
        assert_eq!(times, [1, 1, 4, 5, 5, 8]);
        assert_eq!(trace.mean(), 9_000_000);
        let first = |us| trace.first_from(Duration::from_micros(us));
        assert_eq!(
            [0, 1000, 1001, 4000, 4001, 5000, 8000].map(first),
            [0, 0, 2, 2, 3, 3, 5]
        );
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        assert!(Trace::parse("1\nx").unwrap_err().contains("line 2"));
        assert!(Trace::parse("5\n4").unwrap_err().contains("line 2"));
        assert!(Trace::parse("").is_err() && Trace::parse("0\n").is_err());
    }
}
