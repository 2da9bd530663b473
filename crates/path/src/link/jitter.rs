//! The variation of a delay, and its distribution.

use std::str::FromStr;
use std::time::Duration;

use roundtrip_model::Random;

/// Added to the delay of each packet; never negative. Packets keep their order.
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
    /// Mostly little, sometimes much: a Pareto distribution with exponent 3 and mean `by`.
    Pareto,
}

/// The longest jitter, in multiples of `by`: even a heavy tail is cut there.
const MAX_JITTER_FACTOR: f64 = 50.0;

impl Jitter {
    pub(crate) fn draw(self, random: &mut Random) -> Duration {
        let times = match self.shape {
            JitterShape::Uniform => random.unit(),
            JitterShape::Normal => random.normal().abs(),
            // In Lomax form, 2·((1−u)^(−1/3) − 1) has the mean 1.
            JitterShape::Pareto => 2.0 * ((1.0 - random.unit()).powf(-1.0 / 3.0) - 1.0),
        };
        self.by.mul_f64(times.clamp(0.0, MAX_JITTER_FACTOR))
    }
}

impl FromStr for Jitter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (by, shape) = text.split_once(',').unwrap_or((text, "uniform"));
        let shape = match shape.trim() {
            "uniform" => JitterShape::Uniform,
            "normal" => JitterShape::Normal,
            "pareto" => JitterShape::Pareto,
            other => {
                return Err(format!(
                    "`{other}` is not a distribution; there are uniform, normal and pareto"
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
    fn each_shape_has_its_mean() {
        for (text, mean_ms) in [("10ms", 5.0), ("10ms,normal", 7.98), ("10ms,pareto", 10.0)] {
            let jitter: Jitter = text.parse().unwrap();
            let mut random = Random::seeded(5);
            let sum: f64 = (0..50_000)
                .map(|_| jitter.draw(&mut random).as_secs_f64())
                .sum();
            let ratio = sum / 50.0 / mean_ms;
            assert!((0.9..1.1).contains(&ratio), "{text}: {ratio}");
        }
        assert!("10ms,cauchy".parse::<Jitter>().is_err());
    }
}
