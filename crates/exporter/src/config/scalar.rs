//! Durations, sizes and regular expressions in the notation of Prometheus.

use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Deserializer, de};

/// A duration such as `5s`, `1m30s` or `250ms`; 0 if it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// A number of bytes such as `10MB` or `1KiB`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A regular expression, which matches anywhere.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(pub(crate) Regex);

const UNITS: [(&str, u64); 7] = [
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
    ("y", 31_536_000_000),
];

const SIZES: [(&str, u64); 9] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1024),
    ("mib", 1024 * 1024),
    ("gib", 1024 * 1024 * 1024),
    ("k", 1000),
];

/// The largest pattern, compiled, in bytes.
const MAX_PATTERN: usize = 10 * 1024 * 1024;

fn span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (count, tail) = rest.split_at(digits);
        let length = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let ms = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        total = total.checked_add(count.parse::<u64>().ok()?.checked_mul(ms)?)?;
        rest = tail;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

fn size(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    count.parse::<u64>().ok()?.checked_mul(factor)
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let what = || de::Error::custom(format!("'{text}' is not a duration such as 5s or 1m30s"));
        span(&text).map(Self).ok_or_else(what)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let what = || de::Error::custom(format!("'{text}' is not a size such as 10MB or 1KiB"));
        size(&text).map(Self).ok_or_else(what)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut builder = regex::RegexBuilder::new(&text);
        let built = builder.size_limit(MAX_PATTERN).build();
        built.map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_prometheus() {
        assert_eq!(span("5s"), Some(Duration::from_secs(5)));
        assert_eq!(span("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(span("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(span("0"), Some(Duration::ZERO));
        for wrong in [
            "",
            "5",
            "s",
            "1.5s",
            "-1s",
            "99999999999999999999y",
            "9999999999999y",
        ] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units_of_ten_and_of_two() {
        assert_eq!(size("10MB"), Some(10_000_000));
        assert_eq!(size("1KiB"), Some(1024));
        assert_eq!(size("7"), Some(7));
        assert_eq!(size("1 mb"), Some(1_000_000));
        assert_eq!(size("1XB"), None);
        assert_eq!(size("99999999999GiB"), None);
    }
}
