//! Workflows checked by actionlint, and the chart by helm. Building these tools needs Go; if they
//! are missing, the tests report that and pass.

use std::process::Command;

use super::{script, succeeded};
use crate::skip;

/// The program that one of `scripts/install-…` has made earlier.
pub(super) fn tool(test: &str, installer: &str) -> Option<String> {
    let found = skip::installed(installer);
    found
        .inspect_err(|why| eprintln!("SKIPPED {test}: {why}"))
        .ok()
}

#[test]
fn actionlint_finds_no_fault_in_the_workflows() {
    const TEST: &str = "actionlint_finds_no_fault_in_the_workflows";
    let Some(actionlint) = tool(TEST, "install-actionlint") else {
        return;
    };
    let files = [
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "docs/examples/round-trips.yml",
    ];
    let mut command = Command::new(actionlint);
    command
        .args(files)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    assert_eq!(succeeded(&mut command), "");
}

#[test]
fn helm_renders_the_chart_and_gate_takes_its_configuration() {
    const TEST: &str = "helm_renders_the_chart_and_gate_takes_its_configuration";
    if tool(TEST, "install-helm").is_none() {
        return;
    }
    let told = succeeded(script("scripts/try-chart").arg(env!("CARGO_BIN_EXE_roundtrip")));
    // With a budget for evictions, an autoscaler, and figures for Prometheus.
    assert!(told.contains("gate.yaml: 7 objects"), "{told}");
    assert!(told.contains("authz.yaml: 4 objects"), "{told}");
    assert!(told.contains("exporter.yaml: 5 objects"), "{told}");
    assert!(told.contains("origin.yaml: 2 objects"), "{told}");
    assert_eq!(told.matches("gate would start").count(), 2, "{told}");
}
