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
configuration is blackbox_exporter's file; what it has that cannot be honoured is an error, with its
line and column. Names and labels of metrics are the same, and there are further ones: round trips,
whom each part of the time was waited for, and the causes that were found.

Also: /metrics, /config, /logs, /-/healthy, /-/reload (POST, or SIGHUP); debug=true shows a probe's log.

Examples:
  roundtrip exporter --config blackbox.yml          instead of blackbox_exporter
  roundtrip exporter check blackbox.yml             what cannot be honoured, and what is wrong
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
    /// How much sooner than its scrape a probe ends
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
    /// Leave out modules that cannot be honoured, with a line for each
    #[arg(long)]
    pub skip_unsupported: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExporterCommand {
    /// Read a configuration, and say what is wrong and what cannot be honoured
    Check {
        #[arg(value_name = "FILE")]
        file: String,
    },
}
