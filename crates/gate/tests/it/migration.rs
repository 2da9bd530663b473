//! hyper-auth-proxy's behaviour as seen from outside, row by row: what stays the same after a
//! migration, and what changes. `docs/gate-migration.md` has the same rows in words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may panic

mod scene;
mod token;

use std::thread;
use std::time::Duration;

use crate::external_program::free_address;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_gate::config::{Config, Span};
use scene::{Answer, Scene, backend};
use token::{CLAIMS, HS256, HS512, claims, cookie, jwt};

const BASIC: &str = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n"; // alice:secret

fn record(login: &str) -> String {
    format!(r#"{{"credentials":"{}"}}"#, STANDARD.encode(login))
}

/// A valid cookie of the session, as a field.
fn field(session: &str) -> String {
    cookie(&STANDARD.encode(jwt(HS512, &claims(session))))
}

fn play(test: &str, act: impl FnOnce(&mut Scene)) {
    if let Some(mut scene) = Scene::start(test, backend()) {
        scene.ask(&["SET", "s1", &record("alice:secret")]);
        act(&mut scene);
    }
}

#[test]
fn its_cookies_are_accepted() {
    play("its_cookies_are_accepted", |scene| {
        let token = jwt(HS512, CLAIMS);
        let worn = STANDARD.encode(&token);
        assert!(worn.ends_with('='), "else there is no padding to leave out");
        let extra = CLAIMS.replace('}', r#","role":["x",{"y":null}],"n":1.5}"#);
        let rows = [
            ("as it is", cookie(&worn)),
            ("without padding", cookie(worn.trim_end_matches('='))),
            (
                "quoted inside the base64",
                cookie(&STANDARD.encode(format!("\"{token}\""))),
            ),
            ("quoted around the value", cookie(&format!("\"{worn}\""))),
            (
                "with more claims",
                cookie(&STANDARD.encode(jwt(HS512, &extra))),
            ),
            (
                "among other cookies",
                format!("Cookie: a=b; Authorization={worn}; c=d"),
            ),
            (
                "after one whose name is in small letters",
                format!("Cookie: authorization=x; Authorization={worn}"),
            ),
            (
                "before another of the same name",
                format!("Cookie: Authorization={worn}; Authorization=x"),
            ),
        ];
        for (row, field) in rows {
            let answer = scene.get(&field);
            assert_eq!(answer.status, 200, "{row}");
            assert!(answer.body.contains(BASIC), "{row}: {}", answer.body);
            assert!(
                answer.body.contains(&format!("{field}\r\n")),
                "{row}: the backend has the cookie too"
            );
        }
    });
}

/// Each reload with other session settings opens the store again.
#[test]
fn reloads_leave_no_connections_behind() {
    play("reloads_leave_no_connections_behind", |scene| {
        let connections = |scene: &Scene| scene.ask(&["CLIENT", "LIST"]).lines().count();
        scene.get("");
        let before = connections(scene);
        for seconds in 1..=10 {
            scene.reload(|config| config.session.grace = Span::seconds(seconds));
            scene.get("");
        }
        for _ in 0..6000 {
            if connections(scene) <= before + 1 {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{} connections, {before} before", connections(scene));
    });
}

#[test]
fn a_newline_after_the_credentials_is_trimmed() {
    play("a_newline_after_the_credentials_is_trimmed", |scene| {
        scene.ask(&["SET", "echoed", &record("alice:secret\n")]);
        let answer = scene.get(&field("echoed"));
        assert!(answer.body.contains(BASIC), "{}", answer.body);
    });
}

#[test]
fn what_the_client_says_of_itself_is_replaced() {
    play("what_the_client_says_of_itself_is_replaced", |scene| {
        let own = "Authorization: Basic ZXZpbDplcw==\r\nX-Forwarded-For: 192.0.2.1";
        let answer = scene.get(&format!("{}\r\n{own}", field("s1")));
        assert!(answer.body.contains(BASIC), "{}", answer.body);
        assert_eq!(answer.body.matches("Authorization: ").count(), 1);
        // hyper-auth-proxy extends any client's list; gate extends only trusted proxies' lists.
        assert!(answer.body.contains("X-Forwarded-For: 127.0.0.1\r\n"));
        assert!(!answer.body.contains("192.0.2.1"), "{}", answer.body);
        let near = Config::parse("[listen]\ntrusted = [\"127.0.0.0/8\"]\n", "test").unwrap();
        scene.reload(|config| config.listen.trusted = near.listen.trusted);
        let trusted = scene.await_answer(&format!("{}\r\n{own}", field("s1")), |answer| {
            answer.body.contains("192.0.2.1")
        });
        let list = "X-Forwarded-For: 192.0.2.1\r\n";
        let (before, after) = trusted.body.split_once(list).unwrap();
        assert!(!before.contains("X-Forwarded-For: "), "{before}");
        assert!(after.contains("X-Forwarded-For: 127.0.0.1\r\n"), "{after}");
    });
}

#[test]
fn who_is_401_there_is_401_here() {
    play("who_is_401_there_is_401_here", |scene| {
        let token = jwt(HS512, CLAIMS);
        let worn = STANDARD.encode(&token);
        let lacking = ["sub", "sid", "iat", "exp"].map(|name| (name, token::without(name)));
        let mut rows = vec![
            ("no cookie", String::from("X-Nothing: 1")),
            ("other cookies", "Cookie: a=b".into()),
            ("empty", cookie("")),
            ("not base64", cookie("%%%")),
            ("a bare token", cookie(&token)),
            (
                "another name's case",
                format!("Cookie: authorization={worn}"),
            ),
            (
                "a bad one before it",
                format!("Cookie: Authorization=x; Authorization={worn}"),
            ),
            (
                "a spoilt signature",
                cookie(&STANDARD.encode(token::spoilt(&token))),
            ),
            ("HS256", cookie(&STANDARD.encode(jwt(HS256, CLAIMS)))),
            (
                "a fraction in exp",
                cookie(&STANDARD.encode(jwt(HS512, &CLAIMS.replace("4000000000", "4000000000.5")))),
            ),
            ("an unknown session", field("nobody")),
        ];
        for (name, claims) in &lacking {
            rows.push((name, cookie(&STANDARD.encode(jwt(HS512, claims)))));
        }
        for (row, field) in rows {
            let answer = scene.get(&field);
            assert_eq!((answer.status, answer.words()), (401, "401"), "{row}");
        }
        assert_eq!(scene.get(&field("s1")).status, 200);
    });
}

#[test]
fn what_is_500_there_is_500_here() {
    play("what_is_500_there_is_500_here", |scene| {
        let sealed = r#"{"credentials":"v1.2026.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#;
        let rows = [
            ("not JSON", "alice:secret"),
            ("no credentials in it", r#"{"login":"YTpi"}"#),
            ("credentials that are not base64", r#"{"credentials":"%%"}"#),
            ("credentials without a key to them", sealed),
        ];
        for (row, value) in rows {
            scene.ask(&["SET", row, value]);
            let answer = scene.get(&field(row));
            assert_eq!((answer.status, answer.words()), (500, "500"), "{row}");
        }
        scene.ask(&["RPUSH", "list", &record("alice:secret")]);
        assert_eq!(scene.get(&field("list")).status, 500);
    });
}

/// hyper-auth-proxy answers 500 to all of these; gate's statuses tell the client whether to try
/// again.
#[test]
fn who_is_down_is_told_apart() {
    play("who_is_down_is_told_apart", |scene| {
        assert_eq!(scene.get(&field("s1")).status, 200);
        scene.redis().stop();
        let answer = scene.await_answer(&field("s2"), |answer| answer.status != 401);
        assert_eq!((answer.status, answer.words()), (503, "503"));
        assert!(answer.head.contains("Retry-After: "), "{}", answer.head);
        // Known sessions still work.
        assert_eq!(scene.get(&field("s1")).status, 200);
    });
    if let Some(scene) = Scene::start("who_is_down_is_told_apart", free_address()) {
        scene.ask(&["SET", "s1", &record("alice:secret")]);
        assert_eq!(scene.get(&field("s1")).status, 502);
    }
}

/// Gate does not have hyper-auth-proxy's faults.
#[test]
fn its_faults_stay_behind() {
    play("its_faults_stay_behind", |scene| {
        let over = CLAIMS.replace("4000000000", "1000000000");
        let expired = cookie(&STANDARD.encode(jwt(HS512, &over)));
        let answer = scene.get(&expired);
        assert_eq!((answer.status, answer.words()), (401, "401"));
        let Answer { head, .. } = scene.get(&field("s1"));
        for one in ["Set-Cookie: a=1\r\n", "Set-Cookie: b=2\r\n"] {
            assert!(head.contains(one), "{head}");
        }
        // hyper-auth-proxy reads only the first of several Cookie fields.
        let second = format!("Cookie: a=b\r\n{}", field("s1"));
        assert_eq!(scene.get(&second).status, 200);
    });
}

/// The steps of the guide: the same store, then sealed credentials, then only sealed ones. No user
/// notices.
#[test]
fn a_store_is_taken_over_and_sealed() {
    play("a_store_is_taken_over_and_sealed", |scene| {
        scene.ask(&[
            "SET",
            "s2",
            r#"{"credentials":"YWxpY2U6c2VjcmV0","theirs":7}"#,
        ]);
        scene.ask(&["EXPIRE", "s2", "5000"]);
        let seal = scene.secret("seal.key", &"5".repeat(64));
        let keyed = format!("[[session.seal]]\nid = \"2026\"\nfrom = {{ file = {seal:?} }}\n");
        let keyed = Config::parse(&keyed, "test").unwrap().session.seal;
        scene.reload(|config| config.session.seal = keyed);
        assert_eq!(scene.seal().sealed, 2);
        assert_eq!(scene.seal().kept, 2);
        let stored = scene.ask(&["GET", "s2"]);
        assert!(
            stored.contains("v1.2026.") && stored.contains("theirs"),
            "{stored}"
        );
        assert!(!stored.contains("YWxpY2U6c2VjcmV0"), "{stored}");
        assert!(!scene.ask(&["TTL", "s2"]).contains("-1"));
        scene.reload(|config| config.session.plain = false);
        scene.ask(&["SET", "plain", &record("alice:secret")]);
        scene.await_answer(&field("plain"), |answer| answer.status == 500);
        for session in ["s1", "s2"] {
            assert!(scene.get(&field(session)).body.contains(BASIC), "{session}");
        }
    });
}
