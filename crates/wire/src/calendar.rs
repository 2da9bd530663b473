//! The Gregorian calendar: dates as days since 1970-01-01 and back, and times in the format of RFC
//! 3339.
//!
//! The two conversions are `days_from_civil` and `civil_from_days` of Howard Hinnant's
//! "chrono-compatible low-level date algorithms". Years begin in March, so that the leap day is
//! their last day, and four centuries always have 146,097 days.

pub const SECONDS_PER_DAY: i64 = 86_400;

/// The last second of the year 9999. The grammars of RFC 3339 and of HTTP-date have four digits.
const LAST_SECOND: i64 = 253_402_300_799;
/// The days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

/// A day of the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDate {
    pub year: i64,
    /// Counted from 1.
    pub month: i64,
    /// Counted from 1.
    pub day: i64,
}

impl CivilDate {
    /// The date that is `days` days after 1970-01-01, or before it if `days` is negative.
    pub fn from_days(days: i64) -> Self {
        let days = days.saturating_add(DAYS_BEFORE_1970);
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Self {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
        }
    }

    /// Days since 1970-01-01. A day past the end of its month counts on into the next.
    pub fn to_days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let from_march = (self.month + 9) % 12;
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * from_march + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_1970
    }

    /// Whether the calendar has this month and this day.
    pub fn exists(self) -> bool {
        (1..=12).contains(&self.month) && (1..=self.days_in_month()).contains(&self.day)
    }

    fn days_in_month(self) -> i64 {
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

/// Splits seconds since 1970 into the date and the hour, minute and second of that day.
pub fn split(seconds: i64) -> (CivilDate, [i64; 3]) {
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    (
        CivilDate::from_days(seconds.div_euclid(SECONDS_PER_DAY)),
        [second / 3600, second / 60 % 60, second % 60],
    )
}

/// `1994-11-06T08:49:37.000Z`, from milliseconds since 1970; used in logs. RFC 3339 §5.6.
pub fn rfc3339(milliseconds: u64) -> String {
    let (date, [hour, minute, second]) = split(within_four_digits(milliseconds / 1000));
    let CivilDate { year, month, day } = date;
    let fraction = milliseconds % 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Seconds since 1970, cut to the last second whose year has four digits.
pub(crate) fn within_four_digits(seconds: u64) -> i64 {
    i64::try_from(seconds).map_or(LAST_SECOND, |seconds| seconds.min(LAST_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: i64, day: i64) -> CivilDate {
        CivilDate { year, month, day }
    }

    #[test]
    fn calendar_and_count_agree() {
        let mut expected = date(1896, 3, 1);
        for days in expected.to_days()..date(2105, 1, 1).to_days() {
            assert_eq!(CivilDate::from_days(days), expected);
            assert_eq!(expected.to_days(), days);
            let CivilDate { year, month, day } = expected;
            expected = [date(year, month, day + 1), date(year, month + 1, 1)]
                .into_iter()
                .find(|next| next.exists())
                .unwrap_or(date(year + 1, 1, 1));
        }
    }

    #[test]
    fn days_that_the_calendar_lacks() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2023, 13, 1),
            (2023, 0, 1),
            (2023, 1, 0),
            (2023, 4, 31),
        ] {
            assert!(!date(year, month, day).exists(), "{year}-{month}-{day}");
        }
        assert!(date(2000, 2, 29).exists() && date(0, 2, 29).exists());
    }

    #[test]
    fn a_day_past_its_month_counts_on() {
        assert_eq!(date(2024, 2, 31).to_days(), date(2024, 3, 2).to_days());
    }

    #[test]
    fn any_count_has_a_date() {
        for days in [i64::MIN, -1, 0, i64::MAX] {
            assert!(CivilDate::from_days(days).exists());
        }
    }

    #[test]
    fn times_for_logs() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (784_111_777_045, "1994-11-06T08:49:37.045Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (u64::MAX, "9999-12-31T23:59:59.615Z"),
        ] {
            assert_eq!(rfc3339(milliseconds), text);
        }
    }
}
