//! Numbers that align, and counts with their nouns.

use std::time::Duration;

/// The number of decimals for a column whose largest number is `largest` milliseconds.
pub(crate) fn decimals(largest: f64) -> usize {
    match largest {
        l if l < 1.0 => 3,
        l if l < 20.0 => 2,
        _ => 1,
    }
}

/// The smallest value that does not print as zero with this many decimals.
pub(crate) fn least(places: usize) -> f64 {
    0.5 / 10f64.powf(places as f64)
}

/// The end of a scale: the smallest of these multiples of a power of ten, or ten, that is at least
/// `value`. It is 1 if `value` is not a positive number.
pub fn round_up(value: f64, multiples: &[f64]) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let fits = |multiple: &&f64| **multiple * power >= value * 0.999_999;
    multiples.iter().find(fits).unwrap_or(&10.0) * power
}

/// Milliseconds outside of a column, with a precision that suits their size.
pub fn ms(value: f64) -> String {
    format!("{value:.*}", decimals(value.abs()))
}

pub(crate) fn span_ms(span: Duration) -> String {
    ms(span.as_secs_f64() * 1e3)
}

/// `1 round trip`, `2 round trips`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(crate) fn trips(n: u32) -> String {
    count(n.into(), "round trip", "round trips")
}

/// A size in a form that is easy to read.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..10_000 => count(n, "byte", "bytes"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [ms(0.1234), ms(4.127), ms(184.26)],
            ["0.123", "4.13", "184.3"]
        );
        assert_eq!(
            [bytes(1), bytes(9_999), bytes(20_480)],
            ["1 byte", "9999 bytes", "20.5 kB"]
        );
    }
}
