//! aioquic, an HTTP/3 that shares nothing with ours: a plain connection, and one whose requests
//! come as early data.

use std::path::Path;

use serde_json::{Value, json};

use crate::gate_clients::not_run;
use crate::gate_clients::scene::{LOGIN, Scene, words};
use crate::process::eventually;
use crate::skip;

#[test]
fn aioquic_gets_and_posts_early_and_late() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = match skip::installed("install-aioquic") {
        Ok(modules) => modules,
        Err(why) => return not_run("aioquic_gets_and_posts_early_and_late", &why),
    };
    let scene = Scene::start("resumption = \"single-use\"\nearly_data = true\n");
    let answered = scene.client("/usr/bin/python3", |command| {
        command
            .arg(root.join("tests/it/gate_clients/h3_client.py"))
            .args([&scene.at, "chain.pem"])
            .arg(scene.bearer())
            .env("PYTHONPATH", &modules)
            .env("PYTHONDONTWRITEBYTECODE", "1");
    });
    let answered = answered.unwrap();
    assert!(answered.status.success(), "{}", words(&answered));
    let said: Value = serde_json::from_slice(&answered.stdout).unwrap();
    let answer = |when: &str, body: &str| json!([200, format!("{LOGIN} {when} {body}")]);
    let expected = json!({
        "get": answer("late", ""),
        "post": answer("late", &"x".repeat(50_000)),
        // Before the handshake was over, which the other request had to wait for.
        "early_get": answer("early", ""),
        "post_waited": true,
        "early_post": answer("late", "hi"),
        // Neither the same session again nor the data with it is accepted.
        "replay": null,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(said.get(name), Some(value), "{name}");
    }
    // Sessions that did not get into the store in time need another first connection.
    let connections = said["connections"].as_u64().unwrap();
    scene.has_served("h3", connections * 2 + 2);
    assert_eq!(scene.counted("early_requests", &["fate=\"passed\""]), 1);
    assert_eq!(scene.counted("early_requests", &["fate=\"held\""]), 1);
    assert_eq!(scene.counted("early_requests", &["fate=\"again\""]), 0);
    assert_eq!(scene.counted("tls_handshakes", &["kind=\"early\""]), 1);
    // The counter changes once a second.
    let taken = || scene.counted("single_use_sessions", &["fate=\"taken\""]);
    eventually(|| (taken() > 0).then_some(()));
    assert_eq!(taken(), 1);
}
