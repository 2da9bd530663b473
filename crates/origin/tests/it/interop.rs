//! Our own QUIC engine with other clients, as far as they are installed. `docs/quic-interop.md` has
//! more.

use std::process::{Command, Output};

use roundtrip_origin::{EarlyData, QuicEngine};
use serde_json::{Value, json};

use crate::peers::Peer;
use crate::skip;

const BODY: u64 = 3_000_000;

fn peer(retry: bool) -> Peer {
    Peer::with(|knobs| {
        knobs.listen.quic_engine = QuicEngine::Own;
        knobs.listen.quic_retry = retry;
        knobs.tls.early_data = EarlyData::On;
    })
}

/// The path of aioquic's modules, if it is installed.
fn aioquic(test: &str) -> Option<String> {
    let found = skip::installed("install-aioquic");
    found
        .inspect_err(|why| eprintln!("NOT RUN: {test}: {why}"))
        .ok()
}

fn ask_with_aioquic(peer: &Peer, modules: &str, protocol: &str, wish: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/aioquic_client.py");
    let output = patiently("/usr/bin/python3")
        .arg(script)
        .args(["127.0.0.1", &peer.origin.https.port().to_string()])
        .arg(peer.file("ca.pem"))
        .args([protocol, &format!("/bytes/{BODY}"), wish])
        .env("PYTHONPATH", modules)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{wish}: {}", words(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn aioquic_is_served_in_every_way() {
    let Some(modules) = aioquic("aioquic_is_served_in_every_way") else {
        return;
    };
    for (protocol, wish, retry, early, seen) in [
        ("h3", "nothing", false, false, json!(["new_token"])),
        ("hq-interop", "nothing", false, false, json!(["new_token"])),
        ("h3", "nothing", true, false, json!(["retry", "new_token"])),
        ("h3", "early", false, true, json!(["new_token"])),
        ("hq-interop", "early", false, true, json!(["new_token"])),
        (
            "h3",
            "versions",
            false,
            false,
            json!(["version_negotiation", "new_token"]),
        ),
        ("h3", "keys", false, false, json!(["new_token"])),
        (
            "h3",
            "rebind",
            false,
            false,
            json!(["new_token", "path_challenge"]),
        ),
        (
            "h3",
            "migrate",
            false,
            false,
            json!(["new_token", "path_challenge"]),
        ),
    ] {
        let peer = peer(retry);
        let said = ask_with_aioquic(&peer, &modules, protocol, wish);
        let status = if protocol == "h3" {
            json!(200)
        } else {
            Value::Null
        };
        let expected = json!({ "status": status, "bytes": BODY, "early": early, "seen": seen });
        assert_eq!(said, expected, "{protocol} {wish}");
        let counted = stopped(&peer);
        assert_eq!(
            counted.early_requests,
            u64::from(early),
            "{protocol} {wish}"
        );
        assert_eq!(counted.quic_retries, u64::from(retry), "{protocol} {wish}");
        assert_eq!(
            counted.quic_key_updates > 0,
            wish == "keys",
            "{protocol} {wish}"
        );
        let moves = wish == "rebind" || wish == "migrate";
        assert_eq!(counted.quic_migrations > 0, moves, "{protocol} {wish}");
    }
}

/// Debian's ngtcp2 client, with GnuTLS.
#[test]
fn ngtcp2_is_served_in_every_way() {
    if Command::new("gtlsclient")
        .arg("--version")
        .output()
        .is_err()
    {
        return not_run(
            "ngtcp2_is_served_in_every_way",
            "gtlsclient (ngtcp2-client)",
        );
    }
    for (wish, retry, fetches) in [
        (&[][..], false, 1),
        (&[], true, 1),
        (&["-v", "0x1a2a3a4a", "--preferred-versions=v1"], false, 1),
        (&["--key-update=20ms", "--delay-stream=50ms"], false, 1),
        (&["--change-local-addr=5ms"], false, 1),
        (
            &["--session-file=session", "--tp-file=parameters"],
            false,
            2,
        ),
    ] {
        let peer = peer(retry);
        for _ in 0..fetches {
            let output = ask_with_ngtcp2(&peer, wish);
            assert!(output.status.success(), "{wish:?}: {}", words(&output));
            let got = std::fs::metadata(peer.file(&BODY.to_string())).unwrap();
            assert_eq!(got.len(), BODY, "{wish:?}: {}", words(&output));
        }
        let stats = stopped(&peer);
        assert_eq!(stats.h3_requests, fetches, "{wish:?}");
        assert_eq!(stats.quic_retries, u64::from(retry), "{wish:?}");
        assert_eq!(stats.early_requests, fetches - 1, "{wish:?}");
        assert!(wish.is_empty() || !wish[0].starts_with("--change") || stats.quic_migrations > 0);
        assert!(wish.is_empty() || !wish[0].starts_with("--key") || stats.quic_key_updates > 0);
    }
}

fn ask_with_ngtcp2(peer: &Peer, wish: &[&str]) -> Output {
    let port = peer.origin.https.port().to_string();
    patiently("gtlsclient")
        .args(["-q", "--exit-on-all-streams-close", "--download=."])
        .args(wish)
        .args(["127.0.0.1", &port])
        .arg(format!("https://localhost:{port}/bytes/{BODY}"))
        .current_dir(peer.file("."))
        .output()
        .unwrap()
}

/// The final counters: some are known only when connections are over.
fn stopped(peer: &Peer) -> roundtrip_origin::Stats {
    for _ in 0..100 {
        let stats = peer.origin.stats();
        if stats.quic_over >= stats.quic_connections {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    peer.origin.stats()
}

fn not_run(test: &str, what: &str) {
    eprintln!("NOT RUN: {test}: lacks {what}");
}

/// Runs a program with a time limit.
fn patiently(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "120", program]);
    command
}

fn words(output: &Output) -> String {
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    format!("{}\n{}", output.status, String::from_utf8_lossy(&said))
}
