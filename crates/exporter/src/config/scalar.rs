//! Durations and sizes in the notation of Go, and values that may be left out.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A duration such as `5s`, `1m30s` or `1.5h`; 0 if it is empty or negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// A number of bytes such as `10MB`, whose units are powers of 1024, as in blackbox_exporter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// The units of a duration in nanoseconds.
const UNITS: [(&str, f64); 10] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
    ("w", 604_800e9),
];

const SIZES: [(&str, f64); 14] = [
    ("B", 1.0),
    ("KB", 1024.0),
    ("KiB", 1024.0),
    ("MB", 1_048_576.0),
    ("MiB", 1_048_576.0),
    ("GB", 1_073_741_824.0),
    ("GiB", 1_073_741_824.0),
    ("TB", 1_099_511_627_776.0),
    ("TiB", 1_099_511_627_776.0),
    ("PB", 1_125_899_906_842_624.0),
    ("PiB", 1_125_899_906_842_624.0),
    ("EB", 1_152_921_504_606_846_976.0),
    ("EiB", 1_152_921_504_606_846_976.0),
    // Without a unit, which blackbox_exporter refuses.
    ("", 1.0),
];

/// The largest number that a value of Go's `int64` has.
const MAX: f64 = 9.2e18;

/// The sum of numbers with units, such as `1m30s`; negative with a sign.
fn sum(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    if text == "0" {
        return Some(0.0);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mut rest, mut total) = (unsigned, 0.0);
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let (unit, tail) = tail.split_at(tail.find(is_number).unwrap_or(tail.len()));
        let unit = units.iter().find(|(name, _)| *name == unit)?.1;
        total += number.parse::<f64>().ok()? * unit;
        rest = tail;
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    (!unsigned.is_empty() && total <= MAX).then_some(sign * total)
}

fn span(text: &str) -> Option<Duration> {
    let nanos = sum(text, &UNITS)?;
    Some(Duration::from_nanos(nanos.max(0.0) as u64))
}

/// Parses a size. A negative one counts as the largest one.
fn size(text: &str) -> Option<u64> {
    let bytes = sum(text, &SIZES)?;
    Some(if bytes < 0.0 { u64::MAX } else { bytes as u64 })
}

/// Reads null as the default, as if the setting were missing.
pub(super) fn or_default<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, millis) in [
            ("5s", 5000),
            ("1m30s", 90_000),
            ("250ms", 250),
            ("1.5s", 1500),
            (".5s", 500),
            ("1h2m3s", 3_723_000),
            ("2000\u{b5}s", 2),
            ("2000us", 2),
            ("3000000ns", 3),
            ("1d", 86_400_000),
            ("+5s", 5000),
            ("-5s", 0),
            ("0", 0),
        ] {
            assert_eq!(span(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "5", "s", "-", "5 s", "1..5s", "99999999999999999999w"] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn units_of_sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("10MB", 10 << 20),
            ("1KiB", 1024),
            ("1KB", 1024),
            ("7", 7),
            ("10B", 10),
            ("1.5MB", 3 << 19),
            ("1MB512KB", 3 << 19),
            ("-1B", u64::MAX),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for wrong in ["1XB", "10 MB", "10kb", "99999999999GiB", ""] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
