//! The flags of `diff`.

use std::path::PathBuf;

use clap::Args;
use roundtrip_diff::Limit;

use super::Color;

#[derive(Debug, Args)]
#[command(
    after_help = "Limits are on B − A: worse, ttfb, rtt, round_trips, network, server, client, resolver, loss,
unexplained, setup, name, tcp, handshake, quic, wait, body. 'worse' is the total, unless no
difference is shown; for doctor reports, the number of worse findings.

Examples:
  roundtrip probe -c 10 --json URL > old.json          here, and in the other image > new.json
  roundtrip diff old.json new.json                     what differs, and why
  roundtrip diff --fail-if 'worse > 10%' old.json -    the second report from a pipe
  roundtrip diff before.json after.json                also two of `roundtrip doctor --json`"
)]
pub(crate) struct DiffArgs {
    /// The baseline: JSON or NDJSON of probe or trace, or JSON of doctor; - is standard input
    #[arg(value_name = "A.json")]
    pub a: PathBuf,
    /// The report to compare, of the same kind; - is standard input
    #[arg(value_name = "B.json")]
    pub b: PathBuf,
    /// In reports with several URLs, compare this one
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Exit with 3 when this holds, as in 'worse > 10%', 'client > 5ms', 'round_trips > 0'
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// One JSON document (schema roundtrip/diff/1)
    #[arg(long)]
    pub json: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print only the paragraph with the conclusion
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Every fact that differs, and every part
    #[arg(short, long)]
    pub verbose: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}
