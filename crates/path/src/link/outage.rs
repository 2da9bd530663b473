//! Times during which a link carries nothing.

use std::str::FromStr;
use std::time::Duration;

/// A time during which nothing passes: from `from` to `until` after the start of the path, and
/// again each `every`, if that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOutage {
    pub from: Duration,
    pub until: Duration,
    pub every: Option<Duration>,
}

impl LinkOutage {
    pub(crate) fn covers(&self, since: Duration) -> bool {
        let since = match self.every {
            Some(every) => Duration::from_nanos((since.as_nanos() % every.as_nanos()) as u64),
            None => since,
        };
        (self.from..self.until).contains(&since)
    }
}

impl FromStr for LinkOutage {
    type Err = String;

    /// `2s-3s`, or `0s-100ms/15s`: a tenth of a second out of every 15.
    fn from_str(text: &str) -> Result<Self, String> {
        let (window, every) = match text.split_once('/') {
            Some((window, every)) => (window, Some(roundtrip_model::parse_duration(every)?)),
            None => (text, None),
        };
        let (from, until) = window.split_once('-').ok_or_else(|| {
            format!("`{text}` is not an outage; write it like 2s-3s, or 0s-100ms/15s")
        })?;
        let (from, until) = (
            roundtrip_model::parse_duration(from)?,
            roundtrip_model::parse_duration(until)?,
        );
        if from >= until || every.is_some_and(|every| every < until) {
            return Err(format!(
                "the outage `{text}` ends before it begins, or never ends"
            ));
        }
        Ok(Self { from, until, every })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_and_repeated_outages() {
        let covers = |text: &str, ms| {
            let outage: LinkOutage = text.parse().unwrap();
            outage.covers(Duration::from_millis(ms))
        };
        assert!(!covers("2s-3s", 1999) && covers("2s-3s", 2000) && !covers("2s-3s", 3000));
        assert!(covers("0s-100ms/15s", 15_050) && !covers("0s-100ms/15s", 15_100));
        for text in ["", "2s", "3s-2s", "2s-2s", "0s-2s/1s", "0s-0s/0s"] {
            assert!(text.parse::<LinkOutage>().is_err(), "{text}");
        }
    }
}
