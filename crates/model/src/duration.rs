//! Durations as people write them: `90ms`, `1.5s`, `200us`, `2m` or `2min`, `8h`, `7d`.

use std::time::Duration;

/// Parses a duration in words, flags and files.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let not_valid =
        || format!("`{text}` is not a valid time; write it like 200us, 90ms, 1.5s, 30m, 12h or 7d");
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let seconds = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if number.parse::<f64>() == Ok(0.0) => 1.0,
        _ => return Err(not_valid()),
    };
    let number: f64 = number.parse().map_err(|_| not_valid())?;
    // Rounds to the nanosecond, so that 0.3 ms is 300 000 ns.
    let nanoseconds = (number * seconds * 1e9).round();
    if !(0.0..=8.64e16).contains(&nanoseconds) {
        return Err(format!("`{text}` is not between 0 and 1000 days"));
    }
    Ok(Duration::from_nanos(nanoseconds as u64))
}

/// Shows a duration, in milliseconds below a second: "within 0.0 s" would say nothing.
pub fn show_duration(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_micros() as f64 / 1e3)
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        for (text, nanoseconds) in [
            ("90ms", 90_000_000),
            ("0.3ms", 300_000),
            ("1.5s", 1_500_000_000),
            ("200us", 200_000),
            ("5µs", 5000),
            ("7ns", 7),
            ("0", 0),
            ("1min", 60_000_000_000),
            ("30m", 1_800_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("2d", 172_800_000_000_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanoseconds)),
                "{text}"
            );
        }
        for text in [
            "", "90", "ms", "-1ms", "1e99s", "nan s", "NaNs", "infs", "1 m", "90mss", "1001d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
