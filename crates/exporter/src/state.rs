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

/// The number of descriptors that a probe and its scrape hold at once, and the number of those that
/// belong to no probe.
const DESCRIPTORS_OF_PROBE: usize = 5;
const OWN_DESCRIPTORS: usize = 64;

#[derive(Clone)]
pub struct ExporterOptions {
    /// blackbox_exporter's file; without one there is the module `http_2xx`.
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
}

impl ExporterState {
    pub(crate) fn new(options: ExporterOptions) -> Result<Self, ConfigError> {
        let modules = read(&options)?;
        let mut own = OwnMetrics::default();
        own.reloaded(true);
        let affordable = process_metrics::max_descriptors().map_or(usize::MAX, |most| {
            most.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS_OF_PROBE
        });
        let places = options.probes.min(affordable).max(1);
        Ok(Self {
            modules: RefCell::new(Rc::new(modules)),
            own: RefCell::new(own),
            history: RefCell::new(History::new(options.history)),
            places: Semaphore::new(places),
            limit: places,
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
