//! `Retry-After`: the time that a server asks clients to wait. RFC 9110 §10.2.3.

use std::time::Duration;

use roundtrip_wire::http_date;

use crate::memory::Stamp;

/// Parses either form: seconds, or a date; a date in the past means now. Returns `None` for
/// anything else. The caller bounds the duration.
pub fn retry_after(field: &[u8], now: Stamp) -> Option<Duration> {
    let field = field.trim_ascii();
    if !field.is_empty() && field.iter().all(u8::is_ascii_digit) {
        // A number too large to parse means a long time.
        let seconds = std::str::from_utf8(field).ok()?.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds));
    }
    let date = http_date::parse(field, now.as_secs())?;
    Some(Stamp::from_secs(date).since(now))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Stamp = Stamp(784_111_777_500);

    #[test]
    fn both_forms() {
        for (field, expected) in [
            ("120", Some(120_000)),
            (" 120\t", Some(120_000)),
            ("0", Some(0)),
            ("00000000000000000000000007", Some(7_000)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(9_500)),
            ("Sunday, 06-Nov-94 08:49:47 GMT", Some(9_500)),
            ("Sun Nov  6 08:49:47 1994", Some(9_500)),
            // A date in the past.
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            // Neither form.
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("1 2", None),
            ("1, 2", None),
            ("soon", None),
            ("0x10", None),
            ("Mon, 06 Nov 1994 08:49:47 GMT", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(field.as_bytes(), NOW), expected, "{field}");
        }
        let absurd = retry_after(b"99999999999999999999999999", NOW).unwrap();
        assert_eq!(absurd, Duration::from_secs(u64::MAX));
    }

    proptest! {
        #[test]
        fn a_date_equals_its_seconds(now in 0_u64..100_000_000_000, ahead in 0_u64..1_000_000_000) {
            let date = http_date::format(now + ahead);
            prop_assert_eq!(
                retry_after(date.as_bytes(), Stamp::from_secs(now)),
                retry_after(ahead.to_string().as_bytes(), Stamp::from_secs(now))
            );
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, now: u64) {
            let _ = retry_after(&bytes, Stamp(now));
        }
    }
}
