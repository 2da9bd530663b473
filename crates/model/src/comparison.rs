//! The parts of every limit: the name of a quantity, a comparison sign and a bound, as in `ttfb >
//! 300ms` or `worse > 10%`. Callers define the quantities and the meaning of a bound for each.

/// How a value is compared with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// If two signs match at one position, the longer one is meant, so it comes first.
const SIGNS: [(&str, ComparisonOperator); 6] = [
    ("<=", ComparisonOperator::LessOrEqual),
    (">=", ComparisonOperator::GreaterOrEqual),
    ("==", ComparisonOperator::Equal),
    ("!=", ComparisonOperator::NotEqual),
    ("<", ComparisonOperator::Less),
    (">", ComparisonOperator::Greater),
];

/// Values that differ by less than this count as equal.
const SAME: f64 = 1e-9;

impl ComparisonOperator {
    /// Splits the text at the first sign; `None` if it has no sign.
    pub fn split(text: &str) -> Option<(&str, Self, &str)> {
        SIGNS
            .iter()
            .filter_map(|(sign, comparison)| {
                let (left, right) = text.split_once(sign)?;
                Some((left, *comparison, right))
            })
            .min_by_key(|(left, ..)| left.len())
            .map(|(left, comparison, right)| (left.trim(), comparison, right.trim()))
    }

    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::LessOrEqual => value <= bound,
            Self::Greater => value > bound,
            Self::GreaterOrEqual => value >= bound,
            Self::Equal => (value - bound).abs() < SAME,
            Self::NotEqual => (value - bound).abs() >= SAME,
        }
    }
}

/// The right side of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    Plain(f64),
    /// A time, in milliseconds.
    Ms(f64),
    /// A share: `10%` is 0.1.
    Share(f64),
}

impl Bound {
    /// Reads a finite number; `None` for any other text.
    pub fn read(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            return Some(Self::Share(number(percent)? / 100.0));
        }
        // "us" and "ms" end in "s" too, so longer suffixes are tried first.
        for (unit, scale) in [("us", 1e-3), ("µs", 1e-3), ("ms", 1.0), ("s", 1e3)] {
            if let Some(rest) = text.strip_suffix(unit) {
                return Some(Self::Ms(number(rest)? * scale));
            }
        }
        Some(Self::Plain(number(text)?))
    }

    pub fn value(self) -> f64 {
        match self {
            Self::Plain(value) | Self::Ms(value) | Self::Share(value) => value,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|v: &f64| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sign_splits_and_the_longer_one_wins() {
        let split = ComparisonOperator::split;
        assert_eq!(
            split("a >= 1"),
            Some(("a", ComparisonOperator::GreaterOrEqual, "1"))
        );
        assert_eq!(
            split("a>1 <= 2"),
            Some(("a", ComparisonOperator::Greater, "1 <= 2"))
        );
        assert_eq!(
            split("a != 1"),
            Some(("a", ComparisonOperator::NotEqual, "1"))
        );
        assert_eq!(split("a 1"), None);
    }

    #[test]
    fn bounds_have_units() {
        assert_eq!(Bound::read("5 us"), Some(Bound::Ms(0.005)));
        assert_eq!(Bound::read("0.5s"), Some(Bound::Ms(500.0)));
        assert_eq!(Bound::read("-50%"), Some(Bound::Share(-0.5)));
        assert_eq!(Bound::read("3"), Some(Bound::Plain(3.0)));
        for bad in ["", "s", "soon", "NaN", "infms", "1e999"] {
            assert_eq!(Bound::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn comparisons_hold_or_do_not() {
        let held = |value| {
            SIGNS
                .iter()
                .filter(|(_, c)| c.holds(value, 2.0))
                .map(|(sign, _)| *sign)
                .collect::<Vec<&str>>()
        };
        assert_eq!(held(1.0), ["<=", "!=", "<"]);
        assert_eq!(held(2.0), ["<=", ">=", "=="]);
        assert_eq!(held(3.0), [">=", "!=", ">"]);
    }
}
