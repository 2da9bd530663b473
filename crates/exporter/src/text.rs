//! Metrics of one scrape, in Prometheus' text exposition format 0.0.4.

use std::borrow::Cow;
use std::fmt::Write;

use roundtrip_report::terminal::clean_lines;
use roundtrip_wire::prometheus::{Histogram, MetricFamily, MetricKind, MetricValue};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct MetricText(String);

impl MetricText {
    /// A gauge without labels.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, &[], value);
    }

    /// Writes a gauge for each value of a label.
    pub(crate) fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        self.head(name, help, "gauge");
        for (word, value) in values {
            self.sample(name, &[(label, word)], value);
        }
    }

    pub(crate) fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (place, (label, word)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(word));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{after} {}", number(value));
    }

    /// All metrics of a name. Native histograms cannot be written in this format.
    pub(crate) fn family(&mut self, family: &MetricFamily) {
        let name = family.name;
        let kind = match family.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.head(name, family.help, kind);
        for metric in &family.metrics {
            let labels = metric.labels.iter();
            let labels: Vec<_> = labels
                .map(|(label, word)| (*label, word.as_str()))
                .collect();
            match &metric.value {
                MetricValue::Number(value) => self.sample(name, &labels, *value),
                MetricValue::Histogram(histogram) => self.histogram(name, &labels, histogram),
            }
        }
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let total = histogram.count();
        for (limit, count) in histogram.buckets().chain([(f64::INFINITY, total)]) {
            let limit = number(limit);
            let labels: Vec<_> = labels
                .iter()
                .copied()
                .chain([("le", limit.as_str())])
                .collect();
            self.sample(&format!("{name}_bucket"), &labels, count as f64);
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum());
        self.sample(&format!("{name}_count"), labels, total as f64);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Escapes a label value. Such values come from certificates and configurations, and people read
/// scrapes in terminals.
fn escaped(word: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| (b.is_ascii_graphic() || b == b' ') && !matches!(b, b'\\' | b'"');
    if word.bytes().all(is_plain) {
        return word.into();
    }
    let escaped = clean_lines(word)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    escaped.into()
}

/// Formats a number as Prometheus does, without loss of precision.
fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_labels_are_written_as_the_format_wants_them() {
        let mut text = MetricText::default();
        text.gauge("a", "An a.", 1.5);
        text.gauges(
            "b",
            "Some.",
            "of",
            [("x\"\\\n", f64::NAN), ("y", f64::INFINITY)],
        );
        assert_eq!(
            text.as_str(),
            "# HELP a An a.\n# TYPE a gauge\na 1.5\n# HELP b Some.\n# TYPE b gauge\n\
             b{of=\"x\\\"\\\\\\n\"} NaN\nb{of=\"y\"} +Inf\n"
        );
    }
}
