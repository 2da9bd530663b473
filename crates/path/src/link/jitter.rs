//! The variation of a delay, and its distribution.

use std::str::FromStr;
use std::time::Duration;

use roundtrip_model::Random;

/// A delay that varies in time, in addition to that of the link; never negative. Packets keep their
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    pub by: Duration,
    pub shape: JitterShape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterShape {
    /// Uniform between zero and `by`.
    #[default]
    Uniform,
    /// The positive half of a normal distribution with deviation `by`.
    Normal,
    /// An exponential distribution with mean `by`: the delay that a queue with random arrivals
    /// adds.
    Exponential,
    /// Usually little, sometimes much: a Pareto distribution with exponent 3 and mean `by`.
    Pareto,
}

/// The longest jitter, in multiples of `by`: even a heavy tail is cut there.
const MAX_JITTER_FACTOR: f64 = 50.0;

impl Jitter {
    /// Draws a value, in multiples of `by`, that exceeds x with probability f(x) / f(0), where f is
    /// the density of the shape.
    pub(crate) fn draw_peak(self, random: &mut Random) -> f64 {
        let share = 1.0 - random.unit();
        let peak = match self.shape {
            JitterShape::Uniform => 1.0,
            JitterShape::Normal => (-2.0 * share.ln()).sqrt(),
            JitterShape::Exponential => -share.ln(),
            // In Lomax form, with the scale 2: f(x) / f(0) is (1 + x/2)^−4.
            JitterShape::Pareto => 2.0 * (share.powf(-1.0 / 4.0) - 1.0),
        };
        peak.min(MAX_JITTER_FACTOR)
    }
}

impl FromStr for Jitter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (by, shape) = text.split_once(',').unwrap_or((text, "uniform"));
        let shape = match shape.trim() {
            "uniform" => JitterShape::Uniform,
            "normal" => JitterShape::Normal,
            "exponential" => JitterShape::Exponential,
            "pareto" => JitterShape::Pareto,
            other => {
                return Err(format!(
                    "`{other}` is not a distribution; choose uniform, normal, exponential or pareto"
                ));
            }
        };
        let by = roundtrip_model::parse_duration(by)?;
        Ok(Self { by, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_follows_the_time() {
        let jitter: Jitter = "10ms,pareto".parse().unwrap();
        assert_eq!(jitter.by, Duration::from_millis(10));
        assert_eq!(jitter.shape, JitterShape::Pareto);
        assert!("10ms,cauchy".parse::<Jitter>().is_err());
    }
}
