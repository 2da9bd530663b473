//! Configuration files as people use them, and the errors in invalid ones.

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
  grpc:
    prober: grpc
    grpc:
      tls: true
      preferred_ip_protocol: "ip4"
  grpc_plain:
    prober: grpc
    grpc:
      tls: false
      service: "service1"
  icmp:
    prober: icmp
  icmp_ttl5:
    prober: icmp
    timeout: 5s
    icmp:
      ttl: 5
  talk:
    prober: websocket
"#;

#[test]
fn usual_files_are_read_and_what_is_missing_is_told_with_its_place() {
    let read = ProbeModules::parse(USUAL).unwrap();
    let names: Vec<&str> = read.names().collect();
    assert_eq!(
        names,
        [
            "grpc",
            "grpc_plain",
            "http_2xx",
            "http_post_2xx",
            "icmp",
            "icmp_ttl5",
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
    assert_eq!(missing, [("talk", 56, "prober: websocket")]);
    assert!(
        read.unsupported()[0]
            .to_string()
            .starts_with("line 56, column 13: module")
    );
}

#[test]
fn errors_name_their_line() {
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

/// A module with these settings in its table.
fn module(prober: &str, settings: &str) -> String {
    let name = if prober == "dns" {
        "query_name: example.com, "
    } else {
        ""
    };
    format!("modules: {{a: {{prober: {prober}, {prober}: {{{name}{settings}}}}}}}\n")
}

/// Tables and settings may be empty; words that blackbox_exporter reads in its own way keep their
/// meaning.
#[test]
fn files_of_blackbox_exporter_are_accepted() {
    for text in [
        "modules:\n",
        "modules:\n  a:\n    prober: http\n    timeout:\n    http:\n    tcp:\n    dns:\n",
        "modules:\n  a:\n    prober: tcp\n    tcp:\n      query_response:\n      tls_config:\n",
        "modules:\n  a: &a\n    prober: http\n  b:\n    <<: *a\n    timeout: 1.5s\n",
        "---\nmodules: {a: {prober: http, http: {follow_redirects: , headers: }}}\n...\n",
    ] {
        let read = ProbeModules::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(read.unsupported().is_empty(), "{text}");
    }
    for (prober, settings) in [
        ("http", "preferred_ip_protocol: ipv4"),
        ("http", "preferred_ip_protocol: ''"),
        (
            "http",
            "headers: {A: 1, B: true, C: null}, valid_status_codes: [-1, 99999]",
        ),
        ("http", "follow_redirects: yes, fail_if_ssl: On"),
        ("http", "body_size_limit: 1.5MB"),
        (
            "http",
            "compression: gzip, headers: {Accept-Encoding: 'br;q=1.0, gzip;q=0.9'}",
        ),
        ("http", "compression: gzip, headers: {Accept-Encoding: '*'}"),
        ("http", "basic_auth: {username_file: /u, password_file: /p}"),
        (
            "http",
            "oauth2: {client_id: a, client_secret: b, token_url: 'http://x/', scopes: [c]}",
        ),
        (
            "http",
            "http_headers: {A: {values: [b], secrets: [c], files: [/d]}}",
        ),
        (
            "http",
            "proxy_url: 'http://a:1', no_proxy: 'b', proxy_connect_header: {A: [b]}",
        ),
        (
            "http",
            "proxy_from_environment: true, skip_resolve_phase_with_proxy: true",
        ),
        (
            "http",
            "enable_http3: true, enable_http2: false, valid_http_versions: [HTTP/3.0]",
        ),
        (
            "tcp",
            "source_ip_address: 127.0.0.1, query_response: [{send: 1, expect: 2}]",
        ),
        (
            "tcp",
            "query_response: [{expect: '(a)', labels: [{name: x, value: '${1}'}]}]",
        ),
        (
            "tcp",
            "query_response: [{expect_bytes: S}, {starttls: true}]",
        ),
        (
            "dns",
            "source_ip_address: '::1', query_type: '', valid_rcodes: []",
        ),
        ("dns", "transport_protocol: ''"),
        (
            "icmp",
            "ttl: 255, payload_size: 65507, dont_fragment: true, source_ip_address: 127.0.0.1",
        ),
        ("icmp", "ttl: 0, payload_size:"),
        ("grpc", "metadata: {a: [b, c]}, service: , tls_config: {}"),
    ] {
        let read = ProbeModules::parse(&module(prober, settings));
        let read = read.unwrap_or_else(|error| panic!("{settings}: {error}"));
        assert!(read.unsupported().is_empty(), "{settings}");
    }
}

#[test]
fn contradictions_are_told_with_their_place() {
    for (prober, settings) in [
        ("http", "bearer_token: a, bearer_token_file: b"),
        ("http", "bearer_token: a, basic_auth: {username: u}"),
        (
            "http",
            "basic_auth: {username: u, password: p, password_file: f}",
        ),
        (
            "http",
            "authorization: {credentials: a, credentials_file: b}",
        ),
        ("http", "authorization: {type: Basic, credentials: a}"),
        ("http", "oauth2: {client_secret: b, token_url: 'http://x/'}"),
        ("http", "body: a, body_file: b"),
        (
            "http",
            "compression: gzip, headers: {accEpt-enCoding: deflate}",
        ),
        (
            "http",
            "compression: gzip, headers: {Accept-Encoding: '*;q=0.0'}",
        ),
        ("http", "compression: zstd"),
        ("http", "enable_http3: true"),
        (
            "http",
            "enable_http3: true, enable_http2: false, valid_http_versions: [HTTP/1.1]",
        ),
        ("http", "valid_http_versions: [HTTP/3.0]"),
        (
            "http",
            "proxy_url: 'http://a:1', proxy_from_environment: true",
        ),
        (
            "http",
            "tls_config: {min_version: TLS13, max_version: TLS12}",
        ),
        ("http", "tls_config: {cert_file: /a}"),
        ("tcp", "query_response: [{expect: a, expect_bytes: b}]"),
        ("tcp", "source_ip_address: foo"),
        ("dns", "dns_over_tls: true"),
        ("icmp", "ttl: 256"),
        ("icmp", "ttl: -1"),
        ("icmp", "payload_size: -1"),
        ("icmp", "source_ip_address: nowhere"),
        ("grpc", "tls_config: {cert_file: a}"),
        ("unix", "tls: true"),
        ("unix", "query_response: [{starttls: true}]"),
        ("unix", "source_ip_address: 127.0.0.1"),
        ("http", "fail_if_header_matches: [{header: A, regexp: ''}]"),
        (
            "http",
            "fail_if_header_not_matches: [{header: '', regexp: a}]",
        ),
    ] {
        let error = ProbeModules::parse(&module(prober, settings)).unwrap_err();
        assert!(error.starts_with("line 1, column "), "{settings}: {error}");
    }
    let read = ProbeModules::parse(&module("websocket", "x: y")).unwrap();
    assert_eq!(read.unsupported().len(), 1);
    for socks in [
        "proxy_url: 'socks5://me:pa55@a:1'",
        "oauth2: {client_id: a, token_url: b, proxy_url: 'socks5://me:pa55@a:1'}",
    ] {
        let read = ProbeModules::parse(&module("http", socks)).unwrap();
        let told = read.unsupported()[0].to_string();
        assert!(
            told.contains("proxy_url") && !told.contains("pa55"),
            "{told}"
        );
    }
}

#[test]
fn a_proxy_without_a_port_has_that_of_its_scheme() {
    for (url, port) in [
        ("http://a", 80),
        ("https://a", 443),
        ("http://a:3128", 3128),
    ] {
        let text = module("http", &format!("proxy_url: '{url}'"));
        let read = ProbeModules::parse(&text).unwrap();
        let Some(ModuleKind::Http(http)) = read.modules.values().next().map(|m| &m.kind) else {
            panic!("{text}");
        };
        assert_eq!(http.proxy().unwrap().unwrap().0.port, port, "{url}");
    }
}
