//! The format of an experiment's file. Unknown keys are errors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ExperimentFile {
    /// The question in one sentence.
    pub(super) question: String,
    pub(super) article: String,
    pub(super) measure: Measure,
    /// The unit of the figures, unless that is milliseconds.
    pub(super) unit: Option<String>,
    pub(super) runs: Spanned<u32>,
    #[serde(default = "one")]
    pub(super) requests: u32,
    /// The arm to which others are compared unless they name another. It is measured twice.
    pub(super) baseline: Option<Spanned<String>>,
    /// Whether arms are measured in their variants alone.
    #[serde(default)]
    pub(super) variants_only: bool,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub(super) client: ClientTable,
    /// Settings for all arms that carry bytes.
    #[serde(default)]
    pub(super) transfer: TransferTable,
    /// The servers. Arms that name none use the first one.
    #[serde(default)]
    pub(super) server: Vec<ServerTable>,
    pub(super) arm: Vec<ArmTable>,
    #[serde(default)]
    pub(super) variant: Vec<Variant>,
    #[serde(default)]
    pub(super) sweep: Vec<SweepTable>,
    #[serde(default)]
    pub(super) published: Vec<Published>,
    #[serde(default)]
    pub(super) claim: Vec<ClaimTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientTable {
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
}

/// The amount of each transfer: the server sends for a time, or a number of bytes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferTable {
    pub(super) time: Option<Spanned<String>>,
    pub(super) bytes: Option<Spanned<String>>,
    /// Whether both ends leave segmentation to the interface.
    #[serde(default)]
    pub(super) offload: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ServerTable {
    pub(super) name: Spanned<String>,
    /// The flags of `roundtrip origin`.
    pub(super) knobs: Option<BTreeMap<String, Spanned<Value>>>,
    /// Instead of `knobs`: a program, with its configuration.
    pub(super) command: Option<Vec<String>>,
    /// The programs that must be installed, if these are not only the first word of the command.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// The file that the program writes once it listens. With `port` instead, the run waits for a
    /// listener on that port.
    pub(super) ready: Option<String>,
    pub(super) port: Option<u16>,
    /// The program's port for TLS and QUIC.
    pub(super) tls_port: Option<u16>,
    /// Servers, defined above in the file, that run in the same network and are started before it.
    #[serde(default)]
    pub(super) beside: Vec<Spanned<String>>,
    pub(super) far: Option<FarTable>,
    /// How long to wait after the program listens, so that it can open its own connections.
    pub(super) settle: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
    pub(super) place: Option<String>,
}

/// A server to which this one sends requests over a further path; it is reachable at this server's
/// own address.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FarTable {
    /// A server that is defined above in the file.
    pub(super) server: Spanned<String>,
    #[serde(default)]
    pub(super) scheme: UrlScheme,
    pub(super) port: u16,
    pub(super) path: BTreeMap<String, Spanned<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ArmTable {
    pub(super) name: Spanned<String>,
    pub(super) strategy: Option<Spanned<String>>,
    pub(super) manner: Option<Sequencing>,
    pub(super) hello_delay: Option<Spanned<String>>,
    /// The time limit of our own client.
    pub(super) max_time: Option<Spanned<String>>,
    /// Alternatively a program.
    pub(super) program: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// Alternatively a way to carry bytes, by its name in `roundtrip perf`.
    pub(super) transfer: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) scheme: UrlScheme,
    pub(super) output: Option<ProgramOutput>,
    /// Whether the program runs where the server does, without a path in between.
    #[serde(default)]
    pub(super) at_server: bool,
    /// Settings of our own client in addition to the fields above.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) warm: bool,
    pub(super) server: Option<Spanned<String>>,
    pub(super) requests: Option<u32>,
    /// The arm to compare with instead of the baseline; an empty name means none.
    pub(super) against: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    /// Settings of the client's network, in addition to the experiment's.
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
    /// The arm cannot succeed, and its error contains this text.
    pub(super) fails: Option<String>,
    /// Whether one more run is recorded to show its packets.
    #[serde(default)]
    pub(super) packets: bool,
    pub(super) note: Option<String>,
}

/// Other conditions, for some arms or for all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// The suffix of the arm's name, such as `@lan`.
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    /// How many simultaneous requests a program keeps open: its `@concurrency@`.
    pub(super) concurrency: Option<u32>,
    /// Overrides the experiment's setting for transfers.
    pub(super) offload: Option<bool>,
    pub(super) arms: Option<Vec<Spanned<String>>>,
    /// Whether to show the packets of this variant.
    pub(super) packets: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepTable {
    /// `requests`, or a word of the path.
    pub(super) word: Spanned<String>,
    pub(super) values: Spanned<Vec<Value>>,
    pub(super) arms: Vec<Spanned<String>>,
    #[serde(default = "one")]
    pub(super) runs: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The name of an arm, or the subject of the figure.
    pub name: String,
    pub value: f64,
    pub unit: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimTable {
    pub(super) text: String,
    pub(super) holds: Spanned<String>,
    pub(super) published: Option<f64>,
}

/// The quantity measured for the requests of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The time of all requests, from the start of the first to the end of the last.
    Total,
    /// The mean time of a request.
    Mean,
    /// The time to the end of the TLS or QUIC handshake.
    Appconnect,
    /// The number of answers per second; reported by programs.
    Rate,
    /// The processor time that a transfer costs the sender.
    Cost,
}

/// How several requests follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sequencing {
    /// One after the other, each on a new connection (or in a new process).
    #[default]
    Each,
    /// One after the other, on one connection (in one process).
    Kept,
    /// All at the same time, on one connection.
    AtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlScheme {
    #[default]
    Https,
    Http,
    Tcp,
}

/// The position of a program's figures in its output: a number on each line, or the number after a
/// text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramOutput {
    pub after: Option<String>,
    /// `ms`, `s`, or `/s`.
    pub unit: OutputUnit,
    /// Whether the figure after the text covers all requests, not one of them.
    #[serde(default)]
    pub once: bool,
    /// Texts whose figures must be zero wherever they are printed, such as refused or failed
    /// requests.
    #[serde(default)]
    pub zero: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputUnit {
    Ms,
    S,
    #[serde(rename = "/s")]
    PerSecond,
}

fn one() -> u32 {
    1
}
