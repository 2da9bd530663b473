//! The Date header (RFC 9110, section 6.6.1), made once a second.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Remembers the header of the current second.
#[derive(Debug)]
pub(crate) struct DateHeader(Mutex<(u64, HeaderValue)>);

impl Default for DateHeader {
    fn default() -> Self {
        Self(Mutex::new((0, value(0))))
    }
}

impl DateHeader {
    pub(crate) fn now(&self) -> HeaderValue {
        let second = second(SystemTime::now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != second {
            *kept = (second, value(second));
        }
        kept.1.clone()
    }
}

/// The header of any moment.
pub(crate) fn at(moment: SystemTime) -> HeaderValue {
    value(second(moment))
}

fn second(moment: SystemTime) -> u64 {
    moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs())
}

fn value(second: u64) -> HeaderValue {
    HeaderValue::try_from(imf_fixdate(second)).unwrap_or(HeaderValue::from_static(""))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
pub fn imf_fixdate(second: u64) -> String {
    let (days, rest) = (second / 86_400, second % 86_400);
    let (year, month, day) = civil(days);
    let weekday = DAYS.get((days % 7) as usize).copied().unwrap_or_default();
    let month = MONTHS.get(month).copied().unwrap_or_default();
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month (from 0) and day of the month (from 1) of the day `days` after 1970-01-01. Years are counted from March,
/// so that the leap day comes last, within eras of 400 years, which are all 146 097 days long.
fn civil(days: u64) -> (u64, usize, u64) {
    let shifted = days + 719_468; // days since 0000-03-01
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12;
    let year = era * 400 + year_of_era + u64::from(month < 2);
    (year, month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // The first is the RFC's own example; the others are from `date -u -d @N`.
        for (second, date) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(imf_fixdate(second), date);
        }
    }

    #[test]
    fn the_header_is_of_this_century() {
        let now = DateHeader::default().now();
        assert!(now.to_str().unwrap().contains(" 20"), "{now:?}");
    }
}
