//! The exporter's own metrics, at `/metrics`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use roundtrip_otlp::TelemetryCounts;

use crate::text::MetricText;

/// The upper limits of the buckets for the duration of probes, in seconds.
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The counters of the process, with one set for each module.
#[derive(Debug, Default)]
pub(crate) struct OwnMetrics {
    modules: BTreeMap<String, ModuleCounts>,
    pub(crate) running: usize,
    pub(crate) unknown_modules: u64,
    pub(crate) refused: u64,
    reloaded: Option<SystemTime>,
    reload_ok: bool,
}

#[derive(Debug, Default)]
struct ModuleCounts {
    succeeded: u64,
    failed: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

/// The fate of the spans for a collector.
pub(crate) fn spans(counts: &TelemetryCounts, text: &mut MetricText) {
    let name = "roundtrip_exporter_spans_total";
    text.head(
        name,
        "Spans for the collector of OpenTelemetry, by what became of them",
        "counter",
    );
    for (fate, count) in [
        ("sent", counts.sent),
        ("failed", counts.failed),
        ("dropped", counts.dropped),
    ] {
        text.sample(name, &[("fate", fate)], count as f64);
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
        let seconds = took.as_secs_f64();
        counts.seconds += seconds;
        for (end, count) in BUCKETS.iter().zip(&mut counts.buckets) {
            *count += u64::from(seconds <= *end);
        }
    }

    pub(crate) fn reloaded(&mut self, ok: bool) {
        self.reload_ok = ok;
        if ok {
            self.reloaded = Some(SystemTime::now());
        }
    }

    pub(crate) fn text(&self) -> MetricText {
        let mut text = MetricText::default();
        text.gauges(
            "roundtrip_exporter_build_info",
            "The version that runs",
            "version",
            [(env!("CARGO_PKG_VERSION"), 1.0)],
        );
        let name = "blackbox_exporter_config_last_reload_success_timestamp_seconds";
        let since = self
            .reloaded
            .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let help = "Timestamp of the last successful configuration reload.";
        text.gauge(name, help, since.map_or(0.0, |since| since.as_secs_f64()));
        text.gauge(
            "blackbox_exporter_config_last_reload_successful",
            "Blackbox exporter config loaded successfully.",
            f64::from(u8::from(self.reload_ok)),
        );
        let unknown = "blackbox_module_unknown_total";
        text.head(
            unknown,
            "Count of unknown modules requested by probes",
            "counter",
        );
        text.sample(unknown, &[], self.unknown_modules as f64);
        let refused = "roundtrip_exporter_probes_refused_total";
        text.head(
            refused,
            "Probes that were refused because too many were running",
            "counter",
        );
        text.sample(refused, &[], self.refused as f64);
        text.gauge(
            "roundtrip_exporter_probes_running",
            "Probes that are running",
            self.running as f64,
        );
        self.probes(&mut text);
        text
    }

    fn probes(&self, text: &mut MetricText) {
        let name = "roundtrip_exporter_probes_total";
        text.head(
            name,
            "Probes that are over, by module and outcome",
            "counter",
        );
        for (module, counts) in &self.modules {
            for (outcome, count) in [("success", counts.succeeded), ("failure", counts.failed)] {
                text.sample(
                    name,
                    &[("module", module), ("outcome", outcome)],
                    count as f64,
                );
            }
        }
        let name = "roundtrip_exporter_probe_duration_seconds";
        text.head(name, "How long probes took", "histogram");
        for (module, counts) in &self.modules {
            let total = (counts.succeeded + counts.failed) as f64;
            for (end, count) in BUCKETS.iter().zip(counts.buckets) {
                let labels = [("module", module.as_str()), ("le", &end.to_string())];
                text.sample(&format!("{name}_bucket"), &labels, count as f64);
            }
            let labels = [("module", module.as_str()), ("le", "+Inf")];
            text.sample(&format!("{name}_bucket"), &labels, total);
            let labels = [("module", module.as_str())];
            text.sample(&format!("{name}_sum"), &labels, counts.seconds);
            text.sample(&format!("{name}_count"), &labels, total);
        }
    }
}
