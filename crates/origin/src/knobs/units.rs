//! Durations as a flag writes them: `150`, `150ms`, `2s`.

use std::time::Duration;

/// A day: longer than any test, short enough for every timer.
const MAX_SPAN: Duration = Duration::from_hours(24);

pub(super) fn span(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => match text.strip_suffix('s') {
            Some(digits) => (digits, 1_000),
            None => (text, 1),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .map(Duration::from_millis)
        .filter(|span| *span <= MAX_SPAN)
        .ok_or_else(|| "write milliseconds, or a number with ms or s, up to a day".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units_and_a_bound() {
        assert_eq!(span("150"), Ok(Duration::from_millis(150)));
        assert_eq!(span("150ms"), Ok(Duration::from_millis(150)));
        assert_eq!(span("2s"), Ok(Duration::from_secs(2)));
        for bad in ["", "s", "-1", "2h", "90000s", "18446744073709551615s"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
