//! The flags of `lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Color;

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments
    List {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Measure over an emulated path, and compare the result with what was published
    Run(LabRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArgs {
    /// An experiment of `lab list`, a file that ends in .toml, all of these, or faults: injected
    /// faults, to test whether findings can be trusted
    #[arg(value_name = "NAME|FILE|all|faults", required = true)]
    pub experiments: Vec<String>,
    /// For `faults`: how many cases to draw
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// For `faults`: record the packets of each case in this directory, as NUMBER.pcapng
    #[arg(long, value_name = "DIRECTORY")]
    pub record: Option<PathBuf>,
    /// For `faults`: only these causes, or healthy
    #[arg(long, value_name = "CAUSE,…", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Measure each arm this often, instead of as often as the experiment says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: Option<u32>,
    /// The path's round trip, as in 20ms, for all arms that do not set their own
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub rtt: Option<Duration>,
    /// The seed of the order of runs and the path's random events
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// One JSON document (schema roundtrip/lab/1)
    #[arg(long)]
    pub json: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the report to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No report and no progress: the exit code says whether all claims hold
    #[arg(short, long)]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

fn span(text: &str) -> Result<Duration, String> {
    roundtrip_lab::experiment::span(text)
        .ok_or_else(|| "a number with us, ms or s, up to a minute, as in 90ms".to_owned())
}
