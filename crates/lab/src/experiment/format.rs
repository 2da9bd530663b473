//! An experiment's file, as it is written. Keys that are not here are refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    /// One sentence.
    pub(super) question: String,
    pub(super) article: String,
    pub(super) measure: Measure,
    /// What figures are in, where they are no milliseconds.
    pub(super) unit: Option<String>,
    pub(super) runs: Spanned<u32>,
    #[serde(default = "one")]
    pub(super) requests: u32,
    /// The arm that others are held against, unless they say so themselves; it is measured twice.
    pub(super) baseline: Option<Spanned<String>>,
    /// Arms are measured in their variants alone.
    #[serde(default)]
    pub(super) variants_only: bool,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub(super) client: Client,
    /// Of all arms that carry bytes.
    #[serde(default)]
    pub(super) transfer: Transfer,
    /// The first is whom arms ask that name none.
    #[serde(default)]
    pub(super) server: Vec<Server>,
    pub(super) arm: Vec<Arm>,
    #[serde(default)]
    pub(super) variant: Vec<Variant>,
    #[serde(default)]
    pub(super) sweep: Vec<Sweep>,
    #[serde(default)]
    pub(super) published: Vec<Published>,
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Client {
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
}

/// What each transfer is: the server sends for a time, or so many bytes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Transfer {
    pub(super) time: Option<Spanned<String>>,
    pub(super) bytes: Option<Spanned<String>>,
    /// Both ends leave segmentation to the interface.
    #[serde(default)]
    pub(super) offload: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Server {
    pub(super) name: Spanned<String>,
    /// The flags of `roundtrip origin`.
    pub(super) knobs: Option<BTreeMap<String, Spanned<Value>>>,
    /// Or a program, with its configuration.
    pub(super) command: Option<Vec<String>>,
    /// What must be installed for it, when that is not its first word alone.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// The file that it writes once it listens; `port`: it is looked whether somebody listens at its port.
    pub(super) ready: Option<String>,
    pub(super) port: Option<u16>,
    /// Where it speaks TLS, and QUIC.
    pub(super) tls_port: Option<u16>,
    /// Servers above in the file that run in the same network, each started before it.
    #[serde(default)]
    pub(super) beside: Vec<Spanned<String>>,
    pub(super) far: Option<Far>,
    /// How long it is left alone once it listens, to open what it wants open.
    pub(super) settle: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
    pub(super) place: Option<String>,
}

/// A server that this one asks over a further path: it finds it at its own address.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Far {
    /// One above in the file.
    pub(super) server: Spanned<String>,
    #[serde(default)]
    pub(super) scheme: Scheme,
    pub(super) port: u16,
    pub(super) path: BTreeMap<String, Spanned<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Arm {
    pub(super) name: Spanned<String>,
    pub(super) strategy: Option<Spanned<String>>,
    pub(super) manner: Option<Manner>,
    pub(super) hello_delay: Option<Spanned<String>>,
    /// When our own client gives up.
    pub(super) max_time: Option<Spanned<String>>,
    /// Or a program.
    pub(super) program: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// Or a way to carry bytes, as `roundtrip perf` names it.
    pub(super) transfer: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) scheme: Scheme,
    pub(super) output: Option<Output>,
    /// The program runs where the server does: between them is no path.
    #[serde(default)]
    pub(super) at_server: bool,
    /// What our own client says beside its own fields.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) warm: bool,
    pub(super) server: Option<Spanned<String>>,
    pub(super) requests: Option<u32>,
    /// Another arm than the baseline, or an empty name: none.
    pub(super) against: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    /// Of the client's network, beside the experiment's.
    #[serde(default)]
    pub(super) sysctl: BTreeMap<String, Value>,
    /// It cannot succeed, and what it fails with says this.
    pub(super) fails: Option<String>,
    /// One further run is recorded, and its packets are told.
    #[serde(default)]
    pub(super) packets: bool,
    pub(super) note: Option<String>,
}

/// Other conditions, for some arms or for all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// What is put behind an arm's name, such as `@lan`.
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) path: BTreeMap<String, Spanned<Value>>,
    /// How many requests a program is to have under way at once: its `@concurrency@`.
    pub(super) concurrency: Option<u32>,
    /// Another than the experiment's, for transfers.
    pub(super) offload: Option<bool>,
    pub(super) arms: Option<Vec<Spanned<String>>>,
    /// Packets are told here, too, or only here.
    pub(super) packets: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
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
    /// An arm, or what the figure is of.
    pub name: String,
    pub value: f64,
    pub unit: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub(super) text: String,
    pub(super) holds: Spanned<String>,
    pub(super) published: Option<f64>,
}

/// What is measured of the requests of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// All of them, from the first's beginning to the last's end.
    Total,
    /// One of them, on average.
    Mean,
    /// To the end of the TLS or QUIC handshake.
    Appconnect,
    /// How many are answered in a second; programs say it.
    Rate,
    /// What a transfer costs the processor of the side that sends.
    Cost,
}

/// How several requests follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// One after the other, each with a connection (or a process) of its own.
    #[default]
    Each,
    /// One after the other, on one connection (in one process).
    Kept,
    /// All at the same time, on one connection.
    AtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    #[default]
    Https,
    Http,
    Tcp,
}

/// Where a program's figures stand in what it prints: a number on each line, or the number after a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub after: Option<String>,
    /// `ms`, `s`, or `/s`.
    pub unit: OutputUnit,
    /// The figure after the text is of all requests, not of one of them.
    #[serde(default)]
    pub once: bool,
    /// Texts whose figures have to be zero wherever they are printed: what was refused, what failed.
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
