//! The command line as typed. Names and flags are a contract; man pages and completions are
//! generated from it.

mod compare;
mod deferred;
mod demo;
mod diff;
#[cfg(test)]
mod documented;
mod exporter;
mod gate;
mod history;
mod lab;
mod otlp;
mod path;
mod perf;
mod probe;
mod rdap;
mod trace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use roundtrip_origin::{EchoKnobs, Knobs};

pub(crate) use compare::CompareArgs;
pub(crate) use deferred::{Deferred, defer_nothing};
pub(crate) use demo::DemoArgs;
pub(crate) use diff::DiffArgs;
pub(crate) use exporter::{ExporterArgs, ExporterCommand};
pub(crate) use gate::{
    End, GateArgs, GateAuthzArgs, GateCheckArgs, GateCommand, GateConfigArgs, GateRunArgs,
    GateSessionArgs, GateTokenArgs, SessionCommand, SessionPutArgs,
};
pub(crate) use history::HistoryArgs;
pub(crate) use lab::{LabArgs, LabCommand, LabRunArgs};
pub(crate) use otlp::OtlpArgs;
pub(crate) use path::{PathArgs, Wait};
pub(crate) use perf::{PerfArgs, PerfCommand, Switch, TaskArgs};
pub(crate) use probe::{ConnectionArgs, OutputArgs, ProbeArgs, RequestArgs};
pub(crate) use rdap::{RdapArgs, RdapOutputArgs};
pub(crate) use trace::TraceArgs;

/// Explains where a request's time goes, in milliseconds and in round trips
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 the target or a check failed, 2 wrong usage, 3 a limit was exceeded (--fail-if)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a request in seven ways to a server 90 ms away, offline: the first thing to try
    Demo(Deferred<DemoArgs>),
    /// Explain where the time of one request, or of many, goes, phase by phase
    Probe(Deferred<ProbeArgs>),
    /// Predict and measure what each remedy would save at a URL
    Compare(Deferred<CompareArgs>),
    /// Compare two reports: what differs, and which cause explains it
    Diff(Deferred<DiffArgs>),
    /// Show what `probe --every` recorded: what requests waited for, and since when
    History(Deferred<HistoryArgs>),
    /// Explain the requests of any program, from a capture, from its log, or while it runs
    Trace(Deferred<TraceArgs>),
    /// Show what this machine, or a container image, can do for latency
    Doctor(Deferred<DoctorArgs>),
    /// Explain what makes requests slow: the signs, what it costs, what removes it
    Causes(Deferred<CausesArgs>),
    /// Probe targets for Prometheus: blackbox_exporter's metrics, and the causes of delays
    Exporter(Deferred<ExporterArgs>),
    /// Measure what each remedy saves, and compare it with published figures
    Lab(Deferred<LabArgs>),
    /// Look up who registered domains, IP addresses and AS numbers: one, or a long list
    Rdap(Deferred<RdapArgs>),
    /// Run an authenticating reverse proxy that spends no round trip it can avoid
    Gate(Deferred<GateArgs>),
    /// Run a test server with a flag for every behaviour
    Origin(Deferred<OriginArgs>),
    /// Run any command at the near end of an emulated network path
    Path(Deferred<PathArgs>),
    /// Measure what a transport costs one core: TCP, TLS and QUIC under the same work
    Perf(Deferred<PerfArgs>),
    /// Write the man pages into a directory
    Man {
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
    /// Print the completions for a shell
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Examine this unpacked container image instead of the machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
    /// Only problems and notices
    #[arg(short, long)]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Debug, Args)]
pub(crate) struct CausesArgs {
    /// The cause to explain; without it, all are listed
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct OriginArgs {
    #[command(subcommand)]
    pub command: Option<OriginCommand>,
    #[command(flatten)]
    pub knobs: Knobs,
    /// Print the addresses as one line of JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub logs: ServerLogArgs,
}

/// The logs of a server that runs: its events, and its QUIC connections.
#[derive(Debug, Args)]
pub(crate) struct ServerLogArgs {
    /// Write events to standard error; secrets are never among them
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "off",
        hide_default_value = true
    )]
    pub log: LogLevel,
    #[command(flatten)]
    pub qlog: QlogArgs,
}

/// Logs of QUIC connections.
#[derive(Debug, Default, Args)]
pub(crate) struct QlogArgs {
    /// Write a qlog file for each QUIC connection into this directory (also: QLOGDIR)
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OriginCommand {
    /// The fast-open echo: sends every byte back
    Echo {
        #[command(flatten)]
        knobs: EchoKnobs,
        /// Print the address as one line of JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which events a server writes to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogLevel {
    #[default]
    Off,
    /// Failures
    Warn,
    /// Failures and changes: of servers, keys, configurations
    Info,
    /// Each connection and request as well
    Debug,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
