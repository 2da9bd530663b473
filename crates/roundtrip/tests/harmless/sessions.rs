//! Gate: names of sessions and users, and what is said of configurations.

use std::io::Write;
use std::process::Stdio;

use crate::{User, assert_harmless, assert_inert, hostile, text};

/// Names of sessions have no controls; all else they may have.
fn sid() -> String {
    // A name has at most 256 bytes.
    hostile(|c| c.is_control() || ('\u{e0002}'..'\u{e0020}').contains(&c) || c > '\u{e0024}')
}

#[test]
fn sessions_are_named_without_harm() {
    let user = User::new();
    let sid = sid();
    let mut put = user
        .command(&["gate", "session", "put", &sid])
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
    let said = put.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    assert_harmless(&text(&said.stderr));
    for words in [
        &["list"][..],
        &["show", &sid],
        &["show", &sid, "--reveal-user"],
    ] {
        let said = user.run(&[&["gate", "session"], words].concat());
        assert!(said.status.success(), "{said:?}");
        assert_harmless(&text(&said.stdout));
        let test = "sessions_are_named_without_harm";
        let json = [&["gate", "session"], words, &["--json"]].concat();
        let Some(shown) = user.on_a_terminal(test, &json) else {
            continue;
        };
        assert_harmless(&shown);
        let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(document.to_string().contains(&sid), "{shown}");
    }
    for word in ["revoke", "show", "revoke"] {
        let said = user.run(&["gate", "session", word, &sid]);
        assert_harmless(&text(&said.stderr));
    }
}

#[test]
fn lines_of_an_import_are_cited_without_harm() {
    let user = User::new();
    let line = serde_json::json!({ "sid": sid(), "user": "a", "password": "b", sid(): 1 });
    let file = user.write(
        &format!("import{}", '\u{202e}'),
        format!("{line}\n{}\n", sid()),
    );
    let said = user.run(&["gate", "session", "import", &file]);
    assert_harmless(&text(&said.stderr));
}

#[test]
fn what_is_wrong_with_a_configuration_is_said_without_harm() {
    let user = User::new();
    for (n, wrong) in [
        format!("[session]\n\"{}\" = 1\n", sid()),
        format!("[session]\nstore = \"{}\"\n", sid()),
        format!("[[route]]\nupstream = \"{}\"\n", sid()),
        format!("[listen]\nhttp = [\"{}\"]\n", sid()),
        format!("[token]\nkey = \"{}\"\n", sid()),
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
            let said = user.run(&words);
            assert!(!said.status.success(), "{words:?}");
            assert_inert(&text(&said.stdout));
            assert_inert(&text(&said.stderr));
            if verb == ["check"] {
                assert_harmless(&text(&said.stdout));
            }
        }
    }
}
