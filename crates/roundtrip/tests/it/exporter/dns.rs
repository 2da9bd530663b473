//! The `dns` prober beside blackbox_exporter: the same metrics, the same verdicts, and the same
//! text of each record, since regular expressions see it.

mod server;

use std::fmt::Write;

use super::beside::{blackbox, compare};
use super::scene::{exporter, get, probe, write};
use server::{RECORDS, name_server};

/// Modules for a server at `ca`'s side: name, settings, and whether the probe succeeds.
const MODULES: [(&str, &str, bool); 19] = [
    ("a", "query_name: a.example, query_type: A", true),
    ("soa", "query_name: soa.example, query_type: SOA", true),
    (
        "tcp",
        "query_name: all.example, transport_protocol: tcp",
        true,
    ),
    ("cut", "query_name: cut.example, query_type: A", true),
    (
        "chaos",
        "query_name: chaos.example, query_type: TXT, query_class: CH",
        true,
    ),
    (
        "iterative",
        "query_name: rd.example, query_type: A, recursion_desired: false",
        true,
    ),
    (
        "missing",
        "query_name: missing.example, query_type: A",
        false,
    ),
    (
        "missing_is_fine",
        "query_name: missing.example, query_type: A, valid_rcodes: [NOERROR, NXDOMAIN]",
        true,
    ),
    (
        "matches",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_matches_regexp: ['192\\.0\\.2\\.7']}",
        false,
    ),
    (
        "matches_not",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_matches_regexp: ['198\\.51']}",
        true,
    ),
    (
        "all",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_all_match_regexp: ['192', IN]}",
        true,
    ),
    (
        "all_not",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_all_match_regexp: ['\\.7$']}",
        false,
    ),
    (
        "not",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_not_matches_regexp: ['\\.7$']}",
        false,
    ),
    (
        "none",
        "query_name: a.example, query_type: A, validate_answer_rrs: {fail_if_none_matches_regexp: [nothing, '\\.7$']}",
        true,
    ),
    (
        "none_there",
        "query_name: a.example, query_type: A, validate_additional_rrs: {fail_if_none_matches_regexp: ['.']}",
        false,
    ),
    (
        "authority",
        "query_name: missing.example, query_type: A, valid_rcodes: [NXDOMAIN], validate_authority_rrs: {fail_if_not_matches_regexp: ['^a\\.example\\.\t300\tIN\tSOA\t']}",
        true,
    ),
    (
        "authority_not",
        "query_name: missing.example, query_type: A, valid_rcodes: [NXDOMAIN], validate_authority_rrs: {fail_if_matches_regexp: [SOA]}",
        false,
    ),
    (
        "tls",
        "query_name: a.example, query_type: A, transport_protocol: tcp, dns_over_tls: true, tls_config: {ca_file: CA, server_name: localhost}",
        true,
    ),
    (
        "tls_untrusted",
        "query_name: a.example, query_type: A, transport_protocol: tcp, dns_over_tls: true, tls_config: {server_name: localhost}",
        false,
    ),
];

#[test]
fn name_servers_get_the_verdicts_of_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let servers = name_server(&ca);
    let mut text = String::from("modules:\n");
    for (name, settings, _) in MODULES {
        let settings = settings
            .replace("CA", &ca.display().to_string())
            .replace('\t', "\\t");
        writeln!(text, "  {name}: {{prober: dns, timeout: 5s, dns: {{preferred_ip_protocol: ip4, {settings}}}}}").unwrap();
    }
    let config = write(folder.path(), "b.yml", &text);
    let (_running, ours) = exporter(&config);
    let beside = blackbox("dns probes beside blackbox_exporter", &config);
    for (name, _, succeeds) in MODULES {
        let target = if name.starts_with("tls") {
            servers.tls
        } else {
            servers.clear
        }
        .to_string();
        let found = probe(ours, name, &target);
        let theirs = beside
            .as_ref()
            .map(|(_, theirs)| probe(*theirs, name, &target));
        if let Some(theirs) = &theirs {
            compare(name, &target, theirs, &found);
        }
        assert_eq!(
            found["probe_success"] > 0.0,
            succeeds,
            "{name}: {found:#?} {theirs:#?}"
        );
    }
    let found = probe(ours, "soa", &servers.clear.to_string());
    assert_eq!(found["probe_dns_serial"].to_string(), "2026112600");
    let found = probe(ours, "tcp", &servers.clear.to_string());
    assert_eq!(found["probe_dns_answer_rrs"] as usize, RECORDS.len());
}

/// Each record as blackbox_exporter writes it becomes a pattern that only the same text matches.
#[test]
fn records_have_the_text_that_blackbox_exporter_gives_them() {
    let folder = tempfile::tempdir().unwrap();
    let servers = name_server(&folder.path().join("ca.pem"));
    let all = "prober: dns, dns: {query_name: all.example, transport_protocol: tcp";
    let config = write(
        folder.path(),
        "a.yml",
        &format!("modules: {{all: {{{all}}}}}}}\n"),
    );
    let test = "records beside blackbox_exporter";
    let Some((_theirs, theirs)) = blackbox(test, &config) else {
        return;
    };
    let target = servers.clear;
    let (_, log) = get(
        theirs,
        &format!("/probe?module=all&target={target}&debug=true"),
    );
    let told = log
        .lines()
        .filter_map(|line| line.split_once("msg=\"Validating RR\" rr=\""));
    let texts: Vec<String> = told
        .map(|(_, text)| serde_json::from_str(&format!("\"{text}")).unwrap())
        .collect();
    assert_eq!(texts.len(), RECORDS.len(), "{log}");
    let mut modules = String::from("modules:\n");
    for (number, text) in texts.iter().enumerate() {
        let pattern = serde_json::Value::from(format!("^{}$", literal(text)));
        writeln!(modules, "  m{number}: {{{all}, validate_answer_rrs: {{fail_if_none_matches_regexp: [{pattern}]}}}}}}").unwrap();
    }
    let (_ours, ours) = exporter(&write(folder.path(), "b.yml", &modules));
    let mut differ = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        if probe(ours, &format!("m{number}"), &target.to_string())["probe_success"] < 1.0 {
            differ.push(text);
        }
    }
    let (_, ours) = get(
        ours,
        &format!("/probe?module=m0&target={target}&debug=true"),
    );
    assert!(differ.is_empty(), "{differ:#?}\n{ours}");
}

/// The pattern that matches this text only.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && c.is_ascii_graphic() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
