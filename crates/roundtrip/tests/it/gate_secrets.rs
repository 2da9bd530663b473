//! No output of a gate contains a secret: the real binary runs with every output on, and with a
//! canary in every place that holds a secret. The output is searched for the canaries as they are,
//! in base64 and in hex.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod canaries;
mod place;

use canaries::Canaries;
use place::{Place, Running, ask, backend};

use crate::skip;

#[test]
fn no_secret_is_in_anything_that_a_gate_says() {
    let canaries = Canaries::new();
    let Some(place) = Place::new(&canaries) else {
        return skip::lacking("no secret is told", "redis-server");
    };
    place.redis(&["SET", "spoilt", &canaries.password]);
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", dead.local_addr().unwrap());
    drop(dead);
    let file = place.write("gate.toml", &place.config(&backend(), &nobody));
    let (token, cookie) = (
        place.token(&file, &canaries.sid, "--bearer"),
        place.token(&file, &canaries.sid, "--cookie"),
    );
    let spoilt = place.token(&file, "spoilt", "--bearer");
    let canaries = canaries.and(&[&token, &cookie]);

    // The owner may ask for what was stored, and sees the names that they asked for.
    let names = canaries.without_sid();
    place.put(&file, &canaries).free_of(&canaries);
    for arguments in [
        &["session", "list", "--json"] as &[&str],
        &["session", "list"],
        &["session", "show", &canaries.sid],
        &["session", "show", &canaries.sid, "--json"],
        &["session", "show", &canaries.sid, "--reveal-user"],
        &["session", "show", "spoilt"],
        &["session", "seal"],
    ] {
        place.gate(arguments, &file).free_of(&names);
    }
    for arguments in [&["check"] as &[&str], &["check", "--json", "--connect"]] {
        place.gate(arguments, &file).free_of(&canaries);
    }

    let gate = Running::start(&place, &file);
    let told = requests(&gate, &canaries, &token, &cookie, &spoilt);
    for (what, said) in &told {
        canaries.are_not_in(what, said.as_bytes());
    }
    place.stop_redis();
    // A session that nobody has asked for yet: 503, and what is reported about the store at that
    // time.
    let unknown = place.token(&file, "unknown", "--bearer");
    let down = ask(
        &gate.http,
        &format!("GET /told HTTP/1.1\r\nHost: a\r\n{unknown}"),
        "",
    );
    assert!(down.starts_with("HTTP/1.1 503 "), "{down}");
    for (number, faulty) in faulty(&place, &canaries).iter().enumerate() {
        let file = place.write("gate.toml", faulty);
        gate.process.signal("HUP");
        gate.says(number + 1, "roundtrip: ");
        for arguments in [&["check"] as &[&str], &["check", "--json"], &["run"]] {
            place.gate(arguments, &file).free_of(&canaries);
        }
    }
    canaries.are_not_in("the command line", &gate.command_line());
    gate.process.signal("TERM");
    let (out, err) = gate.end();
    // Otherwise there was nothing to search.
    assert!(out.matches("\"path\":\"/told\"").count() >= 4, "{out}");
    assert!(err.contains("gate.toml"), "{err}");
    assert!(err.contains(" DEBUG gate::accept::thread: an exchange ended client=127.0.0.1 id="));
    assert!(err.contains(" WARN  gate::forward::upstream::group::open: no connection server="));
    assert!(
        err.contains("the session store did not answer a query"),
        "{err}"
    );
    canaries.are_not_in("standard output", out.as_bytes());
    canaries.are_not_in("standard error", err.as_bytes());
}

/// All kinds of answers, and what the admin page says after them.
fn requests(
    gate: &Running,
    canaries: &Canaries,
    token: &str,
    cookie: &str,
    spoilt: &str,
) -> Vec<(&'static str, String)> {
    let Canaries {
        query, password, ..
    } = canaries;
    let get =
        |path: &str, fields: &str| format!("GET {path}?{query} HTTP/1.1\r\nHost: a\r\n{fields}");
    let mut told = Vec::new();
    for (what, status, request) in [
        ("a bearer's answer", "200", get("/told", token)),
        ("a cookie's answer", "200", get("/told", cookie)),
        ("no token", "401", get("/told", "")),
        (
            "a login",
            "401",
            get("/told", &format!("Authorization: Basic {password}\r\n")),
        ),
        (
            "a token that is none",
            "401",
            get(
                "/told",
                &format!("Authorization: Bearer {password}.{password}.x\r\n"),
            ),
        ),
        ("a session that is none", "500", get("/told", spoilt)),
        ("no backend", "502", get("/dead", token)),
        (
            "no route",
            "404",
            format!("GET /none?{query} HTTP/1.1\r\nHost: nowhere.example\r\n"),
        ),
        ("no HTTP", "400", format!("{password}\r\n")),
        ("no field", "400", get("/told", &format!("{password}\r\n"))),
        (
            "a large head",
            "431",
            get("/told", &format!("X: {}{password}\r\n", "x".repeat(80_000))),
        ),
    ] {
        let said = ask(&gate.http, &request, "");
        let expected = format!("HTTP/1.1 {status} ");
        assert!(said.starts_with(&expected), "{what}: {said}");
        told.push((what, said));
    }
    told.push((
        "clear text where TLS is",
        ask(&gate.https, &get("/told", token), ""),
    ));
    for path in [
        "/",
        "/metrics",
        "/metrics.json",
        "/healthz",
        "/readyz",
        "/none",
    ] {
        let said = ask(
            &gate.admin,
            &format!("GET {path}?{query} HTTP/1.1\r\nHost: a\r\n"),
            "",
        );
        assert!(said.starts_with("HTTP/1.1 "), "{path}: {said}");
        told.push(("the admin's", said));
    }
    told
}

/// Files with a secret in a wrong place, or with an unusable one.
fn faulty(place: &Place, canaries: &Canaries) -> Vec<String> {
    let Canaries {
        password,
        redis,
        signing,
        ..
    } = canaries;
    let key = place.secret("bad.key", password);
    let open = place.write("open.key", signing);
    let from = |path: &str| format!("from = {{ file = {path:?} }}");
    vec![
        format!("[session]\npassword = {redis:?}\n"),
        format!("[session]\npassword = {{ file = \"x\" {redis:?} }}\n"),
        format!("[session]\npassword = {{ env = {redis:?} }}\n"),
        format!("[session]\nstore = \"redis://u:{redis}@127.0.0.1:1/0\"\n"),
        format!("[session]\nstore = \"redis://{redis}@127.0.0.1:1/x\"\n"),
        format!("[[token.key]]\nalgorithm = \"HS512\"\nfrom = {signing:?}\n"),
        format!("[[token.key]]\nalgorithm = {signing:?}\n{}\n", from(&open)),
        format!("[[token.key]]\nalgorithm = \"RS256\"\n{}\n", from(&key)),
        format!("[[token.key]]\nalgorithm = \"HS512\"\n{}\n", from(&open)),
        format!("[[session.seal]]\nid = \"k\"\n{}\n", from(&key)),
        format!("[tls]\nseed = {signing:?}\n"),
        format!(
            "[upstream.b]\nservers = [\"http://u:{password}@127.0.0.1:1\"]\n[[route]]\nupstream = \"b\"\n"
        ),
        format!("{signing}\n"),
        format!("[token]\n{signing} = 1\n"),
    ]
}
