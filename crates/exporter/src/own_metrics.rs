//! The exporter's own metrics, at `/metrics`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use roundtrip_otlp::TelemetryCounts;
use roundtrip_wire::prometheus::{Histogram, Metric, MetricFamily, MetricKind, MetricValue};

/// The upper limits of the classic buckets for the duration of probes, in seconds.
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The counters of the process, with one set for each module.
#[derive(Debug, Default)]
pub(crate) struct OwnMetrics {
    modules: BTreeMap<String, ModuleCounts>,
    pub(crate) unknown_modules: u64,
    pub(crate) refused: u64,
    reloaded: Option<SystemTime>,
    reload_ok: bool,
}

#[derive(Debug)]
struct ModuleCounts {
    succeeded: u64,
    failed: u64,
    durations: Histogram,
}

impl Default for ModuleCounts {
    fn default() -> Self {
        Self {
            succeeded: 0,
            failed: 0,
            durations: Histogram::new(&BUCKETS),
        }
    }
}

/// The outcomes of the spans for a collector.
pub(crate) fn spans(counts: &TelemetryCounts) -> MetricFamily {
    let fates = [
        ("sent", counts.sent),
        ("failed", counts.failed),
        ("dropped", counts.dropped),
    ];
    MetricFamily {
        name: "roundtrip_exporter_spans_total",
        help: "Spans for the OpenTelemetry collector, by outcome",
        kind: MetricKind::Counter,
        metrics: fates
            .map(|(fate, count)| metric(vec![("fate", fate.to_owned())], count as f64))
            .into(),
    }
}

fn metric(labels: Vec<(&'static str, String)>, value: f64) -> Metric {
    Metric {
        labels,
        value: MetricValue::Number(value),
    }
}

/// A metric without labels.
fn single(name: &'static str, help: &'static str, kind: MetricKind, value: f64) -> MetricFamily {
    MetricFamily {
        name,
        help,
        kind,
        metrics: vec![metric(Vec::new(), value)],
    }
}

impl OwnMetrics {
    pub(crate) fn probed(&mut self, module: &str, success: bool, took: Duration) {
        let counts = self.modules.entry(module.to_owned()).or_default();
        *if success {
            &mut counts.succeeded
        } else {
            &mut counts.failed
        } += 1;
        counts.durations.add(took.as_secs_f64());
    }

    pub(crate) fn reloaded(&mut self, ok: bool) {
        self.reload_ok = ok;
        if ok {
            self.reloaded = Some(SystemTime::now());
        }
    }

    pub(crate) fn families(&self, running: usize) -> Vec<MetricFamily> {
        let since = self
            .reloaded
            .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        vec![
            MetricFamily {
                name: "roundtrip_exporter_build_info",
                help: "The version that runs",
                kind: MetricKind::Gauge,
                metrics: vec![metric(version, 1.0)],
            },
            single(
                "blackbox_exporter_config_last_reload_success_timestamp_seconds",
                "Timestamp of the last successful configuration reload.",
                MetricKind::Gauge,
                since.map_or(0.0, |since| since.as_secs_f64()),
            ),
            single(
                "blackbox_exporter_config_last_reload_successful",
                "Blackbox exporter config loaded successfully.",
                MetricKind::Gauge,
                f64::from(u8::from(self.reload_ok)),
            ),
            single(
                "blackbox_module_unknown_total",
                "Count of unknown modules requested by probes",
                MetricKind::Counter,
                self.unknown_modules as f64,
            ),
            single(
                "roundtrip_exporter_probes_refused_total",
                "Probes that were refused because too many were running",
                MetricKind::Counter,
                self.refused as f64,
            ),
            single(
                "roundtrip_exporter_probes_running",
                "Probes that are running",
                MetricKind::Gauge,
                running as f64,
            ),
            self.outcomes(),
            self.durations(),
        ]
    }

    fn outcomes(&self) -> MetricFamily {
        let of_module = |(module, counts): (&String, &ModuleCounts)| {
            [("success", counts.succeeded), ("failure", counts.failed)].map(|(outcome, count)| {
                let labels = vec![("module", module.clone()), ("outcome", outcome.to_owned())];
                metric(labels, count as f64)
            })
        };
        MetricFamily {
            name: "roundtrip_exporter_probes_total",
            help: "Completed probes, by module and outcome",
            kind: MetricKind::Counter,
            metrics: self.modules.iter().flat_map(of_module).collect(),
        }
    }

    fn durations(&self) -> MetricFamily {
        let of_module = |(module, counts): (&String, &ModuleCounts)| Metric {
            labels: vec![("module", module.clone())],
            value: MetricValue::Histogram(counts.durations.clone()),
        };
        MetricFamily {
            name: "roundtrip_exporter_probe_duration_seconds",
            help: "How long probes took",
            kind: MetricKind::Histogram,
            metrics: self.modules.iter().map(of_module).collect(),
        }
    }
}
