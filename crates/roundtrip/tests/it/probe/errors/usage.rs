//! Wrong usage: exit code 2, reported before anything is sent.

use crate::probe::peer::Site;
use crate::probe::run::{probe, said};
use crate::process::Said;

/// Asserts exit code 2, these words, and that nothing was sent to the server.
fn assert_usage(site: &Site, arguments: &[&str], words: &str) {
    let said = said(probe(arguments));
    assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
    assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    assert_calm(&said);
    assert_eq!(said.out, "", "{arguments:?}");
    assert_eq!(
        site.origin.stats().tcp_connections,
        0,
        "{arguments:?} connected"
    );
}

fn assert_calm(said: &Said) {
    for word in ["panicked", "RUST_BACKTRACE", "unwrap"] {
        assert!(!said.err.contains(word), "{}", said.err);
    }
}

#[test]
fn urls_that_are_none() {
    let site = Site::start();
    for url in [
        "",
        "http://",
        "http://[::1",
        "http://a b/",
        "http://x:99999/",
        "://",
        "http://user@",
        "https://exa mple",
        "http://\u{7f}/",
    ] {
        assert_usage(&site, &[url], "is not a URL");
    }
    for url in ["ftp://x/", "file:///etc/passwd", "gopher://x/"] {
        assert_usage(&site, &[url], "http, https and tcp are supported");
    }
    assert_usage(&site, &["tcp://x"], "needs a port");
    assert_usage(&site, &[], "URL");
    assert_usage(&site, &[&site.http("/"), "http://["], "is not a URL");
}

#[test]
fn strategies_that_contradict_the_url() {
    let site = Site::start();
    let (clear, secure) = (site.http("/"), site.https("/"));
    for (flags, url, why) in [
        (&["--http3"][..], &clear, "HTTP/3 needs https://"),
        (&["--strategy", "h1+clear"], &secure, "the URL says https"),
        (&["--tls1.3"], &clear, "the URL says http"),
        (&["--resume"], &clear, "resumption needs https://"),
        (&["--http3", "-x", "localhost:1"], &secure, "proxy"),
    ] {
        assert_usage(&site, &[flags, &[url.as_str()]].concat(), why);
    }
    // One bad URL is enough, and none of them is requested.
    assert_usage(
        &site,
        &["--http3", &secure, &clear],
        "HTTP/3 needs https://",
    );
}

#[test]
fn files_that_cannot_be_read() {
    let site = Site::start();
    let url = site.https("/");
    let missing = site.path("missing");
    let at = format!("@{missing}");
    for flag in ["-w", "-d", "-H"] {
        assert_usage(&site, &[flag, &at, &url], &missing);
    }
    let pem = site.path("client.pem");
    for flag in ["--cacert", "--cert"] {
        assert_usage(&site, &[flag, &missing, &url], &missing);
        let empty = site.write("empty.pem", "");
        assert_usage(&site, &[flag, &empty, &url], "contains no certificate");
        let directory = site.path("");
        assert_usage(&site, &[flag, &directory, &url], "cannot read");
    }
    assert_usage(&site, &["--cert", &pem, "--key", &missing, &url], &missing);
    let ca = site.path("ca.pem");
    assert_usage(
        &site,
        &["--cert", &pem, "--key", &ca, &url],
        "contains no private key",
    );
    assert_usage(&site, &["--key", &pem, &url], "--cert");
}

#[test]
fn keys_that_do_not_fit() {
    let (site, other) = (Site::start(), Site::start());
    let (certificate, key) = (site.path("client.pem"), other.path("client.pem"));
    assert_usage(
        &site,
        &["--cert", &certificate, "--key", &key, &site.https("/")],
        "do not match",
    );
}

#[test]
fn files_that_cannot_be_written() {
    let site = Site::start();
    let url = site.http("/");
    for flag in ["-o", "--html"] {
        assert_usage(
            &site,
            &[flag, "/nowhere/file", &url],
            "cannot write /nowhere/file",
        );
        assert_usage(&site, &[flag, "/", &url], "cannot write /");
    }
}

#[test]
fn words_that_mean_nothing() {
    let site = Site::start();
    let url = site.https("/");
    for (arguments, words) in [
        (&["--strategy", "quick"][..], "not a part of a strategy"),
        (&["--strategy", "h3+tfo"], "exclude each other"),
        (&["--strategy", ""], "--strategy"),
        (&["--http3", "--tls1.2"], "needs TLS 1.3"),
        (&["--http1.1", "--http2"], "cannot be used with"),
        (&["--strategy", "h1", "--http2"], "cannot be used with"),
        (&["--fail-if", "ttfb"], "QUANTITY COMPARISON VALUE"),
        (&["--fail-if", "speed > 3"], "known: total"),
        (&["--fail-if", "ttfb > soon"], "is not a value"),
        (&["-w", "%{http_code"], "never closes it"),
        (&["-w", "%header{x"], "never closes it"),
        (&["-m", "soon"], "a number of seconds"),
        (&["-m=-1"], "between 0 and"),
        (&["-m", "-1"], "between 0 and"),
        (&["-i", "-1"], "between 0 and"),
        (&["-c", "-1"], "1..="),
        (&["-m", "nan"], "between 0 and"),
        (&["-i", "inf"], "between 0 and"),
        (&["-c", "0"], "1..="),
        (&["--resolve", "x"], "HOST:PORT:ADDRESS"),
        (&["--connect-to", "x"], "HOST1:PORT1:HOST2:PORT2"),
        (&["-x", "socks5://x"], "only http:// and https:// proxies"),
        (&["--doh-url", "http://x"], "https://"),
        (&["--doh-url", ":"], "is not a URL"),
        (&["--interface", ""], "interface"),
        (&["--interface", "nowhere0"], "nowhere0"),
        (&["--interface", "192.0.2.77"], "192.0.2.77"),
        (&["-H", "nocolon"], "is not a header"),
        (&["-H", ": value"], "is not a header"),
        (&["-H", "A B: c"], "cannot be sent"),
        (&["-H", "A: b\r\nEvil: c"], "cannot be sent"),
        (&["-A", "a\nb"], "cannot be sent"),
        (&["-e", "a\r\nb"], "cannot be sent"),
        (&["-X", "GET / HTTP/1.1"], "cannot be sent"),
        (&["-X", ""], "cannot be sent"),
        (&["--json", "-w", "x"], "cannot be used with"),
        (&["--no-such-flag"], "unexpected argument"),
    ] {
        assert_usage(&site, &[arguments, &[&url]].concat(), words);
    }
}

#[test]
fn an_unknown_variable_is_named_and_no_failure() {
    let site = Site::start();
    let said = site.probe(&["-w", "%{nope}%{http_code}", &site.http("/")]);
    assert_eq!((said.code, said.out.as_str()), (0, "200"));
    assert_eq!(said.err.matches("'nope'").count(), 1, "{}", said.err);
}
