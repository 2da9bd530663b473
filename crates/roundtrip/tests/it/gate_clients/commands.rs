//! curl and h2load: some hundred requests at once over a few connections.

use std::fs;

use crate::gate_clients::not_run;
use crate::gate_clients::scene::{LOGIN, Scene, words};
use crate::skip;

#[test]
fn curl_is_served_over_h2() {
    let test = "curl_is_served_over_h2";
    let scene = Scene::start("");
    fs::write(scene.path("body"), "x".repeat(50_000)).unwrap();
    let field = format!("@{}", scene.bearer().display());
    // Each is a set of options, of requests, and the body that comes back.
    let cases: [(&[&str], usize, String); 2] = [
        (&[], 300, format!("{LOGIN} late ")),
        (
            &["--data-binary", "@body"],
            60,
            format!("{LOGIN} late {}", "x".repeat(50_000)),
        ),
    ];
    for (more, requests, expected) in &cases {
        let answered = scene.client("curl", |command| {
            command
                .args(["--silent", "--show-error", "--http2", "--noproxy", "*"])
                .args(["--cacert", "chain.pem", "-H", &field])
                .args(["--parallel", "--parallel-max", "20", "-o", "answer-#1"])
                .args(["-w", "%{http_code} %{http_version}\n"])
                .args(*more)
                .arg(format!("https://{}/mine/echo?[1-{requests}]", scene.at));
        });
        let Some(answered) = answered else {
            return skip::lacking(test, "curl");
        };
        let codes = String::from_utf8_lossy(&answered.stdout);
        assert!(answered.status.success(), "{}", words(&answered));
        assert_eq!(codes, "200 2\n".repeat(*requests));
        for number in 1..=*requests {
            let body = fs::read_to_string(scene.path(&format!("answer-{number}"))).unwrap();
            assert!(body == *expected, "answer {number}: {} bytes", body.len());
        }
    }
    scene.has_served("h2", 360);
    let connections = scene.counted("connections", &["protocol=\"h2\""]);
    assert!((2..=40).contains(&connections), "{connections}");
}

#[test]
fn h2load_meets_no_error() {
    let scene = Scene::start("");
    let field = fs::read_to_string(scene.bearer()).unwrap();
    let answered = scene.client("h2load", |command| {
        command
            .args(["-n", "400", "-c", "4", "-m", "10", "-H", &field])
            .arg(format!("https://{}/mine/echo", scene.at));
    });
    let Some(answered) = answered else {
        return not_run("h2load_meets_no_error", "h2load (Debian: nghttp2-client)");
    };
    let said = words(&answered);
    for expected in [
        "400 succeeded, 0 failed, 0 errored, 0 timeout",
        "status codes: 400 2xx",
        "Application protocol: h2",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    scene.has_served("h2", 400);
    let connections = scene.counted("connections", &["protocol=\"h2\""]);
    assert_eq!(connections, 4);
}
