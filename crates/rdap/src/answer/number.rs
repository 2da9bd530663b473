//! Numbers as they were written: no digit is lost, and none is too large.

use std::fmt;

/// The text of a number of JSON (RFC 8259, section 6).
#[derive(Debug, Clone, PartialEq)]
pub struct Number(Box<str>);

impl Number {
    /// The number, if the text is one.
    pub fn parse(text: &str) -> Option<Self> {
        is_number(text).then(|| Self(text.into()))
    }

    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The nearest value; infinite if the number is larger than all.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok()
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self(number.to_string().into())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|e| are_digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for good in ["0", "-0", "10", "-1.50", "1e400", "1E+2", "0.0e-0"] {
            let number = Number::parse(good).unwrap();
            assert_eq!(number.to_string(), good);
            assert!(serde_json::from_str::<f64>(good).is_ok() || good == "1e400");
        }
        for bad in [
            "", "-", "+1", "01", "-00", ".5", "1.", "1.e1", "1e", "1e+", "1e1.0", "1e1e1", "--1",
            "0x1", "1 ", "Infinity", "NaN", "1_0",
        ] {
            assert!(Number::parse(bad).is_none(), "{bad}");
            assert!(serde_json::from_str::<f64>(bad.trim_end()).is_err() || bad == "1 ");
        }
    }

    #[test]
    fn values_are_read_from_the_text() {
        let read = |text: &str| {
            let number = Number::parse(text).unwrap();
            (number.as_u64(), number.as_f64())
        };
        assert_eq!(
            read("18446744073709551615"),
            (Some(u64::MAX), Some(18_446_744_073_709_551_615.0))
        );
        assert_eq!(read("18446744073709551616").0, None);
        assert_eq!(read("-1"), (None, Some(-1.0)));
        assert_eq!(read("1.50"), (None, Some(1.5)));
        assert_eq!(read("1e400"), (None, Some(f64::INFINITY)));
    }
}
