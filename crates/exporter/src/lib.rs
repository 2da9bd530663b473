//! Probes on request, for Prometheus. [`Exporter`] answers `/probe?target=…&module=…` with the
//! metrics of blackbox_exporter, under their names, and adds what those do not tell: round trips,
//! whom each part of the time was waited for, and the causes that were found.
//!
//! The modules from the top down; each uses those below it:
//!
//! - `exporter`, `server`, `routes`: the address, its connections, and the paths;
//! - `state`: what requests share, with `own_metrics` and `history`; `message`: a request;
//! - `run`: a probe by its module, with its deadline; `http` and `tcp` are the two kinds;
//! - `http_metrics`, `certificates`: metrics from exchanges; `probe`: the values of a probe;
//! - `config`: blackbox_exporter's file, read as it is; `text`: metrics as text.

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
