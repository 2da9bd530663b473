//! The output: JSON with every key of the contract, NDJSON, the page, the streams.

use serde_json::Value;

use crate::probe::peer::Site;
use crate::probe::run::{Job, probe, said};

/// The contract: these keys are always there, whatever happened.
const RESULT: &str = "url run hop asked strategy ok error failure total_ms ttfb_ms rtt_ms round_trips \
    expected_round_trips extra_round_trips reused primed waited_for phases client_work name attempts tcp quic tls http \
    echo notes findings";
const PHASE: &str = "name start_ms ms round_trips waited_for";
const TCP: &str = "fast_open retransmits local peer";
const FAST_OPEN: &str = "asked data_acked saved_round_trips cookie data_sent";
const TLS: &str =
    "version cipher group resumed early_data hello_retry alpn flights chain tickets verify_result";
const HTTP: &str =
    "version status method headers request_bytes header_bytes downloaded_bytes server_timing";
const SUMMARY: &str =
    "n ok failed success_rate failures total_ms ttfb_ms rtt_ms round_trips waited_for phases";

fn assert_keys(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "no {key} in {value}");
    }
}

fn assert_result(result: &Value) {
    assert_keys(result, RESULT);
    for phase in result["phases"].as_array().unwrap() {
        assert_keys(phase, PHASE);
        assert_keys(&phase["waited_for"], "network_ms server_ms client_ms");
    }
}

#[test]
fn json_keeps_the_contract() {
    let site = Site::start();
    let report = site.report(&["--http2", "-c", "2", "-i", "0", &site.https("/")]);
    assert_eq!(report.document["schema"], "roundtrip/probe/1");
    assert_keys(&report.document["summary"], SUMMARY);
    for result in report.results() {
        assert_result(result);
        assert_keys(&result["tcp"], TCP);
        assert_keys(&result["tcp"]["fast_open"], FAST_OPEN);
        assert_keys(&result["tls"], TLS);
        assert_keys(&result["http"], HTTP);
    }
    // The phases add up to the whole.
    let phases = report.at("/phases").as_array().unwrap();
    let sum: f64 = phases.iter().map(|p| p["ms"].as_f64().unwrap()).sum();
    let total = report.at("/total_ms").as_f64().unwrap();
    assert!(
        (sum - total).abs() < 0.01 * phases.len() as f64,
        "{sum} of {total}"
    );
    let failed = crate::probe::report::report(&["http://127.0.0.1:1/"]);
    assert_result(failed.last());
    assert_keys(failed.at("/failure"), "kind phase message advice");
}

#[test]
fn ndjson_is_one_result_a_line() {
    let site = Site::start();
    let said = site.probe(&[
        "--ndjson",
        "-L",
        "-c",
        "2",
        "-i",
        "0",
        &site.http("/redirect/1"),
    ]);
    let lines: Vec<Value> = said
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    lines.iter().for_each(assert_result);
}

#[test]
fn the_page_is_written_and_needs_nothing_else() {
    let site = Site::start();
    let file = site.path("page.html");
    let said = site.probe(&[
        "-q",
        "--html",
        &file,
        "-c",
        "3",
        "-i",
        "0",
        &site.https("/"),
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<svg"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_of_hostile_answers_has_no_markup_of_theirs() {
    let server = crate::probe::peer::OneAnswer::start(
        "HTTP/1.1 200 <script>alert(1)</script>\r\nServer-Timing: x;desc=\"<img src=x onerror=alert(2)>\"\r\n\
         X-Evil: <script>alert(3)</script>\r\nContent-Length: 0\r\n\r\n",
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    let file = file.to_str().unwrap();
    let said = said(probe(&["-q", "--html", file, &server.url("/<script>")]));
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(file).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x"));
}

#[test]
fn hostile_headers_do_not_reach_the_terminal() {
    let server = crate::probe::peer::OneAnswer::start(
        b"HTTP/1.1 200 O\x1b[31mK\r\nX: \x1b]0;title\x07\xff\r\nContent-Length: 0\r\n\r\n"
            .as_slice(),
    );
    let said = said(probe(&["-v", &server.url("/")]));
    assert!(
        !said.out.contains('\x1b') && !said.out.contains('\x07'),
        "{:?}",
        said.out
    );
}

#[test]
fn a_body_on_standard_output_leaves_the_report_to_standard_error() {
    let site = Site::start();
    let said = site.probe(&["-o", "-", &site.http("/bytes/20")]);
    assert_eq!(said.out.len(), 20);
    assert!(said.err.contains("first byte"), "{}", said.err);
}

/// The reader of standard error has gone.
#[test]
fn nobody_has_to_read_standard_error() {
    let run = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = probe(arguments);
        command.stdout(std::process::Stdio::null()).stderr(writer);
        command.status().unwrap().code()
    };
    let site = Site::start();
    assert_eq!(run(&["http://127.0.0.1:1/"]), Some(1));
    assert_eq!(
        run(&["--fail-if", "status < 300", &site.http("/")]),
        Some(3)
    );
    assert_eq!(run(&["--nonsense"]), Some(2));
}

#[test]
fn quiet_says_nothing_but_errors() {
    let site = Site::start();
    let quiet = site.probe(&["-q", &site.http("/")]);
    assert_eq!(
        (quiet.code, quiet.out.as_str(), quiet.err.as_str()),
        (0, "", "")
    );
    let failed = site.probe(&["-q", "http://127.0.0.1:1/"]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    assert!(failed.err.contains("refused"), "{}", failed.err);
}

#[test]
fn a_reader_that_goes_away_causes_no_panic() {
    let site = Site::start();
    for arguments in [
        &["-c", "200", "-i", "0"][..],
        &["--json", "-c", "200", "-i", "0"],
        &["--ndjson", "-c", "200", "-i", "0"],
        &["-v"],
    ] {
        let ca = site.path("ca.pem");
        let url = site.http("/");
        let mut command = crate::probe::run::command("sh");
        command.args([
            "-c",
            "exec 3>&1; { \"$@\"; echo \"code $?\" >&3; } | head -1 >/dev/null",
            "sh",
        ]);
        command
            .arg(env!("CARGO_BIN_EXE_roundtrip"))
            .args(["probe", "--cacert", &ca])
            .args(arguments)
            .arg(&url);
        let said = Job::start(command).finish();
        assert!(!said.err.contains("panicked"), "{}", said.err);
        assert!(
            said.out.contains("code 0") || said.out.contains("code 141"),
            "{said:?}"
        );
    }
}

#[test]
fn write_out_goes_where_it_says() {
    let site = Site::start();
    let file = site.path("written");
    let format = format!("%{{http_code}}%{{stderr}}e%{{stdout}}o%output{{{file}}}f%{{onerror}}no");
    let said = site.probe(&["-w", &format, &site.http("/")]);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("200o", "e"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "f");
    let json = site.probe(&["-w", "%{json}", &site.http("/")]);
    let value: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["http_code"], 200);
    let header = site.probe(&["-w", "%header{content-length}", &site.http("/bytes/7")]);
    assert_eq!(header.out, "7");
}

#[test]
fn a_body_on_standard_output_sends_every_report_to_standard_error() {
    let site = Site::start();
    for form in ["--json", "--ndjson"] {
        let said = site.probe(&[form, "-o", "-", &site.http("/bytes/10")]);
        assert_eq!(said.out.len(), 10, "{}", said.out);
        let report: serde_json::Value = serde_json::from_str(&said.err).unwrap();
        assert!(report["version"].is_string());
    }
}

#[test]
fn the_reason_of_a_failure_comes_first() {
    let site = Site::start();
    let said = site.probe(&[&format!(
        "http://127.0.0.1:{}/",
        crate::probe::peer::free_port()
    )]);
    let reason = said.out.lines().nth(2).unwrap();
    assert!(reason.trim_start().starts_with("failed"), "{}", said.out);
    assert!(!said.out.contains("strategy"), "{}", said.out);
}
