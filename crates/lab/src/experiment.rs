//! An experiment: the question, the path, the server, the clients, and the claims.
//!
//! `format` defines the file, `reading` checks it and builds an [`Experiment`], `words` turns the
//! properties of a path into a path, `transfer` turns an arm that carries bytes into a plan of
//! `perf`, `builtin` holds the built-in experiments.

mod builtin;
mod format;
pub(crate) mod knobs;
mod reading;
mod transfer;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::Strategy;
use roundtrip_origin::Knobs;
use serde::Serialize;

use crate::claim::Expression;

pub(crate) use builtin::client as shipped;
pub use builtin::{load, names};
pub use format::{Measure, OutputUnit, ProgramOutput, Published, Sequencing, UrlScheme};
pub use reading::read;
pub use roundtrip_path::WordError;
pub use transfer::Transfer;
pub use words::{PathWords, span};

#[derive(Debug, Clone)]
pub struct Experiment {
    pub name: String,
    /// The directory with the experiment's programs; `None` if the experiment is built in.
    pub directory: Option<PathBuf>,
    pub question: String,
    pub article: String,
    pub measure: Measure,
    pub unit: String,
    pub runs: u32,
    pub path: PathWords,
    /// Everything that is measured in blocks: each arm in each of its variants.
    pub cells: Vec<Cell>,
    pub sweeps: Vec<Sweep>,
    pub published: Vec<Published>,
    pub claims: Vec<Claim>,
}

/// One arm under one set of conditions.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The arm's name, followed by the variant's.
    pub name: String,
    pub arm: Arc<Arm>,
    pub path: PathWords,
    pub requests: u32,
    pub concurrency: u32,
    /// Whether both ends of a transfer leave segmentation to the interface.
    pub offload: bool,
    /// The name of the cell that this one is compared with.
    pub against: Option<String>,
    /// Whether this cell repeats another one, to show the difference that chance and drift alone
    /// make.
    pub control: bool,
    /// Whether one more run is recorded to show its packets.
    pub packets: bool,
}

#[derive(Debug, Clone)]
pub struct Arm {
    pub client: ArmClient,
    pub server: Arc<LabServer>,
    /// Whether an unmeasured round precedes it in the same namespaces, to leave a ticket, a cookie
    /// or a connection.
    pub warm: bool,
    /// Settings of the client's network, from the experiment and from the arm.
    pub sysctl: BTreeMap<String, String>,
    /// The arm cannot succeed, and its error contains this text.
    pub fails: Option<String>,
    pub note: Option<String>,
}

#[derive(Debug, Clone)]
pub enum ArmClient {
    Ours {
        strategy: Strategy,
        manner: Sequencing,
        /// The time that the client computes before its ClientHello.
        hello_delay: Duration,
        /// The client's time limit.
        max_time: Duration,
        headers: Vec<(String, String)>,
    },
    Program(Program),
    Transfer(Transfer),
}

/// A client that is a program.
#[derive(Debug, Clone)]
pub struct Program {
    /// A program of the system, or one of our files with the extension `.go` or `.py`.
    pub name: String,
    pub arguments: Vec<String>,
    pub scheme: UrlScheme,
    /// Whether the program is started for each request, not once for all of them.
    pub each: bool,
    /// Whether the program runs in the server's network, without a path.
    pub at_server: bool,
    /// Where the program's figures are in its output; `None` measures its run time.
    pub output: Option<ProgramOutput>,
}

#[derive(Debug, Clone)]
pub struct LabServer {
    pub name: String,
    pub kind: ServerKind,
    pub sysctl: BTreeMap<String, String>,
    /// The path of the requested URL.
    pub place: String,
    /// Servers in the same network that are started before this one.
    pub beside: Vec<Arc<LabServer>>,
    pub far: Option<FarServer>,
    /// How long to wait before the first client.
    pub settle: Duration,
}

/// A server behind a further path, to which another server sends requests. At that server's own
/// address, `port` leads to it.
#[derive(Debug, Clone)]
pub struct FarServer {
    pub server: Arc<LabServer>,
    pub scheme: UrlScheme,
    pub port: u16,
    pub path: PathWords,
}

#[derive(Debug, Clone)]
pub enum ServerKind {
    /// The server is part of the transfer that is measured.
    Within,
    Origin(Box<Knobs>),
    Program {
        command: Vec<String>,
        needs: Vec<String>,
        files: BTreeMap<String, String>,
        ready: ReadySign,
        port: u16,
        tls_port: Option<u16>,
    },
}

/// How to detect that a server listens, without connecting to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadySign {
    /// The server has written this file.
    File(String),
    /// The system's socket table contains the server's port.
    Port,
}

/// The same arms, measured at each of several values: a curve.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub word: String,
    pub runs: u32,
    /// Each value, and the cells that are measured there, by the name of their arm.
    pub points: Vec<SweepPoint>,
}

#[derive(Debug, Clone)]
pub struct SweepPoint {
    pub value: String,
    pub cells: Vec<(String, Cell)>,
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub text: String,
    pub expression: Expression,
    pub published: Option<f64>,
}

impl ArmClient {
    /// A description in one word or one line.
    pub fn describe(&self) -> String {
        match self {
            Self::Ours {
                strategy, manner, ..
            } => match manner {
                Sequencing::Each => format!("{strategy}, a connection each"),
                Sequencing::Kept => format!("{strategy}, one connection kept"),
                Sequencing::AtOnce => format!("{strategy}, all at once"),
            },
            Self::Transfer(transfer) => transfer.arm.to_string(),
            Self::Program(program) => format!("{} {}", program.name, program.arguments.join(" ")),
        }
    }
}

impl Serialize for PathWords {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(word, values)| (word, values.join(", "))))
    }
}
