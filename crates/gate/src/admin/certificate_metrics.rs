//! Metrics of the certificates that come from a CA (`[acme]`), in Prometheus' text format.

use std::time::{SystemTime, UNIX_EPOCH};

use super::dependencies::DependencyView;
use crate::record::prometheus::{head, line};

/// Appends the metrics of certificates, if there are any, to the other metrics.
pub(super) fn append(text: &mut String, view: &DependencyView, now: SystemTime) {
    if view.acme_events.is_empty() {
        return;
    }
    let name = "roundtrip_gate_acme_events_total";
    let about = "Orders of certificates by this replica, answers to challenges, and handshakes that failed because their name has no certificate.";
    head(text, name, about, "counter");
    for (event, count) in &view.acme_events {
        line(text, name, &[("event", *event)], *count);
    }
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let left = |at: i64| u64::try_from(at).unwrap_or(0).saturating_sub(now);
    let name = "roundtrip_gate_certificate_seconds_left";
    head(
        text,
        name,
        "Seconds until the certificate of a name expires; 0 without one.",
        "gauge",
    );
    for known in &view.certificates {
        let labels = [("name", known.name.as_str())];
        line(text, name, &labels, left(known.ends.unwrap_or(0)));
    }
    let name = "roundtrip_gate_certificate_next_order_seconds";
    head(
        text,
        name,
        "Seconds until the next certificate of a name is ordered.",
        "gauge",
    );
    for known in &view.certificates {
        line(
            text,
            name,
            &[("name", known.name.as_str())],
            left(known.next),
        );
    }
    let name = "roundtrip_gate_certificate_failed_orders";
    head(
        text,
        name,
        "Orders for a name that have failed since the last success.",
        "gauge",
    );
    for known in &view.certificates {
        let labels = [("name", known.name.as_str())];
        line(text, name, &labels, u64::from(known.failures));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::admin::dependencies::StoreView;
    use crate::judge::acme::CertificateView;

    #[test]
    fn each_name_has_its_rows_and_without_a_ca_there_are_none() {
        let mut view = DependencyView {
            upstreams: Vec::new(),
            store: StoreView::NotNeeded,
            certificates: vec![CertificateView {
                name: "a.example".into(),
                ends: Some(1500),
                next: 1100,
                failures: 2,
                error: "text of the CA".into(),
            }],
            acme_events: vec![("order_begun", 3)],
        };
        let mut text = String::new();
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        append(&mut text, &view, now);
        let rows: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        assert_eq!(
            rows,
            [
                "roundtrip_gate_acme_events_total{event=\"order_begun\"} 3",
                "roundtrip_gate_certificate_seconds_left{name=\"a.example\"} 500",
                "roundtrip_gate_certificate_next_order_seconds{name=\"a.example\"} 100",
                "roundtrip_gate_certificate_failed_orders{name=\"a.example\"} 2",
            ]
        );
        view.acme_events.clear();
        let mut none = String::new();
        append(&mut none, &view, now);
        assert_eq!(none, "");
    }
}
