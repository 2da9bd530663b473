//! A configurable test server: HTTP/1.1, HTTP/2 and HTTP/3 from one process, with its own
//! certificates, for tests, demonstrations and benchmarks. Everything that a real server does well
//! or badly (tickets, early data, fast open, slow answers, faults at each phase) is a field of
//! [`Knobs`] and a flag with the same name.
//!
//! The life of a request: `tcp` or `quic` accepts → `tls` performs the handshake →
//! `serve::{h1,h2,h3}` read a request → `routes` turns it into an `AnswerPlan` (pure) → `serve`
//! carries out the plan, in the same way for all three protocols. Both ends can be compared:
//! [`OriginCounters`] reports what the server saw, in the API and at `/stats`.

mod body;
mod certificates;
mod connection;
mod date;
mod echo;
mod error;
mod fuse;
mod knobs;
mod plan;
mod quic;
mod request;
mod routes;
mod running;
mod serve;
mod site;
mod stats;
mod tcp;
mod tls;

pub use error::OriginError;
pub use knobs::{
    Certificate, ClientCertificate, EarlyData, EchoKnobs, Expect, Fault, FaultKind, FaultPhase,
    Group, HttpKnobs, Knobs, ListenKnobs, Quic, QuicEngine, Tickets, TlsKnobs, TlsVersions,
};
pub use running::{Echo, Origin, Running};
pub use stats::{OriginCounters, Stats};
