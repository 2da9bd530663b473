//! Invalid answers: not HTTP, too large, too short, wrongly encoded, or redirected in circles.

use super::{assert_failure, message};
use crate::probe::peer::{OneAnswer, Site};
use crate::probe::report::report;
use crate::probe::run::{command, said};

fn to(answer: impl AsRef<[u8]>) -> crate::probe::report::Report {
    report(&["-m", "30", &OneAnswer::start(answer).url("/")])
}

#[test]
fn answers_that_are_not_http_are_quoted() {
    let ssh = to("SSH-2.0-OpenSSH_9.2\r\n");
    assert_failure(&ssh, "not-http", "body");
    assert!(
        message(&ssh).contains("SSH-2.0-OpenSSH_9.2"),
        "{}",
        message(&ssh)
    );
    // Characters that a terminal would obey are escaped.
    let escapes = to("\x1b[2J\x07\u{9b}31m");
    assert_failure(&escapes, "not-http", "body");
    assert!(
        !message(&escapes).chars().any(char::is_control),
        "{:?}",
        message(&escapes)
    );
    for broken in [
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
    ] {
        assert_failure(&to(broken), "not-http", "body");
    }
}

#[test]
fn clear_text_on_a_port_for_tls_and_the_other_way_round() {
    let site = Site::start();
    let clear = report(&["-m", "20", &site.https("/").replace("https", "http")]);
    assert_failure(&clear, "not-http", "body");
    let server = OneAnswer::start("HTTP/1.1 400 Bad Request\r\n\r\n");
    let tls = report(&["-m", "20", &server.url("/").replace("http", "https")]);
    assert_failure(&tls, "tls-failed", "tls");
}

#[test]
fn no_answer_at_all() {
    let report = to("");
    assert_failure(&report, "closed", "first_byte");
}

#[test]
fn a_head_without_end() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(400_000));
    assert_failure(&to(endless), "header-too-large", "body");
    let site = Site::start();
    assert_failure(
        &site.report(&[&site.http("/headers/1000000")]),
        "header-too-large",
        "body",
    );
    for bytes in [300_000, 1_000_000] {
        let url = site.https(&format!("/headers/{bytes}"));
        let report = site.report(&["--http2", &url]);
        assert_eq!(
            report.at("/failure/kind"),
            "header-too-large",
            "{}",
            message(&report)
        );
        assert_eq!(report.code, 1);
    }
    // Large, but still within bounds.
    let url = site.https("/headers/200000");
    site.report(&["--http2", &url]).assert_status(200);
    site.report(&["--http1.1", &url]).assert_status(200);
}

#[test]
fn a_body_that_is_cut_short() {
    let length = to("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!");
    assert_failure(&length, "body-cut-short", "body");
    assert!(message(&length).contains("5 of 10"), "{}", message(&length));
    let chunks = to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n");
    assert_failure(&chunks, "body-cut-short", "body");
    let site = Site::start();
    // If there are streams, the origin resets one.
    for (version, kind) in [
        ("--http1.1", "body-cut-short"),
        ("--http2", "reset"),
        ("--http3", "reset"),
    ] {
        let report = site.report(&[version, &site.https("/truncated/1000")]);
        assert_failure(&report, kind, "body");
        assert!(message(&report).contains("of 1000"), "{}", message(&report));
    }
}

/// RFC 9112 §9.8.
#[test]
fn a_body_whose_end_tls_did_not_announce_may_be_incomplete() {
    let (unknown, known) = (
        "HTTP/1.1 200 OK\r\n\r\nfive!",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfive!",
    );
    for (answer, notifies, is_noted) in [
        (unknown, false, true),
        (unknown, true, false),
        (known, false, false),
    ] {
        let server = OneAnswer::over_tls(answer, notifies);
        let report = report(&["-k", &server.https("/")]);
        report.assert_status(200);
        let notes = report.at("/notes").to_string();
        assert_eq!(notes.contains("close_notify"), is_noted, "{notes}");
    }
}

/// The server reads only the first part of the request.
#[test]
fn an_answer_to_an_upload_that_is_still_being_sent() {
    let large = "x".repeat(20 << 20);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("large");
    std::fs::write(&file, large).unwrap();
    let answer = "HTTP/1.1 413 Large\r\nContent-Length: 3\r\n\r\nno\n";
    let server = OneAnswer::reading_no_more(answer);
    let data = format!("@{}", file.display());
    let report = report(&["-H", "Expect:", "--data-binary", &data, &server.url("/")]);
    report.assert_status(413);
    let notes = report.at("/notes").to_string();
    assert!(notes.contains("of 20971520 bytes"), "{notes}");
}

#[test]
fn chunks_that_are_none() {
    for bad in [
        "x\r\n",
        "fffffffffffffffffff\r\n",
        "5\r\nfive!no\r\n",
        "-1\r\n",
    ] {
        let report = to(format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{bad}"
        ));
        let kind = report.at("/failure/kind").as_str().unwrap();
        assert!(
            ["not-http", "body-invalid", "body-cut-short"].contains(&kind),
            "{bad:?}: {kind}"
        );
        assert_eq!(report.code, 1);
    }
}

#[test]
fn an_encoding_that_is_a_lie() {
    let server = OneAnswer::start(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 11\r\n\r\nhello world",
    );
    let report = report(&["--compressed", &server.url("/")]);
    assert_failure(&report, "body-invalid", "body");
    assert!(message(&report).contains("gzip"), "{}", message(&report));
}

#[test]
fn circles_and_redirects_to_nowhere() {
    let site = Site::start();
    for url in [site.http("/loop"), site.https("/loop")] {
        let report = site.report(&["-L", &url]);
        assert_eq!(report.at("/failure/kind"), "too-many-redirects");
        assert_eq!(report.code, 1);
        assert!(message(&report).contains("/loop"), "{}", message(&report));
    }
    for place in ["gopher://x/", "http://[", "http://:80/"] {
        let server = OneAnswer::start(format!(
            "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
        ));
        let report = report(&["-L", &server.url("/")]);
        assert_eq!(report.at("/failure/kind"), "bad-redirect", "{place}");
        assert_eq!(report.code, 1);
    }
}

#[test]
fn interim_answers_without_end() {
    let flood = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100);
    let report = to(flood);
    assert_eq!(
        report.at("/failure/kind"),
        "not-http",
        "{}",
        message(&report)
    );
    assert_eq!(report.code, 1);
}

#[test]
fn a_disk_that_is_full() {
    let site = Site::start();
    let report = site.report(&["-o", "/dev/full", &site.http("/bytes/100000")]);
    assert_failure(&report, "local", "body");
}

#[test]
fn a_disk_that_is_full_has_no_room_for_the_report_either() {
    let site = Site::start();
    let url = site.http("/");
    for arguments in [&[url.as_str()][..], &["--json", &url], &["-w", "x", &url]] {
        let line = format!("exec \"$0\" probe {} > /dev/full", arguments.join(" "));
        let mut shell = command("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_roundtrip")]);
        let said = said(shell);
        assert_eq!(said.code, 1, "{arguments:?}: {said:?}");
        assert!(said.err.contains("cannot write the output"), "{said:?}");
    }
}
