//! The flags of `demo`: few, because it must work without any.

use std::time::Duration;

use clap::Args;
use roundtrip_model::parse_duration;

use super::Color;

const MIN_RTT: Duration = Duration::from_millis(1);
const MAX_RTT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(
    after_help = "Needs no network and no privileges: path and origin are made inside its own network namespaces.

Examples:
  roundtrip demo                   an origin 90 ms away
  roundtrip demo --rtt 170ms       further away, the same round trips
  roundtrip demo --json            the figures, for programs (schema roundtrip/demo/1)"
)]
pub(crate) struct DemoArgs {
    /// The path's round-trip time, from 1ms to 5s
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "90ms")]
    pub rtt: Duration,
    /// Requests for each way; the table shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100), allow_negative_numbers = true)]
    pub runs: u32,
    /// The seed of the order of the ways
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// One JSON document; on a terminal the table is drawn on standard error meanwhile
    #[arg(long)]
    pub json: bool,
    /// Print only the finished table
    #[arg(short, long)]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// Parses a time with its unit.
fn span(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text)?;
    if !(MIN_RTT..=MAX_RTT).contains(&span) {
        return Err("between 1ms and 5s".into());
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(span("90ms"), Ok(Duration::from_millis(90)));
        assert_eq!(span("1500us"), Ok(Duration::from_micros(1500)));
        assert_eq!(span("0.25s"), Ok(Duration::from_millis(250)));
        for bad in [
            "90", "", "ms", "0ms", "-90ms", "6s", "NaNms", "infs", "1e9s",
        ] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
