//! Numbers in a form for people.

use roundtrip_report::round_up;

/// The number with a narrow space between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A rate per second; small ones get a decimal.
pub(super) fn rate(a_second: f64) -> String {
    if a_second > 0.0 && a_second < 9.95 {
        format!("{a_second:.1}")
    } else {
        grouped(a_second.round() as u64)
    }
}

/// The two largest units.
pub(super) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// `None` if nothing happened.
pub(super) fn share((all, good): (u64, u64)) -> Option<f64> {
    (all > 0).then(|| good as f64 / all as f64)
}

/// A percentage; never "100 %" while one is missing.
pub(super) fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).floor() / 10.0;
    if (0.995..1.0).contains(&share) {
        format!("{tenths:.1} %")
    } else {
        format!("{tenths:.0} %")
    }
}

/// The next larger round number: the end of a scale.
pub(super) fn ceiling(largest: f64) -> f64 {
    round_up(largest, &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1_000"),
            (1_234_567, "1_234_567"),
        ] {
            assert_eq!(grouped(number).replace('\u{202f}', "_"), text);
        }
        assert_eq!(
            [rate(0.0), rate(0.25), rate(9.96), rate(12.4)],
            ["0", "0.2", "10", "12"]
        );
    }

    #[test]
    fn spans_have_two_units() {
        let spans = [59, 61, 3661, 90_000].map(span);
        assert_eq!(spans, ["59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }

    #[test]
    fn all_is_all() {
        assert_eq!(share((0, 0)), None);
        let told = [1.0, 0.999_99, 0.995, 0.5, 0.0].map(percent);
        assert_eq!(told, ["100 %", "99.9 %", "99.5 %", "50 %", "0 %"]);
    }

    #[test]
    fn scales_end_beyond_the_largest() {
        let ends = [0.0, f64::NAN, 0.03, 1.0, 1.1, 4.9, 8.1, 730.0].map(ceiling);
        for (end, expected) in ends
            .into_iter()
            .zip([1.0, 1.0, 0.03, 1.0, 1.5, 5.0, 10.0, 800.0])
        {
            assert!((end - expected).abs() < 1e-9, "{end} for {expected}");
        }
    }
}
