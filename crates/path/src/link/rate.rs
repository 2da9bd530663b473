//! The rate of a link.

use std::str::FromStr;
use std::sync::Arc;

use super::Trace;

#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// A rate in bits per second.
    Constant(u64),
    /// A rate recorded in a trace.
    Trace(Arc<Trace>),
}

impl FromStr for Rate {
    type Err = String;

    /// `20mbit`, `1.5gbit`, `500kbit`, `8000bit`, or `trace:FILE`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(file) = text.strip_prefix("trace:") {
            return Trace::read(file.as_ref()).map(|trace| Self::Trace(Arc::new(trace)));
        }
        let wrong = || {
            format!("`{text}` is not a rate; write it like 20mbit, 500kbit, 1gbit or trace:FILE")
        };
        let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)];
        let lower = text.to_ascii_lowercase();
        let lower = lower.strip_suffix("/s").unwrap_or(&lower);
        let (number, unit) = units
            .into_iter()
            .find_map(|(word, unit)| Some((lower.strip_suffix(word)?, unit)))
            .ok_or_else(wrong)?;
        let bits = number.trim().parse::<f64>().map_err(|_| wrong())? * unit;
        if !(1.0..=1e12).contains(&bits) {
            return Err(format!("`{text}` is not a rate between 1bit and 1000gbit"));
        }
        Ok(Self::Constant(bits as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_bits() {
        let rate = |text: &str| text.parse::<Rate>();
        assert_eq!(rate("20mbit"), Ok(Rate::Constant(20_000_000)));
        assert_eq!(rate("1.5Gbit/s"), Ok(Rate::Constant(1_500_000_000)));
        for text in [
            "",
            "20",
            "20mb",
            "0bit",
            "-1mbit",
            "nanbit",
            "trace:/none/such",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
