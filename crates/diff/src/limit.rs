//! Limits on a difference, for pipelines: `worse > 10%`, `client > 5ms`, `round_trips > 0`. When
//! one holds, B has failed.

use std::fmt;
use std::str::FromStr;

use roundtrip_model::{Bound, ComparisonOperator, excerpt};

use crate::probe::{ContributionKind, ProbeDiff, StageDiff};
use crate::{DoctorDiff, Trend};

/// A condition on B − A that must not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    quantity: Quantity,
    comparison: ComparisonOperator,
    bound: Bound,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// The total, unless no difference is shown; of `doctor`, how many findings are worse.
    Worse,
    FirstByte,
    Rtt,
    RoundTrips,
    Unexplained,
    Party(ContributionKind),
    Network,
    Phase(&'static str),
}

/// The quantities and their names, which are the same as in the limits of `probe`.
const QUANTITIES: [(&str, Quantity); 18] = [
    ("worse", Quantity::Worse),
    ("ttfb", Quantity::FirstByte),
    ("rtt", Quantity::Rtt),
    ("round_trips", Quantity::RoundTrips),
    ("network", Quantity::Network),
    ("server", Quantity::Party(ContributionKind::Server)),
    ("client", Quantity::Party(ContributionKind::Client)),
    ("resolver", Quantity::Party(ContributionKind::Resolver)),
    ("loss", Quantity::Party(ContributionKind::Loss)),
    ("unknown", Quantity::Party(ContributionKind::Unknown)),
    ("unexplained", Quantity::Unexplained),
    ("setup", Quantity::Phase("setup")),
    ("name", Quantity::Phase("name")),
    ("tcp", Quantity::Phase("tcp")),
    ("handshake", Quantity::Phase("tls")),
    ("quic", Quantity::Phase("quic")),
    ("wait", Quantity::Phase("first_byte")),
    ("body", Quantity::Phase("body")),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error(
        "'{0}' is not a limit; write QUANTITY COMPARISON VALUE, as in 'worse > 10%' or 'client > 5ms'"
    )]
    Shape(String),
    #[error("'{0}' cannot be limited; known: {known}", known = known())]
    Quantity(String),
    #[error(
        "'{0}' is not a value for this quantity; times take us, ms, s or %, counts a number or %"
    )]
    Value(String),
    #[error(
        "'{0}' does not apply to two doctor reports; 'worse > 0' counts findings that got worse"
    )]
    Doctor(String),
}

fn known() -> String {
    let names: Vec<&str> = QUANTITIES.iter().map(|(name, _)| *name).collect();
    names.join(" ")
}

/// A limit that was broken: by what value, and how certain that is.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenLimit(pub String);

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let short = || excerpt(text, 60);
        let (left, comparison, right) =
            ComparisonOperator::split(text).ok_or_else(|| LimitError::Shape(short()))?;
        let found = QUANTITIES.iter().find(|(name, _)| *name == left);
        let (_, quantity) = found.ok_or_else(|| LimitError::Quantity(short()))?;
        let bound = Bound::read(right)
            .filter(|bound| quantity.takes(*bound))
            .ok_or_else(|| LimitError::Value(excerpt(right, 40)))?;
        Ok(Self {
            quantity: *quantity,
            comparison,
            bound,
            text: text.trim().to_owned(),
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Quantity {
    /// The bound of a count cannot be a time.
    fn takes(self, bound: Bound) -> bool {
        self != Self::RoundTrips || !matches!(bound, Bound::Ms(_))
    }

    /// A's value, and how much more B has; `None` if it was not measured.
    fn of(self, diff: &ProbeDiff) -> Option<(f64, f64)> {
        let (a, b) = (&diff.figures.0, &diff.figures.1);
        let of = |a: f64, b: f64| (a, b - a);
        let waits = |pick: fn(&roundtrip_model::Waited) -> f64| {
            let sum = |side: fn(&StageDiff) -> roundtrip_model::Waited| {
                diff.stages.iter().map(|stage| pick(&side(stage))).sum()
            };
            of(sum(|s| s.waited().0), sum(|s| s.waited().1))
        };
        match self {
            Self::Worse => Some((a.total.median, diff.difference.ms)),
            Self::FirstByte => Some(of(a.ttfb_ms?, b.ttfb_ms?)),
            Self::Rtt => Some(of(a.rtt_ms?, b.rtt_ms?)),
            Self::RoundTrips => Some(of(a.round_trips, b.round_trips)),
            Self::Unexplained => Some((a.total.median, diff.unexplained_ms())),
            Self::Network => Some(waits(|w| w.network)),
            Self::Party(ContributionKind::Server) => Some(waits(|w| w.server)),
            Self::Party(ContributionKind::Client) => Some(waits(|w| w.client)),
            Self::Party(ContributionKind::Resolver) => Some(waits(|w| w.resolver)),
            Self::Party(ContributionKind::Unknown) => Some(waits(|w| w.unknown)),
            Self::Party(_) => Some(waits(|w| w.loss)),
            Self::Phase(name) => {
                let stage = diff.stages.iter().find(|stage| stage.name == name)?;
                let (a, b) = stage.ms();
                Some(of(a.unwrap_or(0.0), b.unwrap_or(0.0)))
            }
        }
    }
}

impl Limit {
    fn holds(&self, value: f64) -> bool {
        self.comparison.holds(value, self.bound.value())
    }

    /// The measured value, if the difference breaks this limit. A value that was not seen breaks no
    /// limit, and what chance can explain is not "worse".
    pub fn broken_by(&self, diff: &ProbeDiff) -> Option<BrokenLimit> {
        let (a, more) = self.quantity.of(diff)?;
        if self.quantity == Quantity::Worse && diff.difference.is_shown() == Some(false) {
            return None;
        }
        let (value, shown) = match self.bound {
            Bound::Share(_) if a == 0.0 && more == 0.0 => (0.0, "nothing more of nothing".into()),
            // More than nothing is more than any share.
            Bound::Share(_) if a == 0.0 => (more * f64::INFINITY, format!("{more:+.3} from none")),
            Bound::Share(_) => (more / a, format!("{:+.1} %", more / a * 100.0)),
            _ if self.quantity == Quantity::RoundTrips => (more, format!("{more:+}")),
            _ => (more, format!("{more:+.3} ms")),
        };
        self.holds(value).then_some(BrokenLimit(shown))
    }

    /// Whether findings of `doctor` break the limit.
    pub fn broken_by_doctor(&self, diff: &DoctorDiff) -> Result<Option<BrokenLimit>, LimitError> {
        if self.quantity != Quantity::Worse || !matches!(self.bound, Bound::Plain(_)) {
            return Err(LimitError::Doctor(excerpt(&self.text, 60)));
        }
        let worse = diff.count(Trend::Worse);
        let broken = self.holds(worse as f64);
        Ok(broken.then(|| BrokenLimit(format!("{worse} worse"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_those_of_probe() {
        for good in [
            "worse > 10%",
            "client>=5ms",
            "round_trips > 0",
            "handshake > 0.1s",
            "worse > 20",
            "rtt < -5 %",
        ] {
            assert!(good.parse::<Limit>().is_ok(), "{good}");
        }
        let limit: Limit = "worse >= 0.5s".parse().unwrap();
        assert_eq!(
            (limit.bound, limit.comparison),
            (Bound::Ms(500.0), ComparisonOperator::GreaterOrEqual)
        );
    }

    #[test]
    fn bad_limits_are_named() {
        assert!(matches!(
            "worse".parse::<Limit>(),
            Err(LimitError::Shape(_))
        ));
        assert!(matches!(
            "speed > 3".parse::<Limit>(),
            Err(LimitError::Quantity(_))
        ));
        for bad in [
            "worse > much",
            "worse > NaN%",
            "worse >",
            "round_trips > 3ms",
        ] {
            assert!(
                matches!(bad.parse::<Limit>(), Err(LimitError::Value(_))),
                "{bad}"
            );
        }
    }
}
