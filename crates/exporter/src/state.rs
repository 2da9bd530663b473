//! The exporter's options, its configuration, and what its requests share.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_otlp::Telemetry;
use tokio::sync::Semaphore;

use crate::config::{ConfigError, ProbeModules};
use crate::history::History;
use crate::own_metrics::OwnMetrics;
use crate::process_metrics;

/// The number of descriptors that a probe holds at once, and of those that belong to no probe.
const DESCRIPTORS_OF_PROBE: usize = 4;
const OWN_DESCRIPTORS: usize = 64;
/// The number of connections for each probe if descriptors are few: the connection of its scrape,
/// and one that waits.
const CONNECTIONS_OF_PROBE: usize = 2;
/// The limits of the number of connections at once.
const MIN_CONNECTIONS: usize = 8;
const MAX_CONNECTIONS: usize = 2048;

#[derive(Clone)]
pub struct ExporterOptions {
    /// The configuration file, in blackbox_exporter's format; without one there is the module
    /// `http_2xx`.
    pub config: Option<String>,
    /// Leave modules out that cannot be honoured, instead of refusing the file.
    pub skip_unsupported: bool,
    pub listen: SocketAddr,
    /// How long before the scrape's timeout a probe has to end.
    pub timeout_offset: Duration,
    /// The number of recent probes that are kept with their logs.
    pub history: usize,
    /// The number of probes that may run at once, if the process may open that many descriptors;
    /// more have to wait.
    pub probes: usize,
    /// The prefix of all paths, such as `/probes`, or nothing.
    pub prefix: String,
    /// The destination of probes' spans.
    pub telemetry: Option<Telemetry>,
}

/// The state that all requests share. One thread serves them.
pub(crate) struct ExporterState {
    pub(crate) options: ExporterOptions,
    modules: RefCell<Rc<ProbeModules>>,
    pub(crate) own: RefCell<OwnMetrics>,
    pub(crate) history: RefCell<History>,
    pub(crate) places: Semaphore,
    /// The number of places.
    limit: usize,
    /// How many connections may be open without taking the descriptors of probes.
    pub(crate) max_connections: usize,
}

impl ExporterState {
    pub(crate) fn new(options: ExporterOptions) -> Result<Self, ConfigError> {
        let modules = read(&options)?;
        let mut own = OwnMetrics::default();
        own.reloaded(true);
        let descriptors = process_metrics::max_descriptors().unwrap_or(usize::MAX);
        let descriptors = descriptors.saturating_sub(OWN_DESCRIPTORS);
        let affordable = descriptors / (DESCRIPTORS_OF_PROBE + CONNECTIONS_OF_PROBE);
        let places = options.probes.min(affordable).max(1);
        let connections = descriptors.saturating_sub(places * DESCRIPTORS_OF_PROBE);
        Ok(Self {
            modules: RefCell::new(Rc::new(modules)),
            own: RefCell::new(own),
            history: RefCell::new(History::new(options.history)),
            places: Semaphore::new(places),
            limit: places,
            max_connections: connections.clamp(MIN_CONNECTIONS, MAX_CONNECTIONS),
            options,
        })
    }

    /// The number of probes that are running.
    pub(crate) fn running(&self) -> usize {
        self.limit.saturating_sub(self.places.available_permits())
    }

    pub(crate) fn modules(&self) -> Rc<ProbeModules> {
        self.modules.borrow().clone()
    }

    /// Reads the file again. If it has an error, the modules do not change.
    pub(crate) fn reload(&self) -> Result<(), ConfigError> {
        let read = read(&self.options);
        self.own.borrow_mut().reloaded(read.is_ok());
        *self.modules.borrow_mut() = Rc::new(read?);
        Ok(())
    }
}

fn read(options: &ExporterOptions) -> Result<ProbeModules, ConfigError> {
    match &options.config {
        Some(path) => ProbeModules::read(path, options.skip_unsupported),
        None => Ok(ProbeModules::built_in()),
    }
}
