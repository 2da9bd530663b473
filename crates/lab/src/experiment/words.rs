//! The properties of a path, in the words of `roundtrip path`. This is the only place that builds a
//! path from them.

use std::collections::BTreeMap;
use std::time::Duration;

use roundtrip_model::parse_duration;
use roundtrip_path::{Builder, Path, WORDS, WordError};

/// Words with their values, sorted by word; a word may have several values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathWords(BTreeMap<String, Vec<String>>);

impl PathWords {
    /// Sets a word, and replaces its former values.
    pub fn say(&mut self, word: &str, values: Vec<String>) {
        self.0.insert(word.to_owned(), values);
    }

    /// Overrides these words with those of `other`.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let mut all = self.clone();
        all.0.extend(others.0.clone());
        all
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0
            .iter()
            .map(|(word, values)| (word.as_str(), values.as_slice()))
    }

    /// The sum of all delays, there and back; `None` for a path without delay.
    pub fn rtt(&self) -> Option<Duration> {
        let rtt = self.builder(0).ok()?.round_trip();
        (!rtt.is_zero()).then_some(rtt)
    }

    /// Makes `rtt` the round-trip time of the whole path: the first section gets what the others
    /// leave.
    pub fn take(&mut self, rtt: Duration) {
        self.0.remove("delay");
        self.say("rtt", vec!["0ms".into()]);
        let further = self.rtt().unwrap_or_default();
        let first = rtt.saturating_sub(further).as_secs_f64() * 1e3;
        self.say("rtt", vec![format!("{first}ms")]);
    }

    pub fn rtt_ms(&self) -> Option<f64> {
        self.rtt().map(|rtt| rtt.as_secs_f64() * 1e3)
    }

    /// Makes a path of these words. The seed determines everything random on it.
    pub fn builder(&self, seed: u64) -> Result<Builder, WordError> {
        let mut builder = Path::builder().seed(seed);
        for (word, value) in self.in_order() {
            builder.set(word, value)?;
        }
        Ok(builder)
    }

    /// Sorts general words before specific ones, as `WORDS` does: a preset before the words that
    /// override parts of it.
    pub(super) fn in_order(&self) -> Vec<(&str, &str)> {
        let place = |word: &str| WORDS.iter().position(|known| known.name == word);
        let mut said: Vec<_> = self.iter().collect();
        said.sort_by_key(|(word, _)| place(word));
        said.into_iter()
            .flat_map(|(word, values)| values.iter().map(move |value| (word, value.as_str())))
            .collect()
    }
}

/// The longest time that a file may specify.
const MAX_SPAN: Duration = Duration::from_mins(1);

/// Parses a time as the words of a path do, up to a minute. A bare number is rejected, because it
/// could mean seconds or milliseconds.
pub fn span(text: &str) -> Option<Duration> {
    parse_duration(text).ok().filter(|span| *span <= MAX_SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        assert_eq!(span("90ms"), Some(Duration::from_millis(90)));
        assert_eq!(span("0.3ms"), Some(Duration::from_micros(300)));
        assert_eq!(span("250us"), Some(Duration::from_micros(250)));
        assert_eq!(span("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(span("1min"), Some(Duration::from_mins(1)));
        for bad in ["", "20", "ms", "-1ms", "61s", "NaN", "soon", "inf s"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    #[test]
    fn words_become_a_path_or_are_refused() {
        let mut words = PathWords::default();
        words.say("rtt", vec!["20ms".into()]);
        words.say("middlebox", vec!["strip-fast-open".into()]);
        assert!(words.builder(1).is_ok());
        assert_eq!(words.rtt_ms(), Some(20.0));
        let mut words = PathWords::default();
        words.say("preset", vec!["transatlantic".into()]);
        assert_eq!(words.rtt_ms(), Some(90.0));
        assert_eq!(PathWords::default().rtt_ms(), None);
        for (word, value) in [
            ("rtt", "soon"),
            ("speed", "high"),
            ("mtu", "x"),
            ("middlebox", "teapot"),
        ] {
            let mut words = PathWords::default();
            words.say(word, vec![value.into()]);
            assert!(words.builder(1).is_err(), "{word} {value}");
        }
    }
    #[test]
    fn the_round_trip_is_that_of_the_whole_path() {
        let mut words = PathWords::default();
        words.say("delay", vec!["up:10ms".into(), "down:30ms".into()]);
        assert_eq!(words.rtt_ms(), Some(40.0));
        words.say(
            "then",
            vec![
                "rtt=50ms".into(),
                "rate=5mbit".into(),
                "delay=up:5ms".into(),
            ],
        );
        assert_eq!(words.rtt_ms(), Some(95.0));
        words.take(Duration::from_millis(75));
        assert_eq!(words.rtt_ms(), Some(75.0));
    }
}
