//! The flags of `exporter`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};
use roundtrip_model::parse_duration;

use super::OtlpArgs;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Prometheus asks it as it asks blackbox_exporter: /probe?target=TARGET&module=MODULE. The
configuration is blackbox_exporter's file; a setting that is not supported is an error, with its
line and column. All of its metrics have the same names and labels. Further ones count round trips,
show how long the probe waited for each party, and name the causes that were found.

Also: /metrics, /config, /logs, /-/healthy, /-/reload (POST, or SIGHUP); debug=true shows a probe's log.

Examples:
  roundtrip exporter --config blackbox.yml          instead of blackbox_exporter
  roundtrip exporter check blackbox.yml             errors, and settings that are not supported
  curl 'http://127.0.0.1:9115/probe?target=https://example.com&debug=true'"
)]
pub(crate) struct ExporterArgs {
    #[command(subcommand)]
    pub command: Option<ExporterCommand>,
    #[command(flatten)]
    pub config: ExporterConfigArgs,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9115")]
    pub listen: SocketAddr,
    /// End each probe this long before the time limit of its scrape
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    pub timeout_offset: Duration,
    /// How many of the last probes are shown with their logs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub history: usize,
    /// How many probes may run at once; others wait for a place
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub max_probes: usize,
    #[command(flatten)]
    pub otlp: OtlpArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExporterConfigArgs {
    /// The configuration of blackbox_exporter; without it there is the module http_2xx
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Leave out modules with unsupported settings, and print a line for each
    #[arg(long)]
    pub skip_unsupported: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExporterCommand {
    /// Check a configuration: list errors and unsupported settings
    Check {
        #[arg(value_name = "FILE")]
        file: String,
    },
}
