//! Probes targets for Prometheus. [`Exporter`] answers `/probe?target=…&module=…` with the metrics
//! of blackbox_exporter, and adds round trips, the wait for each party, and the causes that were
//! found.
//!
//! The modules from the top down; each uses those below it:
//!
//! - `exporter`, `server`, `routes`: accept connections and answer paths;
//! - `state`: what requests share, with `own_metrics` and `history`; `message`: requests and
//!   answers;
//! - `run`: a probe by its module, with its deadline; `http` and `tcp` are the two kinds;
//! - `http_metrics`, `certificates`: metrics from exchanges; `probe`: the values of a probe;
//! - `config`: blackbox_exporter's file; `text`: metrics as text.

mod certificates;
mod config;
mod exporter;
mod history;
mod http;
mod http_metrics;
mod message;
mod own_metrics;
mod probe;
mod routes;
mod run;
mod server;
mod state;
mod tcp;
mod text;

pub use config::{ConfigError, ProbeModules, Unsupported};
pub use exporter::{Exporter, ExporterError};
pub use state::ExporterOptions;
