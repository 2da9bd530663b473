//! IANA's registries, renewed after the answer from a test server.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roundtrip_fetch::memory::documents::Document;
use roundtrip_fetch::memory::{DEFAULT_SIZE, Memory};
use roundtrip_tls::Roots;

use crate::rdap::scene::{Scene, said};
use crate::servers::{answering, ok};

/// Serves one registry of names, in which `example` has these servers; records the requests.
pub(crate) fn mirror(servers: &[&str]) -> (String, Arc<Mutex<Vec<String>>>) {
    let json = serde_json::json!({
        "version": "1.0", "publication": "2126-01-01T00:00:00Z",
        "services": [[["example"], servers]],
    })
    .to_string();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = asked.clone();
    let address = answering(move |head, _| {
        let line = head.lines().next().unwrap_or_default().to_owned();
        lines.lock().unwrap().push(line);
        ok(&json)
    });
    (format!("http://{address}/rdap"), asked)
}

#[test]
fn a_name_that_only_the_newer_copy_knows_is_found_at_once_and_later() {
    let scene = Scene::new();
    let (url, asked) = mirror(&[&scene.server()]);
    let run = |arguments: &[&str]| {
        let mut command = scene.plain(&["--bootstrap", &url, "--rate", "off"]);
        command.arg("--memory").arg(scene.path("memory"));
        command.args(arguments);
        said(command)
    };
    for _ in 0..3 {
        let next = run(&["one.example"]);
        assert_eq!((next.code, next.err.as_str()), (0, ""), "{next:?}");
    }
    assert_eq!(*asked.lock().unwrap(), ["GET /rdap/dns.json HTTP/1.1"]);
    let version = run(&["--version"]);
    assert!(version.out.contains("2126-01-01"), "{version:?}");
    // There were no other requests.
    let named = scene.run(&["one.example"]);
    assert_eq!(named.code, 0);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// Makes the stored copy of the registry of names older.
fn age(scene: &Scene, by: Duration) {
    let trust = Roots::File(scene.path("ca.pem")).fingerprint().unwrap();
    let memory = Memory::open(&scene.path("memory"), DEFAULT_SIZE).unwrap();
    let memory = memory.apart(&trust);
    let copy = memory.document("dns").unwrap();
    let fetched_at = copy.fetched_at.minus(by);
    assert!(memory.keep_document("dns", &Document { fetched_at, ..copy }));
}

#[test]
fn a_silent_iana_holds_no_script_and_the_next_run_renews() {
    let scene = Scene::new();
    let (url, asked) = mirror(&[&scene.server()]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/rdap", silent.local_addr().unwrap());
    let run = |bootstrap: &str| {
        let mut command = scene.plain(&["--bootstrap", bootstrap, "--rate", "off"]);
        command.arg("--memory").arg(scene.path("memory"));
        command.arg("one.example");
        said(command)
    };
    assert_eq!(run(&url).code, 0);
    age(&scene, Duration::from_hours(25));
    // Five seconds later, the attempt would have failed, and that would be reported.
    for _ in 0..2 {
        let next = run(&silent);
        assert_eq!((next.code, next.err.as_str()), (0, ""), "{next:?}");
    }
    // It did not count as a failure, after which no server would be asked for an hour.
    age(&scene, Duration::from_mins(10));
    assert_eq!(run(&url).code, 0);
    assert_eq!(asked.lock().unwrap().len(), 2);
}

/// Anyone can answer in IANA's place if certificates are not verified.
#[test]
fn a_registry_received_without_verification_is_used_by_no_other_run() {
    let scene = Scene::new();
    let (url, asked) = mirror(&[&scene.server()]);
    for (flag, count) in [("-k", 1), ("--verbose", 2), ("--verbose", 2)] {
        let mut command = scene.plain(&["--bootstrap", &url, "--rate", "off", flag]);
        command.arg("--memory").arg(scene.path("memory"));
        command.arg("one.example");
        assert_eq!(said(command).code, 0);
        assert_eq!(asked.lock().unwrap().len(), count, "{flag}");
    }
}

#[test]
fn where_renewal_is_off_or_offline_nobody_is_asked() {
    let scene = Scene::new();
    let (url, asked) = mirror(&[&scene.server()]);
    for flags in [
        &["--bootstrap", "off"][..],
        &["--bootstrap", &url, "--offline"],
        &["--bootstrap", &url, "--no-reuse"],
    ] {
        let mut command = scene.plain(flags);
        if !flags.contains(&"--no-reuse") {
            command.arg("--memory").arg(scene.path("memory"));
        }
        command.arg("one.example");
        let said = said(command);
        assert_eq!((said.code, said.err.as_str()), (1, ""), "{said:?}");
    }
    assert!(asked.lock().unwrap().is_empty());
}
