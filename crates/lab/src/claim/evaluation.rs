//! Evaluates a claim: whether it holds, and the measured value.

use super::expression::{ClaimComparison, ClaimNode, Expression, Function};

/// The source of figures.
pub trait Results {
    /// The value of a figure; `None` if the arm does not have it, because it did not run or does
    /// not report it.
    fn figure(&self, function: Function, arms: &[String]) -> Option<f64>;
    /// The path's round-trip time in milliseconds.
    fn rtt_ms(&self) -> Option<f64>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimVerdict<'a> {
    /// Whether the claim holds; `None` if an operand was not measured.
    pub holds: Option<bool>,
    /// The left side of the first comparison, in `unit`.
    pub measured: Option<f64>,
    pub unit: &'a str,
}

impl Expression {
    /// `unit` is the unit of the arms' figures.
    pub fn judge<'a>(&self, results: &dyn Results, unit: &'a str) -> ClaimVerdict<'a> {
        let mut holds = Some(true);
        for comparison in &self.comparisons {
            let one = compare(comparison, results);
            holds = match (holds, one) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        let shown = self.comparisons.first().map(|first| shown(first, unit));
        let (scale, unit) = shown.unwrap_or((1.0, unit));
        let first = self.comparisons.first();
        let measured = first
            .and_then(|first| value(&first.left, results))
            .map(|v| v * scale);
        ClaimVerdict {
            holds,
            measured,
            unit,
        }
    }
}

fn compare(comparison: &ClaimComparison, results: &dyn Results) -> Option<bool> {
    let left = value(&comparison.left, results)?;
    let right = value(&comparison.right, results)?;
    if !left.is_finite() || !right.is_finite() {
        return None;
    }
    Some(match comparison.sign {
        "<=" => left <= right,
        ">=" => left >= right,
        "<" => left < right,
        ">" => left > right,
        "==" => (left - right).abs() < 1e-9,
        _ => (left - right).abs() >= 1e-9,
    })
}

fn value(node: &ClaimNode, results: &dyn Results) -> Option<f64> {
    Some(match node {
        ClaimNode::Number(value) | ClaimNode::Ms(value) => *value,
        ClaimNode::Percent(value) => value / 100.0,
        ClaimNode::RoundTrips(count) => count * results.rtt_ms()?,
        ClaimNode::Of(function, arms) => results.figure(*function, arms)?,
        ClaimNode::Minus(inside) => -value(inside, results)?,
        ClaimNode::Both(left, sign, right) => {
            let (left, right) = (value(left, results)?, value(right, results)?);
            match *sign {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                _ => left / right,
            }
        }
    })
}

/// The factor and the unit in which the left side is shown: the same as on the right side, if that
/// has a unit.
fn shown<'a>(comparison: &ClaimComparison, unit: &'a str) -> (f64, &'a str) {
    match (&comparison.left, &comparison.right) {
        (ClaimNode::Of(Function::Saving | Function::Failed, _), _) | (_, ClaimNode::Percent(_)) => {
            (100.0, "%")
        }
        (ClaimNode::Of(Function::RoundTrips, _), _) => (1.0, "round trips"),
        (ClaimNode::Of(Function::Cpu, _), _) => (1.0, "µs"),
        (ClaimNode::Of(Function::RatioToTls, _), _) => (1.0, "of TLS"),
        (ClaimNode::Of(Function::Requests, _), _) => (1.0, "requests"),
        (ClaimNode::Of(Function::SentTwice | Function::ArrivedTwice, _), _) => (1.0, "bytes"),
        (_, ClaimNode::Ms(_) | ClaimNode::RoundTrips(_))
        | (
            ClaimNode::Of(
                Function::Network
                | Function::Server
                | Function::Client
                | Function::Loss
                | Function::Rtt,
                _,
            ),
            _,
        ) => (1.0, "ms"),
        (ClaimNode::Of(..), _) => (1.0, unit),
        _ => (1.0, ""),
    }
}

#[cfg(test)]
mod tests;
