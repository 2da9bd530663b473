//! The times in a certificate, as seconds since 1970. RFC 5280 §4.1.2.5.

use super::der::Der;
use crate::Result;
use crate::calendar::{CivilDate, SECONDS_PER_DAY};

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

pub(super) fn read(der: &mut Der<'_>) -> Result<i64> {
    let (tag, text) = der.any()?;
    let seconds = match tag {
        UTC_TIME => utc_time(text),
        GENERALIZED_TIME => generalized_time(text),
        _ => None,
    };
    seconds.ok_or_else(|| der.malformed("a time cannot be read"))
}

/// `YYMMDDHHMMSSZ`; years from 50 on belong to the last century.
fn utc_time(text: &[u8]) -> Option<i64> {
    let (year, rest) = text.split_at_checked(2)?;
    let year = number(year)?;
    seconds(if year < 50 { 2000 + year } else { 1900 + year }, rest)
}

/// `YYYYMMDDHHMMSSZ`.
fn generalized_time(text: &[u8]) -> Option<i64> {
    let (year, rest) = text.split_at_checked(4)?;
    seconds(number(year)?, rest)
}

/// Seconds since 1970, from the year and from `rest`, which is what follows the year.
fn seconds(year: i64, rest: &[u8]) -> Option<i64> {
    let digits = rest
        .strip_suffix(b"Z")
        .filter(|digits| digits.len() == 10)?;
    let mut pairs = digits.chunks(2).map(number);
    let mut next = |range: std::ops::RangeInclusive<i64>| {
        pairs.next().flatten().filter(|value| range.contains(value))
    };
    let month = next(1..=12)?;
    let day = next(1..=31)?;
    let (hour, minute, second) = (next(0..=23)?, next(0..=59)?, next(0..=60)?);
    let days = CivilDate { year, month, day }.to_days();
    Some(days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(value * 10 + i64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_time_are_read() {
        let cases: [(u8, &str, i64); 8] = [
            (UTC_TIME, "700101000000Z", 0),
            (UTC_TIME, "491231235959Z", 2_524_607_999),
            (UTC_TIME, "500101000000Z", -631_152_000),
            (UTC_TIME, "240229120000Z", 1_709_208_000),
            (GENERALIZED_TIME, "20500101000000Z", 2_524_608_000),
            (GENERALIZED_TIME, "99991231235959Z", 253_402_300_799),
            (GENERALIZED_TIME, "20000301000000Z", 951_868_800),
            (GENERALIZED_TIME, "00000101000000Z", -62_167_219_200),
        ];
        for (tag, text, seconds) in cases {
            let bytes = [&[tag, text.len() as u8], text.as_bytes()].concat();
            assert_eq!(read(&mut Der::new(&bytes)), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in [
            "",
            "Z",
            "700101000000",
            "701301000000Z",
            "7001010000Z",
            "70010100000aZ",
            "700132000000Z",
            "700101000000+0100",
        ] {
            assert_eq!(utc_time(text.as_bytes()), None, "{text}");
        }
    }
}
