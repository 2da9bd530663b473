//! What a module sends, and how it judges the answer, as blackbox_exporter does.

use super::beside::{blackbox, compare};
use super::redirects::redirect;
use super::scene::{exporter, get, probe, write};
use crate::servers::{answering, ok};

/// Probes of one server, whose answers say what they were asked.
const MODULES: &str = r#"
modules:
  plain: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ['^GET /\S* \[\] ']}}
  get_with_body: {prober: http, http: {preferred_ip_protocol: ip4, body: a=b, fail_if_body_not_matches_regexp: ['^GET ']}}
  post: {prober: http, http: {preferred_ip_protocol: ip4, method: POST, body: a=b, fail_if_body_not_matches_regexp: ['^POST /\S* \[\] ']}}
  gzip: {prober: http, http: {preferred_ip_protocol: ip4, compression: gzip}}
  gzip_and_pattern: {prober: http, http: {preferred_ip_protocol: ip4, compression: gzip, fail_if_body_not_matches_regexp: [x]}}
  deflate: {prober: http, http: {preferred_ip_protocol: ip4, compression: deflate}}
  json: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: ['{"status":"UP"}']}}
  missing: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: [surely not there]}}
  limit: {prober: http, http: {preferred_ip_protocol: ip4, body_size_limit: 5B}}
  six: {prober: http, http: {preferred_ip_protocol: ip6, ip_protocol_fallback: false}}
  cookies: {prober: http, http: {preferred_ip_protocol: ip4}}
"#;

/// The parts of a request's head that tests look at: method, path, and the fields that clients add.
fn told(head: &str) -> String {
    let first = head.lines().next().unwrap_or_default();
    let added = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        ["accept", "accept-encoding", "content-type"].contains(&name.to_ascii_lowercase().as_str())
    });
    let added: Vec<&str> = added.collect();
    let first = first.trim_end_matches(" HTTP/1.1");
    format!("{first} {added:?} end")
}

#[test]
fn requests_and_verdicts_are_those_of_blackbox_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "b.yml", MODULES);
    let at = answering(|head, _| match head.split(' ').nth(1) {
        Some("/json") => ok(r#"{"status":"UP"}"#),
        Some("/short") => ok("x"),
        Some("/none") => "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx".into(),
        Some("/empty") => "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n".into(),
        Some("/cookie") if head.contains("Cookie: s=1") => ok("in"),
        Some("/cookie") => {
            redirect("/cookie").replace("\r\n\r\n", "\r\nSet-Cookie: s=1; Path=/\r\n\r\n")
        }
        _ => ok(&told(head)),
    });
    let (_running, ours) = exporter(&config);
    let theirs = blackbox("requests beside blackbox_exporter", &config);
    for (module, path, success) in [
        ("plain", "/", 1.0),
        ("get_with_body", "/", 1.0),
        ("post", "/", 1.0),
        ("gzip", "/", 0.0),
        ("gzip_and_pattern", "/", 0.0),
        ("deflate", "/short", 0.0),
        ("json", "/json", 1.0),
        ("json", "/", 0.0),
        ("missing", "/none", 0.0),
        ("missing", "/json", 0.0),
        ("limit", "/json", 0.0),
        ("cookies", "/cookie", 1.0),
        ("cookies", "/empty", 1.0),
        ("six", "/", 0.0),
    ] {
        let target = format!("http://{at}{path}");
        let found = probe(ours, module, &target);
        assert_eq!(
            found["probe_success"].to_string(),
            success.to_string(),
            "{module} {path}"
        );
        if let Some((_, theirs)) = &theirs {
            compare(module, &target, &probe(*theirs, module, &target), &found);
        }
    }
    // A failed lookup has no further phases, and a target that is not a URL has no address.
    let found = probe(ours, "plain", "http://name.invalid/");
    assert!(
        !found.contains_key("probe_http_duration_seconds{phase=\"tls\"}"),
        "{found:#?}"
    );
    let found = probe(ours, "plain", "http://a%20b/");
    assert!(found["probe_http_status_code"] < 1.0 && !found.contains_key("probe_ip_protocol"));
}

#[test]
fn a_token_is_fetched_for_the_probe() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = answering(|head, _| {
        // This server accepts credentials only in the body (RFC 6749 §2.3.1).
        if head.contains("Authorization: ") {
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
        } else {
            ok(r#"{"access_token":"t0ken","token_type":"bearer","expires_in":60}"#)
        }
    });
    let asked = answering(|head, _| {
        let is_known = head.contains("Authorization: Bearer t0ken\r\n");
        ok(if is_known { "known" } else { "stranger" })
    });
    let text = format!(
        "modules: {{m: {{prober: http, http: {{preferred_ip_protocol: ip4, fail_if_body_not_matches_regexp: [known], \
         oauth2: {{client_id: a, client_secret: b, token_url: 'http://{tokens}/'}}}}}}}}\n"
    );
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", &text));
    let found = probe(ours, "m", &format!("http://{asked}/"));
    assert!(found["probe_success"] > 0.0, "{found:#?}");
}

#[test]
fn a_module_has_one_host_and_debug_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = "modules: {m: {prober: http, http: {headers: {Host: a.example, Cookie: s3cret}}}}\n";
    let (_running, ours) = exporter(&write(folder.path(), "b.yml", text));
    let (status, said) = get(
        ours,
        "/probe?module=m&target=127.0.0.1:9&hostname=b.example",
    );
    assert!(
        status == 400 && said.contains("defined both"),
        "{status} {said}"
    );
    let (status, said) = get(
        ours,
        "/probe?module=m&target=127.0.0.1:9&hostname=a.example&debug=true",
    );
    let configuration = said.split("Module configuration:\n").nth(1).unwrap();
    assert!(
        status == 200 && configuration.contains("prober: http"),
        "{said}"
    );
    assert!(!said.contains("s3cret"), "{said}");
}
