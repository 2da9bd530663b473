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

The flags of blackbox_exporter work as well: --config.file, --config.check, --web.listen-address,
--web.route-prefix, --web.external-url, --timeout-offset, --history.limit; those for its log do nothing.

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
    #[arg(
        long,
        alias = "web.listen-address",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9115",
        value_parser = listen_address
    )]
    pub listen: SocketAddr,
    /// End each probe this long before the time limit of its scrape
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = offset)]
    pub timeout_offset: Duration,
    /// How many of the last probes are shown with their logs
    #[arg(long, alias = "history.limit", value_name = "N", default_value_t = 100)]
    pub history: usize,
    /// How many probes may run at once (fewer if few files may be open); others wait for a place
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_probes: usize,
    /// Serve all paths below this one, as behind a reverse proxy
    #[arg(
        long,
        alias = "web.route-prefix",
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub route_prefix: String,
    #[command(flatten)]
    pub otlp: OtlpArgs,
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// Flags of blackbox_exporter that need no separate name.
#[derive(Debug, Args)]
pub(crate) struct ForeignArgs {
    #[arg(long = "config.check", hide = true)]
    pub config_check: bool,
    /// Its path is the default of `--route-prefix`.
    #[arg(long = "web.external-url", hide = true)]
    pub external_url: Option<String>,
    // The exporter's few messages are the same at any level and in any format.
    #[arg(long = "log.level", hide = true)]
    _log_level: Option<String>,
    #[arg(long = "log.format", hide = true)]
    _log_format: Option<String>,
    #[arg(long = "log.prober", hide = true)]
    _log_prober: Option<String>,
}

impl ExporterArgs {
    /// The path before all other paths, such as `/probes`, or nothing.
    pub(crate) fn prefix(&self) -> String {
        let url = self.foreign.external_url.as_deref().unwrap_or_default();
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        let given = [self.route_prefix.as_str(), path];
        let given = given.into_iter().find(|given| !given.is_empty());
        let words = given.unwrap_or_default().trim_matches('/');
        if words.is_empty() {
            String::new()
        } else {
            format!("/{words}")
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExporterConfigArgs {
    /// The configuration of blackbox_exporter; without it there is the module http_2xx
    #[arg(long, alias = "config.file", value_name = "FILE")]
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

/// An address and a port; without an address, as in `:9115`, any address of this host.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') {
        ["[::]", text].concat()
    } else {
        text.to_owned()
    };
    let wrong = |_| format!("'{text}' is not ADDRESS:PORT, as in 127.0.0.1:9115 or :9115");
    full.parse().map_err(wrong)
}

/// A duration, or a number of seconds.
fn offset(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map_or_else(|| parse_duration(text), Ok)
}
