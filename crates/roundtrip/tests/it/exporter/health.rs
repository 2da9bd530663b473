//! The `grpc` prober, with a server by gRPC's own library, beside blackbox_exporter.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, KeyPair};

use super::beside::{blackbox, compare};
use super::scene::{exporter, origin, probe, write};
use crate::process::Process;
use crate::skip;

const PYTHON: &str = "/usr/bin/python3";

/// Modules without TLS: name, settings, whether the probe succeeds, and gRPC's code.
const MODULES: [(&str, &str, bool, u32); 7] = [
    ("whole", "", true, 0),
    ("down", "service: down", false, 0),
    ("unset", "service: unset", false, 0),
    ("gone", "service: gone", false, 0),
    ("missing", "service: nothing", false, 5),
    ("late", "service: late", false, 15),
    ("locked", "service: secret", false, 16),
];

/// The server's port; its certificate is for `localhost`.
fn server(certificate: Option<[&Path; 2]>) -> (Process, u16) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/exporter/health.py");
    let mut command = Command::new(PYTHON);
    command.arg(script).args(certificate.into_iter().flatten());
    command.stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    (Process(child), line.trim().parse().unwrap())
}

fn has_grpc(test: &str) -> bool {
    let tried = Command::new(PYTHON).args(["-c", "import grpc"]).output();
    let has = tried.is_ok_and(|output| output.status.success());
    if !has {
        skip::lacking(test, "python3-grpcio");
    }
    has
}

#[test]
fn services_have_the_health_that_blackbox_exporter_sees() {
    let subject = "grpc probes";
    if !has_grpc(subject) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["localhost".into()]).unwrap();
    let certificate = own.self_signed(&key).unwrap().pem();
    let key = write(folder.path(), "key.pem", &key.serialize_pem());
    let ca = write(folder.path(), "ca.pem", &certificate);
    let (_clear, clear) = server(None);
    let (_secure, secure) = server(Some([&key, &ca]));
    let ca = ca.display();
    let mut text = String::from("modules:\n");
    for (name, settings, ..) in MODULES {
        writeln!(text, "  {name}: {{prober: grpc, timeout: 9s, grpc: {{preferred_ip_protocol: ip4, {settings}}}}}").unwrap();
    }
    writeln!(text, "  tls: {{prober: grpc, timeout: 9s, grpc: {{preferred_ip_protocol: ip4, tls: true, tls_config: {{ca_file: {ca}}}}}}}").unwrap();
    writeln!(text, "  named: {{prober: grpc, timeout: 9s, grpc: {{preferred_ip_protocol: ip4, tls: true, tls_config: {{ca_file: {ca}, server_name: localhost}}}}}}").unwrap();
    let config = write(folder.path(), "b.yml", &text);
    let (_running, ours) = exporter(&config);
    let beside = blackbox(subject, &config);
    let localhost = |port: u16| format!("localhost:{port}");
    let plain = MODULES.map(|(name, _, succeeds, code)| (name, localhost(clear), succeeds, code));
    let others = [
        ("tls", localhost(secure), true, 0),
        ("tls", format!("https://localhost:{secure}/x"), true, 0),
        ("named", format!("127.0.0.1:{secure}"), true, 0),
        ("tls", localhost(clear), false, 14),
        ("whole", "127.0.0.1:9".into(), false, 14),
        ("whole", "nowhere.invalid:9".into(), false, 0),
    ];
    for (module, target, succeeds, code) in plain.into_iter().chain(others) {
        let found = probe(ours, module, &target);
        let seen = [found["probe_success"], found["probe_grpc_status_code"]];
        let expected = [u32::from(succeeds), code];
        assert_eq!(seen.map(|is| is as u32), expected, "{module}: {found:#?}");
        if let Some((_, theirs)) = &beside {
            let mut theirs = probe(*theirs, module, &target);
            // Without TLS, this version says that the certificate expired in 1970.
            theirs.retain(|name, value| name != "probe_ssl_earliest_cert_expiry" || *value > 0.0);
            compare(module, &target, &theirs, &found);
        }
    }
    let found = probe(ours, "whole", &localhost(clear));
    assert_eq!(found["probe_http_round_trips"].to_string(), "2");
}

/// A setting that is newer than the blackbox_exporter of Debian, and a server that does not speak
/// gRPC.
#[test]
fn metadata_is_sent_and_other_servers_are_told_apart() {
    if !has_grpc("metadata of grpc probes") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "modules:\n  key: {prober: grpc, grpc: {service: secret, metadata: {X-Key: [open]}}}\n  \
                whole: {prober: grpc}\n";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let (_server, port) = server(None);
    let found = probe(ours, "key", &format!("127.0.0.1:{port}"));
    assert!(found["probe_success"] > 0.0, "{found:#?}");
    let (_origin, http, _) = origin(&folder.path().join("ca.pem"), &[]);
    let found = probe(ours, "whole", http.trim_start_matches("http://"));
    assert!(found["probe_success"] < 1.0, "{found:#?}");
    assert!(found["probe_grpc_status_code"] > 0.0, "{found:#?}");
}
