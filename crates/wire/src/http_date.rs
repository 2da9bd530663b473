//! HTTP-date: the times in `Date`, `Expires`, `Last-Modified` and `Retry-After`. RFC 9110 §5.6.7.
//!
//! Times are seconds since 1970; an earlier date becomes 0. Parsing is strict: only the three
//! grammars, letter by letter, only dates that exist, and only with the right weekday.

use crate::calendar::{self, CivilDate, SECONDS_PER_DAY};

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Parses a date. `now`, in seconds since 1970, determines the century of a year of two digits.
pub fn parse(value: &[u8], now: u64) -> Option<u64> {
    let mut scan = Scan(value.trim_ascii());
    let letters = scan.0.iter().take_while(|b| b.is_ascii_alphabetic());
    let name = std::str::from_utf8(scan.take(letters.count())?).ok()?;
    let short = name.len() == 3;
    let weekday = DAYS
        .iter()
        .position(|day| name == if short { &day[..3] } else { day })?;
    let read = match (short, scan.0.first()?) {
        (true, b',') => imf_fixdate(&mut scan)?,
        (true, b' ') => asctime(&mut scan)?,
        (false, b',') => rfc850(&mut scan, now)?,
        _ => return None,
    };
    let is_date = read.date.exists() && read.date.year > 0;
    let days = is_date.then(|| read.date.to_days())?;
    let is_right = scan.0.is_empty() && days.rem_euclid(7) as usize == weekday;
    is_right.then(|| u64::try_from(days * SECONDS_PER_DAY + read.second).unwrap_or(0))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn format(second: u64) -> String {
    let seconds = calendar::within_four_digits(second);
    let (CivilDate { year, month, day }, [hour, minute, second]) = calendar::split(seconds);
    let weekday = (seconds / SECONDS_PER_DAY % 7) as usize;
    let weekday = DAYS.get(weekday).map_or("", |day| &day[..3]);
    let month = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

struct ParsedDate {
    date: CivilDate,
    /// Seconds since midnight.
    second: i64,
}

fn imf_fixdate(scan: &mut Scan<'_>) -> Option<ParsedDate> {
    scan.literal(b", ")?;
    let day = scan.number(2)?;
    scan.literal(b" ")?;
    let month = scan.month()?;
    scan.literal(b" ")?;
    let year = scan.number(4)?;
    scan.literal(b" ")?;
    let second = scan.time()?;
    scan.literal(b" GMT")?;
    let date = CivilDate { year, month, day };
    Some(ParsedDate { date, second })
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`.
fn rfc850(scan: &mut Scan<'_>, now: u64) -> Option<ParsedDate> {
    scan.literal(b", ")?;
    let day = scan.number(2)?;
    scan.literal(b"-")?;
    let month = scan.month()?;
    scan.literal(b"-")?;
    let short = scan.number(2)?;
    scan.literal(b" ")?;
    let second = scan.time()?;
    scan.literal(b" GMT")?;
    let (CivilDate { year, .. }, _) = calendar::split(calendar::within_four_digits(now));
    // More than 50 years ahead means the past: the latest year with these digits that is not
    // further ahead. RFC 9110 §5.6.7.
    let latest = year + 50;
    let year = latest - (latest + 100 - short) % 100;
    let date = CivilDate { year, month, day };
    Some(ParsedDate { date, second })
}

/// `Sun Nov  6 08:49:37 1994`.
fn asctime(scan: &mut Scan<'_>) -> Option<ParsedDate> {
    scan.literal(b" ")?;
    let month = scan.month()?;
    scan.literal(b" ")?;
    let day = match scan.literal(b" ") {
        Some(()) => scan.number(1)?,
        None => scan.number(2)?,
    };
    scan.literal(b" ")?;
    let second = scan.time()?;
    scan.literal(b" ")?;
    let year = scan.number(4)?;
    let date = CivilDate { year, month, day };
    Some(ParsedDate { date, second })
}

struct Scan<'a>(&'a [u8]);

impl<'a> Scan<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        self.take(digits)?.iter().try_fold(0, |number, byte| {
            let digit = char::from(*byte).to_digit(10)?;
            Some(number * 10 + i64::from(digit))
        })
    }

    fn month(&mut self) -> Option<i64> {
        let name = self.take(3)?;
        let months = MONTHS.iter().zip(1..);
        let mut named = months.filter(|(month, _)| month.as_bytes() == name);
        named.next().map(|(_, number)| number)
    }

    /// `08:49:37`; a leap second has the number 60.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2).filter(|hour| *hour < 24)?;
        self.literal(b":")?;
        let minute = self.number(2).filter(|minute| *minute < 60)?;
        self.literal(b":")?;
        let second = self.number(2).filter(|second| *second <= 60)?;
        Some(hour * 3600 + minute * 60 + second)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_790_000_000; // in September 2026

    #[test]
    fn the_three_forms_of_the_rfc() {
        for form in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(form.as_bytes(), NOW), Some(784_111_777), "{form}");
        }
        assert_eq!(parse(b"Wed Nov 16 08:49:37 1994", NOW), Some(784_975_777));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (second, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(format(second), date);
            assert_eq!(parse(date.as_bytes(), NOW), Some(second));
        }
        assert_eq!(parse(b"Fri, 01 Jan 1904 00:00:00 GMT", NOW), Some(0));
        let leap_second = b"Sat, 31 Dec 2016 23:59:60 GMT";
        assert_eq!(parse(leap_second, NOW), Some(1_483_228_800));
    }

    #[test]
    fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
        // 2076 is fifty years after 2026; 2077 would be more, so it is 1977.
        let ahead = parse(b"Thursday, 31-Dec-76 00:00:00 GMT", NOW).unwrap();
        assert_eq!(format(ahead), "Thu, 31 Dec 2076 00:00:00 GMT");
        let past = parse(b"Friday, 31-Dec-77 00:00:00 GMT", NOW);
        assert_eq!(past, None, "the 31st of December 1977 was a Saturday");
        let past = parse(b"Saturday, 31-Dec-77 00:00:00 GMT", NOW).unwrap();
        assert_eq!(format(past), "Sat, 31 Dec 1977 00:00:00 GMT");
    }

    #[test]
    fn text_that_is_not_a_date_is_none() {
        for bad in [
            "",
            "0",
            "-1",
            "Sun",
            "Sun,",
            "Mon, 06 Nov 1994 08:49:37 GMT", // it was a Sunday
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 GMT,",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Wed, 31 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 08:49:37 GMT",
            "Sun, 06 Nov 0000 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:3\u{663} GMT",
        ] {
            assert_eq!(parse(bad.as_bytes(), NOW), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn written_dates_are_read_back(second in 0_u64..253_402_300_800, now: u64) {
            prop_assert_eq!(parse(format(second).as_bytes(), now), Some(second));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, now: u64) {
            let _ = parse(&bytes, now);
        }

        #[test]
        fn a_letter_changed_never_moves_the_weekday(second in 0_u64..253_402_300_800, at in 0_usize..29, byte: u8) {
            let mut text = format(second).into_bytes();
            text[at] = byte;
            // A date before 1970 becomes 1970.
            if let Some(read) = parse(&text, NOW).filter(|read| *read > 0) {
                // A mutated text that is still a date names the right weekday.
                let shown = format(read);
                prop_assert!(text.starts_with(&shown.as_bytes()[..3]) || text.ends_with(b":60 GMT"));
            }
        }
    }
}
