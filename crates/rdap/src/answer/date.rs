//! Dates as servers write them: RFC 3339, and the common deviations from it.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_wire::calendar::{self, CivilDate, SECONDS_PER_DAY};

/// A point in time, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// Seconds since 1970; negative before that.
    pub seconds: i64,
    /// Whether the text had a day but no time.
    pub day_only: bool,
    /// The text follows RFC 3339, section 5.6, as RFC 9083 requires.
    pub strict: bool,
}

impl Date {
    /// Reads a date. Also accepts a date without a time or without a zone, with a blank in place of
    /// the `T`, or with a zone of four digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = Reader(text.trim());
        let (year, month, day) = (rest.digits(4)?, rest.after('-', 2)?, rest.after('-', 2)?);
        let date = CivilDate { year, month, day };
        let midnight = date.exists().then(|| date.to_days() * SECONDS_PER_DAY)?;
        if rest.0.is_empty() {
            return Some(Self {
                seconds: midnight,
                day_only: true,
                strict: false,
            });
        }
        let with_t = rest.one_of(&['T', 't']);
        if !with_t && !rest.one_of(&[' ']) {
            return None;
        }
        let (hour, minute) = (rest.digits(2)?, rest.after(':', 2)?);
        let second = rest.after(':', 2);
        let fraction = second.is_some() && rest.one_of(&['.', ',']);
        let digits = rest.0.len();
        if fraction {
            rest.skip_digits();
        }
        let fraction_empty = fraction && rest.0.len() == digits;
        let (offset, zoned) = rest.zone()?;
        // A leap second is allowed (section 5.7).
        if hour > 23 || minute > 59 || second.is_some_and(|s| s > 60) || !rest.0.is_empty() {
            return None;
        }
        let seconds = midnight + hour * 3600 + minute * 60 + second.unwrap_or(0) - offset * 60;
        // A leap second is the last one of a month, in UTC.
        let misplaced = second == Some(60) && {
            let (CivilDate { day, .. }, time) = calendar::split(seconds);
            day != 1 || time != [0, 0, 0]
        };
        let whole = with_t && zoned && second.is_some() && !fraction_empty && !misplaced;
        Some(Self {
            seconds,
            day_only: false,
            strict: whole && !text.contains(',') && text.trim() == text,
        })
    }

    pub fn at(time: SystemTime) -> Self {
        let seconds = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
        };
        Self {
            seconds,
            day_only: false,
            strict: true,
        }
    }

    /// `1995-08-14`, in UTC.
    pub fn day(self) -> String {
        let (CivilDate { year, month, day }, _) = calendar::split(self.seconds);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// The date as text: `1995-08-14 04:00 UTC`, or only the day if no time is known.
    pub fn shown(self) -> String {
        if self.day_only {
            return self.day();
        }
        let (_, [hour, minute, _]) = calendar::split(self.seconds);
        format!("{} {hour:02}:{minute:02} UTC", self.day())
    }

    /// `1995-08-14T04:00:00Z`.
    pub fn stamp(self) -> String {
        let (_, [hour, minute, second]) = calendar::split(self.seconds);
        format!("{}T{hour:02}:{minute:02}:{second:02}Z", self.day())
    }
}

/// The part of the text that has not been read yet.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.0.get(..count)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.0 = self.0.get(count..)?;
        digits.parse().ok()
    }

    fn after(&mut self, mark: char, count: usize) -> Option<i64> {
        let rest = self.0.strip_prefix(mark)?;
        let mut reader = Reader(rest);
        let digits = reader.digits(count)?;
        self.0 = reader.0;
        Some(digits)
    }

    fn one_of(&mut self, marks: &[char]) -> bool {
        let rest = self.0.strip_prefix(marks);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip_digits(&mut self) {
        self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_digit());
    }

    /// Returns the offset in minutes east of UTC, and whether it is written as RFC 3339 requires.
    fn zone(&mut self) -> Option<(i64, bool)> {
        self.0 = self.0.strip_prefix(' ').unwrap_or(self.0);
        if self.0.is_empty() {
            return Some((0, false));
        }
        if self.one_of(&['Z', 'z']) {
            return Some((0, true));
        }
        for name in ["UTC", "GMT"] {
            if let Some(rest) = self.0.strip_prefix(name) {
                self.0 = rest;
                return Some((0, false));
            }
        }
        let sign = if self.0.starts_with('-') { -1 } else { 1 };
        if !self.one_of(&['+', '-']) {
            return None;
        }
        let hours = self.digits(2)?;
        let colon = self.0.starts_with(':');
        let minutes = self.after(':', 2).or_else(|| self.digits(2)).unwrap_or(0);
        let right = hours <= 23 && minutes <= 59;
        right.then_some((sign * (hours * 60 + minutes), colon))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed_in_many_forms() {
        for (text, stamp, strict) in [
            ("1995-08-14T04:00:00Z", "1995-08-14T04:00:00Z", true),
            ("2011-10-29T11:02:59-04:00", "2011-10-29T15:02:59Z", true),
            ("2024-02-29t23:59:60.25z", "2024-03-01T00:00:00Z", true),
            ("2011-10-29T11:02:59+0530", "2011-10-29T05:32:59Z", false),
            ("2024-01-31T18:59:60-05:00", "2024-02-01T00:00:00Z", true),
            ("2024-01-01T00:00:60Z", "2024-01-01T00:01:00Z", false),
            ("2024-02-28T23:59:60Z", "2024-02-29T00:00:00Z", false),
            ("2011-10-29T11:02:59.Z", "2011-10-29T11:02:59Z", false),
            (" 2011-10-29T11:02:59Z", "2011-10-29T11:02:59Z", false),
            ("2011-10-29 11:02:59", "2011-10-29T11:02:59Z", false),
            ("2011-10-29 11:02 UTC", "2011-10-29T11:02:00Z", false),
            ("1969-12-31", "1969-12-31T00:00:00Z", false),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", true),
        ] {
            let date = Date::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (date.stamp().as_str(), date.strict),
                (stamp, strict),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_dates_are_refused() {
        for text in [
            "",
            "soon",
            "2023-02-29",
            "2023-13-01",
            "2023-01-00",
            "2023-01-01T25:00:00Z",
            "23-01-01",
            "2023-01-01T10:00:00Zz",
            "2023-01-01T10:00:00+99:00",
            "2023-01-01x10:00:00Z",
            "２０２３-01-01",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }

    #[test]
    fn any_moment_can_be_shown() {
        for seconds in [i64::MIN, -1, 0, i64::MAX] {
            let date = Date {
                seconds,
                day_only: false,
                strict: true,
            };
            assert!(!date.stamp().is_empty() && !date.shown().is_empty());
        }
    }
}
