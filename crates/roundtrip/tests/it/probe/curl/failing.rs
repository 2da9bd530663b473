//! Requests that fail: the same exit code, and the same variables up to the failure.

use roundtrip_origin::{Certificate, Fault, TlsVersions};

use super::compare;
use crate::probe::peer::{Site, free_port};

/// Asserts that both fail; returns curl's exit code, which `%{exitcode}` of `probe` equals.
fn both_fail(arguments: &[&str]) -> i32 {
    let pair = compare(arguments);
    assert_eq!(pair.probe.code, 1, "{arguments:?}: {}", pair.probe.err);
    pair.curl.code
}

#[test]
fn nobody_listens() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    assert_eq!(both_fail(&[&url]), 7);
    assert_eq!(both_fail(&["-L", "-I", &url]), 7);
}

#[test]
fn certificates_that_are_not_acceptable() {
    for certificate in [
        Certificate::Expired,
        Certificate::NotYet,
        Certificate::WrongName,
        Certificate::UnknownIssuer,
        Certificate::SelfSigned,
        Certificate::MissingIntermediate,
    ] {
        let site = Site::with(|knobs| knobs.tls.certificate = certificate);
        let (ca, url) = (site.path("ca.pem"), site.https("/"));
        assert_eq!(both_fail(&["--cacert", &ca, &url]), 60, "{certificate:?}");
    }
}

#[test]
fn versions_that_do_not_meet() {
    let site = Site::with(|knobs| knobs.tls.versions = TlsVersions::Tls12);
    let (ca, url) = (site.path("ca.pem"), site.https("/"));
    assert_eq!(both_fail(&["--cacert", &ca, "--tlsv1.3", &url]), 35);
}

#[test]
fn redirects_without_end() {
    let site = Site::start();
    let url = site.http("/loop");
    assert_eq!(both_fail(&["-L", "--max-redirs", "3", &url]), 47);
}

#[test]
fn connections_that_break() {
    for (fault, path, code) in [
        ("close@accept", "/", 52),
        ("close@request", "/", 52),
        ("reset@request", "/", 56),
        ("close@body", "/bytes/1000", 18),
        ("garbage@request", "/", 1),
    ] {
        let fault: Fault = fault.parse().unwrap();
        let site = Site::with(|knobs| knobs.fault = Some(fault));
        assert_eq!(both_fail(&[&site.http(path)]), code, "{fault}");
    }
}

#[test]
fn connections_that_break_over_tls() {
    for (fault, version, code) in [
        ("close@body", "--http1.1", 18),
        ("close@hello", "--http1.1", 35),
        ("reset@hello", "--http1.1", 35),
    ] {
        let fault: Fault = fault.parse().unwrap();
        let site = Site::with(|knobs| knobs.fault = Some(fault));
        let (ca, url) = (site.path("ca.pem"), site.https("/bytes/1000"));
        assert_eq!(
            both_fail(&["--cacert", &ca, version, &url]),
            code,
            "{fault}"
        );
    }
}

#[test]
fn time_that_runs_out() {
    for (fault, path) in [("stall@request", "/"), ("stall@body", "/bytes/1000")] {
        let fault: Fault = fault.parse().unwrap();
        let site = Site::with(|knobs| knobs.fault = Some(fault));
        let (ca, clear, secure) = (site.path("ca.pem"), site.http(path), site.https(path));
        let over = |version, url| both_fail(&["--cacert", &ca, version, "-m", "1", url]);
        std::thread::scope(|scope| {
            for (version, url) in [
                ("--http1.1", &clear),
                ("--http1.1", &secure),
                ("--http2", &secure),
            ] {
                scope.spawn(move || assert_eq!(over(version, url), 28, "{fault} {version}"));
            }
        });
    }
}

#[test]
fn a_name_that_is_none() {
    // Without a resolver that answers, both say that the name was not resolved: no Internet is
    // needed.
    assert_eq!(
        both_fail(&[
            "--resolve",
            "a.invalid:80:127.0.0.1",
            "-6",
            "http://a.invalid/"
        ]),
        6
    );
}
