//! Gate: names of sessions and users, and messages about configurations.

use std::io::Write;
use std::process::Stdio;

use crate::harmless::{User, assert_harmless, assert_inert, hostile, text};

/// Names of sessions have no controls; anything else is allowed.
fn session_name() -> String {
    // A name has at most 256 bytes.
    hostile(|c| c.is_control() || ('\u{e0002}'..'\u{e0020}').contains(&c) || c > '\u{e0024}')
}

#[test]
fn sessions_are_named_without_harm() {
    let user = User::new();
    let name = session_name();
    let mut put = user
        .command(&["gate", "session", "put", &name])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let typed = format!("a{}:canary\n", hostile(char::is_control));
    put.stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    let told = put.wait_with_output().unwrap();
    assert!(told.status.success(), "{told:?}");
    assert_harmless(&text(&told.stderr));
    for words in [
        &["list"][..],
        &["show", &name],
        &["show", &name, "--reveal-user"],
    ] {
        let told = user.run(&[&["gate", "session"], words].concat());
        assert!(told.status.success(), "{told:?}");
        assert_harmless(&text(&told.stdout));
        let test = "sessions_are_named_without_harm";
        let json = [&["gate", "session"], words, &["--json"]].concat();
        let Some(shown) = user.on_a_terminal(test, &json) else {
            continue;
        };
        assert_harmless(&shown);
        let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(document.to_string().contains(&name), "{shown}");
    }
    for word in ["revoke", "show", "revoke"] {
        let told = user.run(&["gate", "session", word, &name]);
        assert_harmless(&text(&told.stderr));
    }
}

#[test]
fn lines_of_an_import_are_cited_without_harm() {
    let user = User::new();
    let line = serde_json::json!({ "sid": session_name(), "user": "a", "password": "b", session_name(): 1 });
    let file = user.write(
        &format!("import{}", '\u{202e}'),
        format!("{line}\n{}\n", session_name()),
    );
    let told = user.run(&["gate", "session", "import", &file]);
    assert_harmless(&text(&told.stderr));
}

#[test]
fn what_is_wrong_with_a_configuration_is_said_without_harm() {
    let user = User::new();
    for (n, wrong) in [
        format!("[session]\n\"{}\" = 1\n", session_name()),
        format!("[session]\nstore = \"{}\"\n", session_name()),
        format!("[[route]]\nupstream = \"{}\"\n", session_name()),
        format!("[listen]\nhttp = [\"{}\"]\n", session_name()),
        format!("[token]\nkey = \"{}\"\n", session_name()),
    ]
    .iter()
    .enumerate()
    {
        let file = user.write(&format!("gate{n}\u{202e}.toml"), wrong);
        for verb in [
            &["check"][..],
            &["session", "list"],
            &["token", "--sid", "a", "--sub", "b"],
        ] {
            let words = [&["gate"], verb, &["--config", &file]].concat();
            let told = user.run(&words);
            assert!(!told.status.success(), "{words:?}");
            assert_inert(&text(&told.stdout));
            assert_inert(&text(&told.stderr));
            if verb == ["check"] {
                assert_harmless(&text(&told.stdout));
            }
        }
    }
}
