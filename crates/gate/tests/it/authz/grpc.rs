//! Envoy's protocol, by gRPC's own library and Envoy's own definitions.

use std::process::Command;

use serde_json::json;

use super::{Asked, LOGIN};
use crate::applications::stage::{has_python, json as run};
use crate::skip;

#[test]
fn envoy_s_definitions_read_what_gate_answers() {
    let test = "envoy_s_definitions_read_what_gate_answers";
    if !has_python(test, "grpc") || !has_python(test, "google.protobuf") {
        return;
    }
    let Ok(definitions) = skip::installed("install-envoy-protos") else {
        return skip::lacking(test, "Envoy's definitions: scripts/install-envoy-protos");
    };
    let asked = Asked::new("");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/authz/envoy_client.py"
    );
    let mut command = Command::new("/usr/bin/python3");
    command.arg(script).arg(definitions);
    command.arg(asked.grpc().to_string());
    let (_, cookie) = asked.cookie.split_once(": ").unwrap();
    let heard = run(command.arg(cookie));
    let passed = json!({
        "code": 0, "remove": ["x-secret"],
        "fields": {"authorization": LOGIN, "x-client": "192.0.2.7", "x-site": "https://site.example"},
    });
    let mut claims = passed.clone();
    claims["remove"] = json!(["remote-user", "x-secret", "x_forwarded_user"]);
    let denied = json!({"code": 7, "status": 401, "challenge": true, "body": true});
    let refused = json!({"code": 7, "status": 403, "challenge": false, "body": true});
    let expected = json!({
        "passed": passed, "head": passed, "claims": claims,
        "open": {"code": 0, "remove": [], "fields": {}},
        "no token": denied, "bad token": denied,
        "two readings": refused, "no host": refused, "empty": refused,
        "many": 500,
    });
    assert_eq!(heard, expected, "{heard:#}");
    assert_eq!(asked.questions(), 1);
}

/// The guide's configuration: an unknown field, a wrong type or a wrong nesting is an error.
#[test]
fn envoy_s_definitions_read_the_configuration_of_the_guide() {
    let test = "envoy_s_definitions_read_the_configuration_of_the_guide";
    if !has_python(test, "yaml") || !has_python(test, "google.protobuf") {
        return;
    }
    let Ok(definitions) = skip::installed("install-envoy-protos") else {
        return skip::lacking(test, "Envoy's definitions: scripts/install-envoy-protos");
    };
    let here = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new("/usr/bin/python3");
    command.arg(format!("{here}/tests/it/authz/envoy_config.py"));
    command.arg(definitions);
    let said = run(command.arg(format!("{here}/../../packaging/authz/envoy.yaml")));
    let expected = json!({
        "filters": ["envoy.filters.http.ext_authz", "envoy.filters.http.router"],
        "fails open": false, "version": 2, "http/2": true, "slashes": 2, "port": 9191,
        "remote address": true,
        "removes first": ["x-forwarded-for"],
        "removes": ["forwarded", "x-forwarded-host", "x-forwarded-port", "x-real-ip"],
    });
    assert_eq!(said, expected, "{said:#}");
}
