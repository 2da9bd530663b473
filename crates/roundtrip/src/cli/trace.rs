//! The flags of `trace`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use roundtrip_model::{Limit, parse_duration};
use roundtrip_tap::watch::Watched;

use super::Color;

#[derive(Debug, Args)]
#[command(
    after_help = "A capture is pcap or pcapng, also compressed with gzip, of any link layer that IP usually has.
It may have been made at the client, at the server or between them: trace finds out where, and
states the evidence.

A COMMAND after -- runs as it always does, on the real network and without privileges; its
exchanges are explained when it is over, on standard error. Its exit code is passed on.

Examples:
  tcpdump -i any -w slow.pcap port 443        capture, while it is slow
  roundtrip trace slow.pcap                   what each exchange waited for
  roundtrip trace slow.pcap --flow 3          one connection, with the ladder of its packets
  roundtrip trace slow.pcap --keys keys.log   each request inside TLS, by SSLKEYLOGFILE
  roundtrip trace client.pcap server.pcap     both ends: what was lost on the way, and when
  roundtrip trace slow.pcap --write few.pcapng   the slowest exchanges, with comments for Wireshark
  tcpdump -w - port 443 | roundtrip trace -   from a pipe, until Ctrl-C
  roundtrip trace -- curl https://example.com/   what a program waits for, in any language
  roundtrip trace --watch $(pidof java)       what is wrong with a running process's connections
  roundtrip trace --json slow.pcap > a.json   for roundtrip diff, and programs"
)]
pub(crate) struct TraceArgs {
    /// The capture, or a log (HAR, NetLog, qlog, curl --trace-time); - is standard input
    #[arg(
        value_name = "FILE",
        required_unless_present_any = ["command", "watch"],
        conflicts_with_all = ["command", "watch"]
    )]
    pub file: Option<PathBuf>,
    /// A second capture of the same connections, made elsewhere at the same time
    #[arg(value_name = "SECOND", conflicts_with_all = ["interface", "write"])]
    pub second: Option<PathBuf>,
    /// Decrypt TLS with these secrets (SSLKEYLOGFILE); secrets inside a pcapng are always used
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "watch"])]
    pub keys: Vec<PathBuf>,
    /// Show only this connection, with the ladder of its packets
    #[arg(long, value_name = "N", conflicts_with_all = ["command", "watch"])]
    pub flow: Option<u64>,
    /// Read only this interface of the capture, counted from 0
    #[arg(long, value_name = "N", conflicts_with_all = ["command", "watch"])]
    pub interface: Option<u32>,
    /// Exit with 3 when this holds, as in 'ttfb > 300ms', 'round_trips > 3'
    #[arg(long, value_name = "LIMIT", conflicts_with = "watch")]
    pub fail_if: Vec<Limit>,
    /// One JSON document (schema roundtrip/trace/1)
    #[arg(long, conflicts_with = "ndjson")]
    pub json: bool,
    /// One JSON result a line, as soon as its connection ends
    #[arg(long)]
    pub ndjson: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ndjson", "watch"])]
    pub html: Option<PathBuf>,
    /// Also write the packets of what is shown (the slowest, or --flow) with comments, as pcapng
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "watch"])]
    pub write: Option<PathBuf>,
    /// Write the report of a COMMAND there instead of to standard error
    #[arg(short, long, value_name = "FILE", requires = "command")]
    pub output: Option<PathBuf>,
    /// Watch the connections of a process that runs, or of a port: as a table, or a JSON line each
    #[arg(long, value_name = "PID|:PORT", conflicts_with = "command")]
    pub watch: Option<Watched>,
    /// How often --watch looks
    #[arg(long, value_name = "SPAN", default_value = "500ms", value_parser = interval)]
    pub interval: Duration,
    /// End --watch after this time
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, requires = "watch",
          conflicts_with = "command")]
    pub duration: Option<Duration>,
    /// Hold at most about this much, in MiB; beyond it, the oldest connections are reported early
    #[arg(long, value_name = "MIB", default_value_t = 256,
          value_parser = clap::value_parser!(u64).range(16..=65_536))]
    pub memory: u64,
    /// Print only the ranking
    #[arg(short, long)]
    pub quiet: bool,
    /// Every event, and what cannot be decided from this capture
    #[arg(short, long)]
    pub verbose: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    /// A program to run and to follow
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Between two samples the kernel's counters must have had time to change.
fn interval(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text)?;
    let fits = (Duration::from_millis(10)..=Duration::from_mins(1)).contains(&span);
    fits.then_some(span)
        .ok_or_else(|| "between 10ms and 60s".into())
}
