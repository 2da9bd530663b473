//! The distance of a date from now, in words.

use roundtrip_wire::calendar::SECONDS_PER_DAY;

use crate::answer::Date;

/// `in 43 days`, `3 years ago`; `today` for a date without a time.
pub(super) fn distance(date: Date, now: Date) -> String {
    let span = date.seconds.saturating_sub(now.seconds);
    let days = span.unsigned_abs() / SECONDS_PER_DAY.unsigned_abs();
    if date.day_only
        && date.seconds.div_euclid(SECONDS_PER_DAY) == now.seconds.div_euclid(SECONDS_PER_DAY)
    {
        return "today".into();
    }
    // A year has 365.2425 days, a month a twelfth of that.
    let (count, unit) = match span.unsigned_abs() {
        0..60 => return "now".into(),
        s @ 60..3_600 => (s / 60, "minute"),
        s @ 3_600..86_400 => (s / 3_600, "hour"),
        _ if days < 60 => (days, "day"),
        _ if days < 730 => (days * 10_000 / 304_369, "month"),
        _ => (days * 10_000 / 3_652_425, "year"),
    };
    let plural = if count == 1 { "" } else { "s" };
    if span > 0 {
        format!("in {count} {unit}{plural}")
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_read_well() {
        let now = Date::parse("2026-11-21T10:00:00Z").unwrap();
        for (text, told) in [
            ("2027-01-03T10:00:00Z", "in 43 days"),
            ("2023-11-01T00:00:00Z", "3 years ago"),
            ("2026-11-21T10:00:30Z", "now"),
            ("2026-11-21T09:59:00Z", "1 minute ago"),
            ("2026-11-22T09:59:00Z", "in 23 hours"),
            ("2026-11-22T10:00:00Z", "in 1 day"),
            ("2026-11-21", "today"),
            ("2027-05-21T10:00:00Z", "in 5 months"),
            ("9999-12-31T23:59:59Z", "in 7973 years"),
        ] {
            assert_eq!(distance(Date::parse(text).unwrap(), now), told, "{text}");
        }
        let never = Date {
            seconds: i64::MIN,
            ..now
        };
        assert!(distance(never, now).ends_with("years ago"));
    }
}
