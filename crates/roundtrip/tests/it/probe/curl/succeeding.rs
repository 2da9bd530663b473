//! Requests that are answered: versions, methods, bodies, redirects, over the origin and nginx.

use super::compare;
use crate::probe::peer::{Apache, Nginx, Site};

/// Each version that curl and `probe` name the same way.
const VERSIONS: [&str; 2] = ["--http1.1", "--http2"];

fn same_body(arguments: &[&str]) -> Vec<u8> {
    let pair = compare(arguments);
    assert_eq!(
        (pair.curl.code, pair.probe.code),
        (0, 0),
        "{}",
        pair.probe.err
    );
    assert_eq!(pair.probe_body, pair.curl_body, "{arguments:?}");
    pair.probe_body
}

/// Over clear text, and with both versions over TLS.
fn over_each(http: &str, https: &str, ca: &str, arguments: &[&str]) {
    same_body(&[arguments, &[http]].concat());
    for version in VERSIONS {
        same_body(&[&["--cacert", ca, version], arguments, &[https]].concat());
    }
}

fn over_origin(site: &Site, path: &str, arguments: &[&str]) {
    let ca = site.path("ca.pem");
    over_each(&site.http(path), &site.https(path), &ca, arguments);
}

#[test]
fn a_plain_request() {
    let site = Site::start();
    over_origin(&site, "/bytes/1000", &[]);
    over_origin(&site, "/bytes/0", &[]);
    over_origin(&site, "/chunked/5000", &[]);
    over_origin(&site, "/status/404", &[]);
    over_origin(&site, "/status/204", &[]);
    over_origin(&site, "/headers/3000", &[]);
}

#[test]
fn redirects_followed_and_not() {
    let site = Site::start();
    over_origin(&site, "/redirect/2", &[]);
    over_origin(&site, "/redirect/2", &["-L"]);
    over_origin(&site, "/redirect/1?status=307", &["-L", "-d", "a=b"]);
    over_origin(&site, "/redirect/1?status=303", &["-L", "-d", "a=b"]);
    over_origin(&site, "/redirect/1?status=301", &["-L", "-d", "a=b"]);
    // From one origin to another: a second connection.
    let ca = site.path("ca.pem");
    same_body(&["-L", "--cacert", &ca, &site.http("/secure")]);
}

#[test]
fn a_request_with_a_body() {
    let site = Site::start();
    let file = site.write("body.txt", "one\ntwo\n".repeat(100));
    let at = format!("@{file}");
    let large = site.write("large.txt", "x".repeat(100_000));
    let at_large = format!("@{large}");
    over_origin(&site, "/echo", &["-d", "a=b"]);
    over_origin(&site, "/echo", &["-d", "a=b", "-d", "c=d"]);
    over_origin(&site, "/echo", &["-d", &at]);
    over_origin(&site, "/echo", &["-d", &at_large]);
    over_origin(&site, "/echo", &["-d", "a=b", "-X", "PUT"]);
    over_origin(&site, "/echo", &["--data-raw", "@a"]);
}

#[test]
fn headers_users_and_encodings() {
    let site = Site::start();
    over_origin(&site, "/auth", &["-u", "user:secret"]);
    over_origin(&site, "/auth", &["-u", "user:wrong"]);
    over_origin(&site, "/head", &["-H", "X-A: b", "-H", "Accept:"]);
    over_origin(&site, "/bytes/1", &["-e", "http://elsewhere.example/"]);
    over_origin(&site, "/hints", &[]);
    over_origin(&site, "/gzip?bytes=5000", &[]);
    // The list of encodings that curl was built with is part of the size; ours is given to both.
    let encodings = ["--compressed", "-H", "Accept-Encoding: gzip"];
    over_origin(&site, "/gzip?bytes=5000", &encodings);
}

#[test]
fn only_the_head() {
    let site = Site::start();
    let ca = site.path("ca.pem");
    // The bodies differ on purpose: with -I, curl writes the head to the file, and the report of
    // `probe` has it.
    compare(&["-I", &site.http("/bytes/1000")]);
    for version in VERSIONS {
        compare(&["--cacert", &ca, version, "-I", &site.https("/bytes/1000")]);
    }
}

#[test]
fn nginx_over_each_version() {
    let nginx = Nginx::start("");
    for (path, arguments) in [
        ("/page", &[][..]),
        ("/none", &[]),
        ("/older", &[]),
        ("/older", &["-L"]),
    ] {
        over_each(
            &nginx.http(path),
            &nginx.https(path),
            &nginx.ca(),
            arguments,
        );
    }
}

#[test]
fn apache_over_each_version() {
    let apache = Apache::start("");
    for (path, arguments) in [("/page", &[][..]), ("/none", &[]), ("/old", &["-L"])] {
        over_each(
            &apache.http(path),
            &apache.https(path),
            &apache.ca(),
            arguments,
        );
    }
}

#[test]
fn without_verification() {
    let site = Site::start();
    for version in VERSIONS {
        same_body(&["-k", version, &site.https("/bytes/10")]);
    }
}
