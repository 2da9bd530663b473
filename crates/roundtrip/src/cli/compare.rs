//! The flags of `compare`; those for making requests are `probe`'s.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use roundtrip_model::Strategy;

use super::Color;
use super::probe::{ConnectionArgs, RequestArgs, seconds};

#[derive(Debug, Args)]
#[command(
    mut_arg("location", |a| a.hide(true)),
    mut_arg("max_redirs", |a| a.hide(true)),
    after_help = "Examples:
  roundtrip compare https://example.com                    what each remedy would save there
  roundtrip compare --requests 10 https://example.com      of ten requests in a row
  roundtrip compare --strategies h2+tls1.3+reuse,h3 URL    these two only
  roundtrip compare --against 'curl -so /dev/null URL' URL a real client beside them
  roundtrip compare --from-trace slow.pcap                 the slowest call of a capture, again
  roundtrip compare -n 100 --rate 2 URL                    at most 100 requests, two a second"
)]
pub(crate) struct CompareArgs {
    /// What to ask for: http:// or https://
    #[arg(value_name = "URL", required_unless_present = "from_trace")]
    pub url: Option<String>,

    #[command(flatten)]
    pub seen: SeenArgs,
    #[command(flatten)]
    pub ways: WaysArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: CompareOutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Instead of a URL")]
pub(crate) struct SeenArgs {
    /// Repeat another client's request: the slowest of a capture or a log, asked the same way
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub from_trace: Option<PathBuf>,
    /// The number of the connection, as in trace
    #[arg(long, value_name = "N", requires = "from_trace")]
    pub flow: Option<u64>,
    /// Open TLS in the capture with these secrets (SSLKEYLOGFILE)
    #[arg(long, value_name = "FILE", requires = "from_trace")]
    pub keys: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What to compare")]
pub(crate) struct WaysArgs {
    /// Compare only these, for example h2+tls1.3+reuse,h3+0rtt
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub strategies: Vec<Strategy>,
    /// Measure sequences of this many requests as a whole
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub requests: u32,
    /// Also measure this client from start to end, by sh; the word URL stands for the URL (once per
    /// request)
    #[arg(long, value_name = "COMMAND")]
    pub against: Vec<String>,
    /// Repeat a method that may have effects, such as POST
    #[arg(long)]
    pub force: bool,
    /// The seed of the order of measurements
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// IPv4 only
    #[arg(short = '4', long, group = "family")]
    pub ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long, group = "family")]
    pub ipv6: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "How much may be asked")]
pub(crate) struct LimitArgs {
    /// Requests in all, including unmeasured ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub most: u32,
    /// Requests per second, on average
    #[arg(long, value_name = "M", default_value = "10", value_parser = rate)]
    pub rate: f64,
    /// Begin no measurement after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    pub time: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct CompareOutputArgs {
    /// One JSON document (schema roundtrip/compare/1)
    #[arg(long)]
    pub json: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// No announcement and no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok();
    rate.filter(|rate| (0.01..=1000.0).contains(rate))
        .ok_or_else(|| "requests a second, from 0.01 to 1000".into())
}
