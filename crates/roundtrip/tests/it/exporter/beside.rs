//! blackbox_exporter with the same file and the same targets, and Prometheus with both.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scene::{exporter, free, get, origin, probe, samples, write};
use crate::process::{Process, await_some, eventually};
use crate::skip;

const BLACKBOX: &str = "prometheus-blackbox-exporter";

/// Values that must be the same; others are times, or are explained in docs/exporter.md.
const EQUAL: [&str; 20] = [
    "probe_failed_due_to_regex",
    "probe_grpc_healthcheck_response",
    "probe_grpc_ssl",
    "probe_grpc_status_code",
    "probe_http_content_length",
    "probe_http_last_modified_timestamp_seconds",
    "probe_http_redirects",
    "probe_http_ssl",
    "probe_http_status_code",
    "probe_http_uncompressed_body_length",
    "probe_http_version",
    "probe_icmp_reply_hop_limit",
    "probe_ip_addr_hash",
    "probe_ip_protocol",
    "probe_ssl_earliest_cert_expiry",
    "probe_ssl_last_chain_expiry_timestamp_seconds",
    "probe_ssl_last_chain_info",
    "probe_success",
    "probe_tls_version_info",
    "probe_tls_cipher_info",
];

/// A program of another project that listens; `None` if it is not installed.
fn program(test: &str, name: &str, arguments: &[String], at: SocketAddr) -> Option<Process> {
    let mut command = Command::new(name);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null());
    let Ok(child) = command.spawn() else {
        skip::lacking(test, name);
        return None;
    };
    let running = Process(child);
    await_some(name, || std::net::TcpStream::connect(at).ok());
    Some(running)
}

pub(super) fn blackbox(test: &str, config: &Path) -> Option<(Process, SocketAddr)> {
    let at = free();
    let config = format!("--config.file={}", config.display());
    let listen = format!("--web.listen-address={at}");
    Some((program(test, BLACKBOX, &[config, listen], at)?, at))
}

fn config(folder: &Path, ca: &Path) -> std::path::PathBuf {
    let ca = ca.display();
    let text = format!(
        r#"
modules:
  http_2xx:
    prober: http
    http:
      preferred_ip_protocol: ip4
      tls_config: {{ca_file: {ca}}}
  http_1:
    prober: http
    http:
      preferred_ip_protocol: ip4
      enable_http2: false
      headers: {{X-Asked-By: "somebody", Accept-Language: en}}
      tls_config: {{ca_file: {ca}}}
      fail_if_body_not_matches_regexp: ["surely not there"]
  insecure:
    prober: http
    http:
      preferred_ip_protocol: ip4
      tls_config: {{insecure_skip_verify: true, server_name: localhost}}
  no_follow:
    prober: http
    http: {{preferred_ip_protocol: ip4, follow_redirects: false, valid_status_codes: [302]}}
  tcp_connect:
    prober: tcp
    tcp: {{preferred_ip_protocol: ip4}}
  tcp_tls:
    prober: tcp
    tcp:
      preferred_ip_protocol: ip4
      tls: true
      tls_config: {{ca_file: {ca}}}
      query_response:
      - {{send: "GET /bytes/3 HTTP/1.0\r\n\r"}}
      - {{expect: "^HTTP/1.. (200) "}}
  starttls:
    prober: tcp
    tcp:
      preferred_ip_protocol: ip4
      tls_config: {{ca_file: {ca}}}
      query_response:
      - {{starttls: true}}
      - {{send: "GET /bytes/3 HTTP/1.0\r\n\r"}}
      - {{expect: "surely not there"}}
"#
    );
    write(folder, "blackbox.yml", &text)
}

/// All of its metrics exist here, and a metric that has one true value has it here too.
#[test]
fn blackbox_exporter_tells_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, http, https) = origin(&ca, &[]);
    let config = config(folder.path(), &ca);
    let test = "the exporter beside blackbox_exporter";
    let Some((_theirs, theirs)) = blackbox(test, &config) else {
        return;
    };
    let (_ours, ours) = exporter(&config);
    let plain = http.trim_start_matches("http://");
    for (module, target) in [
        ("http_2xx", format!("{https}/bytes/1000")),
        ("http_2xx", format!("{http}/bytes/1000")),
        ("http_2xx", format!("{plain}/bytes/0")),
        ("http_2xx", format!("{https}/redirect/2")),
        ("http_2xx", format!("{https}/status/404")),
        ("http_2xx", "http://127.0.0.1:9/".into()),
        ("http_1", format!("{https}/bytes/1000")),
        ("insecure", format!("{https}/bytes/10")),
        ("no_follow", format!("{http}/redirect/1")),
        ("tcp_connect", plain.into()),
        ("tcp_connect", "127.0.0.1:9".into()),
        ("tcp_tls", https.trim_start_matches("https://").into()),
        ("starttls", https.trim_start_matches("https://").into()),
    ] {
        compare(
            module,
            &target,
            &probe(theirs, module, &target),
            &probe(ours, module, &target),
        );
    }
}

pub(super) fn compare(
    module: &str,
    target: &str,
    theirs: &std::collections::BTreeMap<String, f64>,
    ours: &std::collections::BTreeMap<String, f64>,
) {
    let ours: std::collections::BTreeMap<String, f64> = ours
        .iter()
        .map(|(sample, value)| (without_serial_number(sample), *value))
        .collect();
    for (sample, value) in theirs {
        let name = sample.split('{').next().unwrap();
        let Some(our) = ours.get(sample) else {
            panic!("{module} {target}: {sample} is missing; there are {ours:#?}");
        };
        let same = our.to_bits() == value.to_bits() || (our.is_nan() && value.is_nan());
        assert!(
            same || !EQUAL.contains(&name),
            "{module} {target}: {sample} is {our}, and {value} there"
        );
    }
}

/// Debian's blackbox_exporter does not have this label yet.
fn without_serial_number(sample: &str) -> String {
    let Some((before, rest)) = sample.split_once("serialnumber=\"") else {
        return sample.to_owned();
    };
    let (number, after) = rest.split_once("\",").unwrap();
    assert!(number.bytes().all(|b| b.is_ascii_hexdigit()), "{sample}");
    [before, after].concat()
}

#[test]
fn promtool_finds_the_metrics_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, _, https) = origin(&ca, &[]);
    let config = config(folder.path(), &ca);
    let (_ours, ours) = exporter(&config);
    for path in [
        format!("/probe?module=http_2xx&target={https}/bytes/10"),
        "/metrics".into(),
    ] {
        let text = write(folder.path(), "metrics", &get(ours, &path).1);
        let mut command = Command::new("promtool");
        command
            .args(["check", "metrics"])
            .stdin(std::fs::File::open(text).unwrap());
        let Ok(checked) = command.output() else {
            return skip::lacking("metrics before promtool", "promtool");
        };
        let said = String::from_utf8(checked.stderr).unwrap();
        // It also complains about names of blackbox_exporter.
        let ours = said
            .lines()
            .filter(|line| !line.contains("probe_ssl_") && !line.contains("blackbox_"));
        let ours: Vec<&str> = ours.collect();
        assert!(ours.is_empty(), "{path}: {ours:#?}");
    }
}

#[test]
fn prometheus_scrapes_it_as_it_scrapes_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, http, https) = origin(&ca, &[]);
    let config = config(folder.path(), &ca);
    let (_ours, ours) = exporter(&config);
    let text = format!(
        r#"
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: itself
    static_configs: [{{targets: ["{ours}"]}}]
  - job_name: probes
    metrics_path: /probe
    params: {{module: [http_2xx]}}
    static_configs: [{{targets: ["{https}/bytes/10", "{http}/bytes/10"]}}]
    relabel_configs:
      - {{source_labels: [__address__], target_label: __param_target}}
      - {{source_labels: [__param_target], target_label: instance}}
      - {{target_label: __address__, replacement: "{ours}"}}
"#
    );
    let file = write(folder.path(), "prometheus.yml", &text);
    let at = free();
    let arguments = [
        format!("--config.file={}", file.display()),
        format!("--web.listen-address={at}"),
        "--enable-feature=native-histograms".to_owned(),
        format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        ),
    ];
    let Some(_prometheus) = program(
        "the exporter before Prometheus",
        "prometheus",
        &arguments,
        at,
    ) else {
        return;
    };
    let result = |query: &str| {
        let (_, body) = get(at, &format!("/api/v1/query?query={query}"));
        let answer: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        answer["data"]["result"][0]["value"][1].clone()
    };
    let asked = "count(probe_success==1)%20and%20count(probe_http_round_trips)";
    let both = eventually(|| (result(asked) == "2").then_some(()));
    assert!(both.is_some(), "{}", result(asked));
    // Only a native histogram has a separate count and a quantile without `le`.
    let durations = "roundtrip_exporter_probe_duration_seconds";
    let native =
        format!("histogram_count({durations})>=2%20and%20histogram_quantile(0.5,{durations})>0");
    await_some("histograms", || result(&native).as_str().map(drop));
    let (_, own) = get(ours, "/metrics");
    let probes = "roundtrip_exporter_probes_total{module=\"http_2xx\",outcome=\"success\"}";
    assert!(samples(&own)[probes] >= 2.0, "{own}");
}

#[test]
fn promtool_accepts_the_alert_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus");
    let mut command = Command::new("promtool");
    command
        .args(["test", "rules", "rules_test.yml"])
        .current_dir(folder);
    match command.output() {
        Ok(tested) => assert!(tested.status.success(), "{tested:?}"),
        Err(_) => skip::lacking("alert rules before promtool", "promtool"),
    }
}

/// Every metric of the dashboard and of the rules exists.
#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, http, https) = origin(&ca, &["--think", "60ms"]);
    let config = config(folder.path(), &ca);
    let (_ours, ours) = exporter(&config);
    let mut there = probe(ours, "http_2xx", &format!("{https}/bytes/10"));
    there.extend(probe(ours, "http_2xx", &format!("{http}/bytes/10")));
    let dashboard = include_str!("../../../../../packaging/prometheus/dashboard.json");
    let rules = include_str!("../../../../../packaging/prometheus/rules.yml");
    let asked = [dashboard, rules].concat();
    let words = asked.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let words: Vec<&str> = words.filter(|word| word.starts_with("probe_")).collect();
    assert!(words.len() > 12, "{words:?}");
    for word in words {
        let known = there
            .keys()
            .any(|sample| sample.split('{').next() == Some(word));
        assert!(known, "{word}");
    }
}
