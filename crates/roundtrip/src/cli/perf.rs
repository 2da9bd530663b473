//! The flags of `perf`. The crate parses arms and knobs; those of the path are `path`'s.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use roundtrip_perf::PlanError;
use roundtrip_perf::plan::{
    AckEvery, Amount, Cipher, Congestion, DatagramLength, EngineName, Pattern, Pin, Tuning, Work,
    size,
};
use roundtrip_perf::remote::PORT;

use super::path::Said;
use super::probe::seconds_or_unit;
use super::{Color, QlogArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
The sender is the server, unless the client alone sends (--pattern up). The cost of a side is
the CPU time of its threads, plus that of the interrupts on its CPU that the kernel counts
separately. x TLS is what TLS cost the sender in this run, divided by what the arm cost it: above 1
is cheaper than TLS.

Without words of the path both ends are joined by a bare wire. Segmentation offload is on there, and
off over an emulated path.

Examples:
  roundtrip perf
  roundtrip perf tls quic quic+gso1 quic+ack64 --offload off
  roundtrip perf --pattern requests --request 100 --response 4k --connections 8
  roundtrip perf tls quic --rtt 30ms --loss 0.1% --cc bbr
  roundtrip perf server, and on another machine: roundtrip perf client HOST")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    pub command: Option<PerfCommand>,

    #[command(flatten)]
    pub task: TaskArgs,
    /// CPUs on which sender and receiver stay: two of those allowed, or none
    #[arg(long, value_name = "SENDER,RECEIVER", value_parser = Pin::parse, help_heading = "Where")]
    pub pin: Option<Pin>,
    /// Do both ends leave segmentation to the interface?
    #[arg(long, value_enum, value_name = "WHETHER", help_heading = "Where")]
    pub offload: Option<Switch>,
    #[command(flatten)]
    pub path: Said,
}

/// The two halves, on two machines.
#[derive(Debug, Subcommand)]
pub(crate) enum PerfCommand {
    /// The server's half, for `perf client` on another machine; serves one client after the other
    Server {
        /// Where it listens; each measurement listens on an additional port
        #[arg(long, value_name = "ADDRESS:PORT", default_value_t = EVERYWHERE)]
        listen: SocketAddr,
        /// The CPU to which it is pinned
        #[arg(long, value_name = "N")]
        cpu: Option<usize>,
        /// Serve one client, and end
        #[arg(long)]
        once: bool,
    },
    /// The client's half, against `perf server` on HOST
    Client {
        /// Where the server is: HOST or HOST:PORT
        #[arg(value_name = "HOST")]
        host: String,
        #[command(flatten)]
        task: Box<TaskArgs>,
        /// The CPU to which it is pinned
        #[arg(long, value_name = "N")]
        cpu: Option<usize>,
    },
}

const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT);

/// What is measured, and the output.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Ways to carry bytes: tcp, tls or quic, with knobs as in quic+gso1+ack64; default: tcp, tls,
    /// tls+write256k and quic
    #[arg(value_name = "ARM")]
    pub arms: Vec<String>,
    #[command(flatten)]
    pub work: WorkArgs,
    #[command(flatten)]
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub output: PerfOutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct PerfOutputArgs {
    /// One JSON document (schema roundtrip/perf/1)
    #[arg(long)]
    pub json: bool,
    /// Also write one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the report to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub qlog: QlogArgs,
    /// No progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// What is carried.
#[derive(Debug, Args)]
#[command(next_help_heading = "The work")]
pub(crate) struct WorkArgs {
    /// What the client asks for
    #[arg(long, value_enum, default_value_t, value_name = "PATTERN")]
    pub pattern: Shape,
    /// Bytes of a request; 100 by default
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub request: Option<u64>,
    /// Bytes of an answer; 1k by default
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub response: Option<u64>,
    /// Streams in each connection; over TCP each is a connection
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub streams: u32,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub connections: u32,
    /// How long each measurement lasts; 3 by default
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "bytes")]
    pub seconds: Option<Duration>,
    /// How much each measurement carries
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub bytes: Option<u64>,
    /// How often each arm is measured, in turn
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: u32,
}

/// Apply to all arms that they concern; an arm's own knobs come first.
#[derive(Debug, Args)]
#[command(next_help_heading = "Knobs, for all arms that they concern")]
pub(crate) struct KnobArgs {
    /// Congestion control: cubic, reno or bbr
    #[arg(long, value_name = "NAME", value_parser = Congestion::from_str, default_value = "cubic")]
    pub cc: Congestion,
    /// For TLS and QUIC: aes128 (the default), aes256 or chacha
    #[arg(long, value_name = "NAME", value_parser = Cipher::from_str)]
    pub cipher: Option<Cipher>,
    /// What the application writes at once; 64k by default
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub write_size: Option<u64>,
    /// For QUIC: packets per acknowledgement, or auto
    #[arg(long, value_name = "N|auto", value_parser = AckEvery::from_str)]
    pub ack_every: Option<AckEvery>,
    /// For QUIC: the most datagrams in one system call; 1 is no offload
    #[arg(long, value_name = "N")]
    pub gso: Option<usize>,
    /// For QUIC: bytes of a datagram, mirror (as long as the client's first), or discover
    #[arg(long, value_name = "N|mirror|discover", value_parser = DatagramLength::from_str)]
    pub datagram: Option<DatagramLength>,
    /// For QUIC: the engine: own, proto (quinn-proto in our loop), quinn, or s2n if built in
    #[arg(long, value_name = "NAME", value_parser = EngineName::from_str)]
    pub engine: Option<EngineName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Shape {
    /// The server sends continuously
    #[default]
    Down,
    /// The client sends continuously
    Up,
    /// Both send continuously
    Both,
    /// One request after the other on each stream
    Requests,
    /// Down, with concurrent requests
    Mixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl WorkArgs {
    pub(crate) fn work(&self) -> Result<Work, PlanError> {
        let asks = matches!(self.pattern, Shape::Requests | Shape::Mixed);
        if !asks && self.request.or(self.response).is_some() {
            return Err(PlanError::Contradiction {
                one: "--request or --response",
                other: "a pattern without requests",
                why: "give --pattern requests or mixed",
            });
        }
        let request = self.request.unwrap_or(100);
        let response = self.response.unwrap_or(1024);
        let pattern = match self.pattern {
            Shape::Down => Pattern::Down,
            Shape::Up => Pattern::Up,
            Shape::Both => Pattern::Both,
            Shape::Requests => Pattern::Requests { request, response },
            Shape::Mixed => Pattern::Mixed { request, response },
        };
        let time = self.seconds.unwrap_or(Duration::from_secs(3));
        Ok(Work {
            pattern,
            streams: self.streams,
            connections: self.connections,
            amount: self.bytes.map_or(Amount::For(time), Amount::Bytes),
        })
    }
}

impl KnobArgs {
    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            congestion: Some(self.cc),
            cipher: self.cipher,
            write_size: self.write_size.map(|bytes| bytes as usize),
            ack_every: self.ack_every,
            gso: self.gso,
            datagram: self.datagram,
            // Only single arms can choose this.
            packet_aead: false,
        }
    }
}

/// Seconds as a bare number, or a time with its unit.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = seconds_or_unit(text)?;
    if time.is_zero() {
        return Err("the time has to be longer than 0".into());
    }
    Ok(time)
}
