//! Another program's reading of the same packets: tshark counts the same copies, requests and
//! handshakes.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::skip;
use crate::trace::keys::recorded_with_keys;
use crate::trace::two_captures::torn;
use crate::trace::{record, results};

const TSHARK: &str = "tshark";

fn has_tshark() -> bool {
    let asked = Command::new(TSHARK)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// The values of these fields in the frames that a filter shows, one line for each frame.
fn tshark(file: &Path, keys: Option<&Path>, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new(TSHARK);
    command.args(["-n", "-2", "-r"]).arg(file);
    if let Some(keys) = keys {
        let keys = format!("tls.keylog_file:{}", keys.display());
        command.args(["-o", &keys]);
    }
    command.args(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{filter}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(str::to_owned).collect()
}

/// The last field of a line, as seconds in milliseconds.
fn milliseconds(line: &str) -> f64 {
    let (_, field) = line.rsplit_once('\t').unwrap();
    field.parse::<f64>().unwrap() * 1e3
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Every copy that was seen at the server's end, which sent some of them.
#[test]
fn copies_and_the_first_round_trip_are_those_of_tshark() {
    const TEST: &str = "copies_and_the_first_round_trip_are_those_of_tshark";
    if !has_tshark() {
        return skip::lacking(TEST, TSHARK);
    }
    for loss in ["up:syn", "down:nth:5+9", "up:nth:3"] {
        let folder = tempfile::tempdir().unwrap();
        let asked = ["-q4", "http://server.test/bytes/60000"];
        let file = record(folder.path(), &["--loss", loss, "--origin"], &asked);
        let (ends, _) = torn(&file, folder.path());
        for end in &ends {
            let told = results(end, None);
            let connection = &told[0]["connection"];
            for (side, port) in [("client", "tcp.dstport"), ("server", "tcp.srcport")] {
                let again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || \
                             tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order";
                let copies = tshark(end, None, &format!("({again}) && {port} == 80"), &[]);
                let ours = connection["sent_again"][side].as_u64().unwrap();
                assert_eq!(ours, copies.len() as u64, "{loss}, {side}: {connection:#}");
            }
            if loss == "up:syn" {
                continue;
            }
            // tshark counts until the client's acknowledgement.
            let field = "tcp.analysis.initial_rtt";
            let first = tshark(end, None, field, &[field]);
            let first = milliseconds(first.first().unwrap());
            let ours = number(&told[0]["tcp"]["handshake_rtt_ms"]);
            assert!(
                ours <= 1.5 * first && first <= 1.5 * ours,
                "{loss}: {ours} {first}"
            );
        }
    }
}

#[test]
fn requests_and_handshakes_are_those_of_tshark() {
    const TEST: &str = "requests_and_handshakes_are_those_of_tshark";
    if !has_tshark() {
        return skip::lacking(TEST, TSHARK);
    }
    let urls = [1000, 2000, 3000].map(|n| format!("https://server.test/bytes/{n}"));
    // Some builds of tshark do not decode the fields of HTTP/3, so its HEADERS frames are counted.
    for (strategy, request, field, value) in [
        (
            "h1+tls1.3+reuse",
            "http.request",
            "http.request.method",
            "GET",
        ),
        (
            "h2+tls1.3+reuse",
            "http2.headers.method",
            "http2.headers.method",
            "GET",
        ),
        ("h3+reuse", "udp.dstport == 443", "http3.frame_type", "1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let probe = env!("CARGO_BIN_EXE_roundtrip");
        let mut asked = vec![probe, "probe", "-q4", "--strategy", strategy];
        asked.extend(urls.iter().map(String::as_str));
        let (file, keys) = recorded_with_keys(folder.path(), &asked);
        let ([client, _], _) = torn(&file, folder.path());
        let ours = results(&client, Some(&keys));
        let theirs = tshark(&client, Some(&keys), request, &[field]);
        // A frame may have several requests.
        let values = theirs
            .iter()
            .flat_map(|line| line.split(['\t', ',']).skip(1));
        let theirs = values.filter(|theirs| *theirs == value).count();
        assert_eq!(ours.len(), theirs, "{strategy}: {ours:#?}");
        if strategy.starts_with("h3") {
            continue;
        }
        // From the SYN-ACK to the client's Finished.
        let time = |filter: &str| {
            let lines = tshark(&client, Some(&keys), filter, &["frame.time_epoch"]);
            milliseconds(lines.first().unwrap())
        };
        let began = time("tcp.flags == 0x12");
        let ended = time("tls.handshake.type == 20 && tcp.dstport == 443");
        let phases = ours[0]["phases"].as_array().unwrap().iter();
        let tls = phases.filter(|phase| phase["name"] == "tls");
        let tls: f64 = tls.map(|phase| number(&phase["ms"])).sum();
        assert!(
            (tls - (ended - began)).abs() < 0.01,
            "{strategy}: {tls} {began} {ended}"
        );
    }
}
