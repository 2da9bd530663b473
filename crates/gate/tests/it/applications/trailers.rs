//! Trailers in both directions, through all pairs of protocols; Node and aioquic report what they
//! received. RFC 9110 §6.5.

use serde_json::{Value, json};

use crate::applications::stage::{Server, Stage, has_node, json as ask, node, python};
use crate::skip;

fn stage(backend: &Server, protocol: &str) -> Stage {
    Stage::new(&format!(
        "[upstream.backend]\nservers = [\"http://127.0.0.1:{}\"]\nprotocol = \"{protocol}\"\n\
         [[route]]\nupstream = \"backend\"\nauth = false\nremove = [\"X-Role-Of\"]\n",
        backend.port
    ))
}

fn backend(protocol: &str) -> Server {
    Server::start(node("trailers.mjs").args(["serve", protocol]))
}

/// Sends a request over HTTP/1.1 in clear text, or over another protocol with TLS.
fn asked(stage: &Stage, protocol: &str, path: &str, fields: &str) -> Value {
    let url = match protocol {
        "h1" => format!("http://{}{path}", stage.http()),
        _ => format!("https://{}{path}", stage.https()),
    };
    ask(node("trailers.mjs").args(["ask", protocol, &url, fields]))
}

/// Only trailers that may pass are passed on; a route's `remove` applies to requests.
fn passed(heard: &Value) {
    assert_eq!(heard["status"], 200, "{heard}");
    assert_eq!(heard["told"]["body"], "up", "{heard}");
    assert_eq!(heard["told"]["te"], "trailers", "{heard}");
    assert_eq!(heard["told"]["trailers"], json!({"x-sum": "up"}), "{heard}");
    assert_eq!(
        heard["trailers"],
        json!({"x-sum": "down", "x-role-of": "boss"}),
        "{heard}"
    );
}

#[test]
fn trailers_go_both_ways_between_all_protocols() {
    if !has_node("trailers_go_both_ways_between_all_protocols") {
        return;
    }
    for spoken in ["h1", "h2"] {
        let backend = backend(spoken);
        let stage = stage(&backend, spoken);
        for protocol in ["h1", "h2"] {
            passed(&asked(&stage, protocol, "/", r#"{"te": "trailers"}"#));
        }
    }
}

#[test]
fn a_client_of_http_1_that_does_not_ask_for_trailers_gets_none() {
    if !has_node("a_client_of_http_1_that_does_not_ask_for_trailers_gets_none") {
        return;
    }
    for spoken in ["h1", "h2"] {
        let backend = backend(spoken);
        let stage = stage(&backend, spoken);
        for fields in ["{}", r#"{"te": "gzip"}"#, r#"{"te": "xtrailers"}"#] {
            let heard = asked(&stage, "h1", "/", fields);
            assert_eq!(heard["status"], 200, "{heard}");
            assert_eq!(heard["told"]["te"], Value::Null, "{heard}");
            assert_eq!(heard["trailers"], json!({}), "{heard}");
            // Trailers that the client sends need no permission.
            assert_eq!(heard["told"]["trailers"], json!({"x-sum": "up"}), "{heard}");
        }
        // Others in the list are not reported.
        let heard = asked(&stage, "h1", "/", r#"{"te": "gzip;q=0.5, Trailers"}"#);
        passed(&heard);
        // HTTP/2 always allows trailers; the backend gets the client's own `TE`.
        let heard = asked(&stage, "h2", "/", "{}");
        assert_eq!(heard["told"]["te"], Value::Null, "{heard}");
        assert_eq!(
            heard["trailers"],
            json!({"x-sum": "down", "x-role-of": "boss"}),
            "{heard}"
        );
    }
}

#[test]
fn an_answer_that_ends_with_its_head_does_so_for_the_client() {
    if !has_node("an_answer_that_ends_with_its_head_does_so_for_the_client") {
        return;
    }
    let backend = backend("h2");
    let stage = stage(&backend, "h2");
    let heard = asked(&stage, "h2", "/only", "{}");
    assert_eq!(heard["sum"], "only", "{heard}");
    assert_eq!(heard["ended"], true, "{heard}");
}

#[test]
fn trailers_go_both_ways_over_http_3() {
    let test = "trailers_go_both_ways_over_http_3";
    if !has_node(test) {
        return;
    }
    let Ok(modules) = skip::installed("install-aioquic") else {
        return skip::lacking(test, "aioquic");
    };
    for spoken in ["h1", "h2"] {
        let backend = backend(spoken);
        let stage = stage(&backend, spoken);
        let mut command = python("h3_trailers.py");
        command.arg(&modules).arg(stage.https().port().to_string());
        passed(&ask(command.arg(stage.chain())));
    }
}
