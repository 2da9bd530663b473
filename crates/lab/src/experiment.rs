//! An experiment: what is asked, over which path, of which server, by which clients, and what is claimed.
//!
//! `format` is the file as it is written, `reading` checks it and makes an [`Experiment`] of it, `words` turns what is
//! said of a path into one, `transfer` turns an arm that carries bytes into a plan of `perf`, `shelf` holds the files that come with the program.

mod format;
pub(crate) mod knobs;
mod reading;
mod shelf;
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

pub use format::{Manner, Measure, Output, OutputUnit, Published, Scheme};
pub use reading::{Flaw, read};
pub use roundtrip_path::WordError;
pub(crate) use shelf::client as shipped;
pub use shelf::{load, names};
pub use transfer::Transfer;
pub use words::{Words, span};

#[derive(Debug, Clone)]
pub struct Experiment {
    pub name: String,
    /// Where programs of ours are looked for, when the file is not one of those that come with the program.
    pub directory: Option<PathBuf>,
    pub question: String,
    pub article: String,
    pub measure: Measure,
    pub unit: String,
    pub runs: u32,
    pub path: Words,
    /// What is measured in blocks: each arm, at each of its variants.
    pub cells: Vec<Cell>,
    pub sweeps: Vec<Sweep>,
    pub published: Vec<Published>,
    pub claims: Vec<Claim>,
}

/// One arm under one set of conditions.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The arm's name, and the variant's behind it.
    pub name: String,
    pub arm: Arc<Arm>,
    pub path: Words,
    pub requests: u32,
    pub concurrency: u32,
    /// Both ends of a transfer leave segmentation to the interface.
    pub offload: bool,
    /// The cell that this one is held against.
    pub against: Option<String>,
    /// It repeats another, to show what difference chance and drift alone make.
    pub control: bool,
    /// One further run is recorded, and its packets are told.
    pub packets: bool,
}

#[derive(Debug, Clone)]
pub struct Arm {
    pub client: Client,
    pub server: Arc<Server>,
    /// An unmeasured round goes before, in the same namespaces, to leave a ticket, a cookie or a connection.
    pub warm: bool,
    /// Of the client's network: the experiment's, and its own.
    pub sysctl: BTreeMap<String, String>,
    /// It cannot succeed, and what it fails with says this.
    pub fails: Option<String>,
    pub note: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Client {
    Ours {
        strategy: Strategy,
        manner: Manner,
        /// What the client computes before its ClientHello.
        hello_delay: Duration,
        /// When it gives up.
        max_time: Duration,
        headers: Vec<(String, String)>,
    },
    Program(Program),
    Transfer(Transfer),
}

/// A client that is a process.
#[derive(Debug, Clone)]
pub struct Program {
    /// A program of the system, or a file of ours that ends in `.go` or `.py`.
    pub name: String,
    pub arguments: Vec<String>,
    pub scheme: Scheme,
    /// Started once for each request, and not once for all.
    pub each: bool,
    /// It runs in the server's network, without a path.
    pub at_server: bool,
    /// Where its figures stand in what it prints; without it, its whole life is measured.
    pub output: Option<Output>,
}

#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub kind: ServerKind,
    pub sysctl: BTreeMap<String, String>,
    /// What is asked for.
    pub place: String,
    /// In the same network, started before it.
    pub beside: Vec<Arc<Server>>,
    pub far: Option<Far>,
    /// Before the first client comes.
    pub settle: Duration,
}

/// Whom a server asks over a further path. At the server's own address, `port` leads there.
#[derive(Debug, Clone)]
pub struct Far {
    pub server: Arc<Server>,
    pub scheme: Scheme,
    pub port: u16,
    pub path: Words,
}

#[derive(Debug, Clone)]
pub enum ServerKind {
    /// A transfer brings its own.
    Within,
    Origin(Box<Knobs>),
    Program {
        command: Vec<String>,
        needs: Vec<String>,
        files: BTreeMap<String, String>,
        ready: Ready,
        port: u16,
        tls_port: Option<u16>,
    },
}

/// How it is known that a server listens, without anybody who connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// The file that it writes then.
    File(String),
    /// The system's table of sockets has its port.
    Port,
}

/// The same arms at each of several values: a curve.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub word: String,
    pub runs: u32,
    /// Value, and the cells measured there with their arms' names.
    pub points: Vec<Point>,
}

#[derive(Debug, Clone)]
pub struct Point {
    pub value: String,
    pub cells: Vec<(String, Cell)>,
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub text: String,
    pub expression: Expression,
    pub published: Option<f64>,
}

impl Client {
    /// As one word or one line.
    pub fn describe(&self) -> String {
        match self {
            Self::Ours {
                strategy, manner, ..
            } => match manner {
                Manner::Each => format!("{strategy}, a connection each"),
                Manner::Kept => format!("{strategy}, one connection kept"),
                Manner::AtOnce => format!("{strategy}, all at once"),
            },
            Self::Transfer(transfer) => transfer.arm.to_string(),
            Self::Program(program) => format!("{} {}", program.name, program.arguments.join(" ")),
        }
    }
}

impl Serialize for Words {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(word, values)| (word, values.join(", "))))
    }
}
