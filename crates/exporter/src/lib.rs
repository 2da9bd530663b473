//! Probes targets for Prometheus. [`Exporter`] answers `/probe?target=…&module=…` with the metrics
//! of blackbox_exporter, and adds round trips, the wait for each party, and the causes that were
//! found.
//!
//! The modules from the top down; each uses those below it:
//!
//! - `exporter`, `server`, `routes`: accept connections and answer paths; `connections` limits the
//!   connections;
//! - `state`: what requests share, with `own_metrics` and `history`; `message`: requests and
//!   answers; `process_metrics`: what the kernel says about the process;
//! - `run`: a probe by its module, with its deadline; `grpc`, `http`, `tcp`, `dns` and `icmp` are
//!   the five kinds; `body` and `token` belong to `http`, `line` (a connection) to `tcp` and `dns`,
//!   `lookup` (an address) to them and `icmp`;
//! - `http_metrics`, `certificates`: metrics from exchanges; `probe`: the values of a probe;
//! - `tracing`: spans from probes;
//! - `config`: blackbox_exporter's file; `text`: metrics as text.

mod body;
mod certificates;
mod config;
mod connections;
mod dns;
mod exporter;
mod grpc;
mod history;
mod http;
mod http_metrics;
mod icmp;
mod line;
mod lookup;
mod message;
mod own_metrics;
mod probe;
mod process_metrics;
mod routes;
mod run;
mod server;
mod state;
mod tcp;
mod text;
mod token;
mod tracing;

pub use config::{ConfigError, ProbeModules, Unsupported};
pub use exporter::{Exporter, ExporterError};
pub use state::ExporterOptions;
