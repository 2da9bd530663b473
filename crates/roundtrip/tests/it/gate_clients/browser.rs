//! Chromium: it loads a page that posts, and reads an event stream, with the session of the page's
//! cookie.

use crate::gate_clients::scene::{LOGIN, Scene, words};
use crate::skip;

/// The page, its picture, an echo, an event stream, two events that were seen, and the end.
const REQUESTS: u64 = 7;

#[test]
fn a_browser_works_over_h2() {
    browse("a_browser_works_over_h2", "h2");
}

#[test]
fn a_browser_works_over_h3() {
    browse("a_browser_works_over_h3", "h3");
}

#[track_caller]
fn browse(test: &str, protocol: &str) {
    let scene = Scene::start("");
    let way = match protocol {
        "h3" => format!("--origin-to-force-quic-on={}", scene.at),
        _ => "--disable-quic".into(),
    };
    let answered = scene.client("chromium", |command| {
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .args(["--no-proxy-server", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync"])
            .arg(format!(
                "--user-data-dir={}",
                scene.path("profile").display()
            ))
            .arg(format!(
                "--ignore-certificate-errors-spki-list={}",
                scene.key_hash
            ))
            .args([way.as_str(), "--dump-dom"])
            .arg(format!("https://{}/", scene.at));
    });
    let Some(answered) = answered else {
        return skip::lacking(test, "chromium");
    };
    let dom = String::from_utf8_lossy(&answered.stdout);
    let expected = format!("<pre>{protocol}: 200 {LOGIN} late all of it; events 1 2 3</pre>");
    assert!(
        dom.contains(&expected),
        "{}\n{}",
        words(&answered),
        scene.metrics()
    );
    scene.has_served(protocol, REQUESTS);
}
