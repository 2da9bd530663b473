//! Redirects: one time limit for all of them, and where they lead, as in blackbox_exporter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::beside::{blackbox, compare};
use super::scene::{ask, exporter, probe, samples, write};
use crate::servers::{answering, ok};

/// How long a slow server waits before it answers.
const WAIT: Duration = Duration::from_millis(400);

pub(super) fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

/// Each redirect has its own time limit, but all together have that of the scrape.
#[test]
fn redirects_share_the_time_of_the_scrape() {
    let folder = tempfile::tempdir().unwrap();
    let text = "modules: {m: {prober: http, http: {preferred_ip_protocol: ip4}}}\n";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let slow = answering(move |_, _| {
        let n = counted.fetch_add(1, Ordering::Relaxed);
        thread::sleep(WAIT);
        redirect(&format!("/{n}"))
    });
    let path = format!("/probe?module=m&target={slow}");
    let field = "X-Prometheus-Scrape-Timeout-Seconds: 1.5\r\n";
    let (status, text) = ask(ours, "GET", &path, field);
    assert_eq!(status, 200);
    let found = samples(&text);
    assert!(found["probe_success"] < 1.0, "{text}");
    assert!(
        found.contains_key("probe_failed_phase{phase=\"first_byte\"}"),
        "{text}"
    );
    let asked = count.load(Ordering::Relaxed);
    assert!((1..=3).contains(&asked), "{asked} requests within 1.0 s");
}

/// The name for `Host` belongs to the target; a redirect to another server reaches that one.
#[test]
fn only_the_target_is_asked_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
modules:
  other: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ["^other "]}}
  same: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ["^same Host: name.example$"]}}
"#;
    let config = write(folder.path(), "b.yml", text);
    let host = |head: &str| {
        let mut lines = head.lines();
        let line = lines.find(|line| line.starts_with("Host: "));
        line.unwrap_or("no host").to_owned()
    };
    let other = answering(move |head, _| ok(&format!("other {}", host(head))));
    let target = answering(move |head, _| match head.split(' ').nth(1) {
        Some("/other") => redirect(&format!("http://{other}/")),
        Some("/same") => redirect("/end"),
        _ => ok(&format!("same {}", host(head))),
    });
    let (_running, ours) = exporter(&config);
    let beside = blackbox("redirects beside blackbox_exporter", &config);
    for module in ["other", "same"] {
        let asked = format!("http://{target}/{module}&hostname=name.example");
        let found = probe(ours, module, &asked);
        assert!(found["probe_success"] > 0.0, "{module}: {found:#?}");
        if let Some((_, theirs)) = &beside {
            compare(module, &asked, &probe(*theirs, module, &asked), &found);
        }
    }
}
