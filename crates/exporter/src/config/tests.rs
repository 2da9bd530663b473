//! Files as people have them, and what is wrong with others.

use super::*;

/// The shape of the file that Debian's package installs.
const USUAL: &str = r#"
modules:
  http_2xx:
    prober: http
    http:
      preferred_ip_protocol: "ip4"
  http_post_2xx:
    prober: http
    timeout: 5s
    http:
      method: POST
      headers: {Content-Type: application/json, X-Key: s3cret-value}
      body: '{}'
      basic_auth: {username: me, password: pa55}
      valid_status_codes: [200, 201]
      valid_http_versions: ["HTTP/1.1", "HTTP/2.0"]
      fail_if_not_ssl: true
      fail_if_body_not_matches_regexp: ["a+b"]
      fail_if_header_matches:
        - {header: Server, regexp: "^old", allow_missing: true}
      tls_config: {insecure_skip_verify: true, min_version: TLS12}
      body_size_limit: 10MB
      roundtrip: {strategy: h2+tls1.3, warm: true}
  tcp_connect:
    prober: tcp
  pop3s_banner:
    prober: tcp
    tcp:
      query_response:
      - expect: "^+OK"
      tls: true
  ssh_banner:
    prober: tcp
    tcp:
      query_response:
      - expect: "^SSH-2.0-"
      - send: "SSH-2.0-blackbox-ssh-check"
  icmp:
    prober: icmp
    icmp: {ttl: 5}
"#;

#[test]
fn usual_files_are_read_and_what_is_missing_is_told_with_its_place() {
    let text = USUAL.replace("^+OK", "^\\\\+OK");
    let read = ProbeModules::parse(&text).unwrap();
    let names: Vec<&str> = read.names().collect();
    assert_eq!(
        names,
        [
            "http_2xx",
            "http_post_2xx",
            "pop3s_banner",
            "ssh_banner",
            "tcp_connect"
        ]
    );
    let missing: Vec<(&str, u64, &str)> = read
        .unsupported()
        .iter()
        .map(|u| (u.module.as_str(), u.line, u.what.as_str()))
        .collect();
    assert_eq!(missing, [("icmp", 39, "prober: icmp")]);
    assert!(
        read.unsupported()[0]
            .to_string()
            .starts_with("line 39, column 13: module")
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line) in [
        ("modules:\n  a:\n    prober: http\n    htpp: {}\n", 4),
        ("modules:\n  a:\n    prober: http\n    timeout: 5\n", 4),
        (
            "modules:\n  a:\n    prober: http\n    http:\n      valid_status_codes: [x]\n",
            5,
        ),
        (
            "modules:\n  a:\n    prober: http\n    http:\n      fail_if_body_matches_regexp: ['(']\n",
            5,
        ),
        ("modules:\n  a:\n    prober: ftp\n", 3),
        (
            "modules:\n  a:\n    prober: http\n    http:\n      roundtrip: {strategy: h9}\n",
            5,
        ),
    ] {
        let error = ProbeModules::parse(text).unwrap_err();
        assert!(
            error.starts_with(&format!("line {line}")),
            "{text}: {error}"
        );
        assert!(error.lines().count() == 1 && error.len() < 200, "{error}");
    }
}

#[test]
fn no_text_panics() {
    for text in [
        "",
        "modules:",
        "- 1",
        "modules: {a: b}",
        "{",
        "&a [*a]",
        "a: !!binary x",
        "\u{0}",
    ] {
        let _ = ProbeModules::parse(text);
    }
}
