//! `gate` as a person and as a program see it: what is written, what is found, how it exits, and that no secret is told.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A user's home, and what is said there.
struct User(TempDir);

impl User {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        command
            .arg("gate")
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("XDG_STATE_HOME")
            .env("HOME", self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn gate(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The document of a check, and the exit code.
    fn checked(&self, arguments: &[&str]) -> (Value, Option<i32>) {
        let said = self.gate(&[&["check", "--json"], arguments].concat());
        let document = serde_json::from_slice(&said.stdout).unwrap();
        (document, said.status.code())
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_template_is_written_and_never_over_a_file() {
    let user = User::new();
    let printed = user.gate(&["init"]);
    assert_eq!(printed.status.code(), Some(0));
    let written = user.gate(&["init", "-o", "gate.toml"]);
    assert_eq!(written.status.code(), Some(0), "{}", err(&written));
    assert!(err(&written).contains("roundtrip gate check --config gate.toml"));
    let file = fs::read_to_string(user.path("gate.toml")).unwrap();
    assert_eq!(file, out(&printed));
    assert!(file.contains("[[route]]"));
    user.write("gate.toml", "mine");
    let refused = user.gate(&["init", "-o", "gate.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("gate.toml is there already"));
    assert_eq!(fs::read_to_string(user.path("gate.toml")).unwrap(), "mine");
}

#[test]
fn without_a_file_all_is_sound_and_the_keys_are_made() {
    let user = User::new();
    let said = user.gate(&["check"]);
    assert_eq!(said.status.code(), Some(0), "{}", out(&said));
    assert_eq!(
        out(&said),
        "the configuration without a file: nothing is wrong; a start would succeed\n"
    );
    let home = user.path(".local/state/roundtrip/gate");
    let key = fs::metadata(home.join("token.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    // Without a home there is no place for them.
    let mut homeless = user.command(&["check"]);
    let said = homeless.env_remove("HOME").output().unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(
        out(&said).contains("neither XDG_STATE_HOME nor HOME"),
        "{}",
        out(&said)
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let user = User::new();
    let file = user.write(
        "gate.toml",
        "[listen]\nhttp = [\"127.0.0.1:8080\"]\nh3 = false\n[session]\nstore = \"memory:\"\n[[route]]\nupstream = \"b\"\n",
    );
    let said = user.gate(&["check", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    let text = out(&said);
    for expected in [
        "error    token.key: a route wants a session",
        "warning  session.store: sessions in memory",
        "error    route[0].upstream: there is no [upstream.b]",
        "gate.toml: 2 errors, 1 warning; a start would not succeed\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let (document, code) = user.checked(&["--config", &file]);
    assert_eq!(
        (document["schema"].as_str(), code),
        (Some("roundtrip/gate-check/1"), Some(1))
    );
    assert_eq!(document["passes"], false);
    assert_eq!(document["config"], file);
    let severities: Vec<&str> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["severity"].as_str().unwrap())
        .collect();
    assert_eq!(severities, ["error", "warning", "error"]);
    let quiet = user.gate(&["check", "-q", "--config", &file]);
    assert_eq!((quiet.status.code(), out(&quiet).as_str()), (Some(1), ""));
}

/// Of a check's keys each is explained in the guide.
#[test]
fn the_guide_explains_the_document() {
    let guide = include_str!("../../../docs/gate.md");
    let (document, _) = User::new().checked(&[]);
    for key in document.as_object().unwrap().keys() {
        assert!(guide.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn a_file_that_cannot_be_read_says_where() {
    let user = User::new();
    let file = user.write("gate.toml", "[session]\nstor = \"canary\"\n");
    let said = user.gate(&["check", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    let expected = "gate.toml:2:1: [session] has no key `stor`; did you mean `store`?";
    assert!(out(&said).contains(expected), "{}", out(&said));
    assert!(!out(&said).contains("canary"));
    let (document, code) = user.checked(&["--config", &file]);
    assert_eq!(code, Some(1));
    let place = document["findings"][0]["place"].as_str().unwrap();
    assert!(place.ends_with("gate.toml:2:1"), "{place}");
    let none = user.gate(&["check", "--config", "none.toml"]);
    assert!(
        out(&none).contains("cannot read none.toml"),
        "{}",
        out(&none)
    );
}

#[test]
fn with_connect_servers_are_asked() {
    let user = User::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = user.write(
        "gate.toml",
        &format!(
            "[listen]\nhttp = [\"127.0.0.1:8080\"]\nh3 = false\n[[route]]\nupstream = \"b\"\nauth = false\n\
             [upstream.b]\nservers = [\"http://{}\"]\n",
            listener.local_addr().unwrap()
        ),
    );
    let (document, code) = user.checked(&["--connect", "--config", &file]);
    assert_eq!(
        (code, &document["connected"]),
        (Some(0), &Value::Bool(true)),
        "{document}"
    );
    drop(listener);
    let (document, code) = user.checked(&["--connect", "--config", &file]);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["findings"][0]["place"], "upstream.b.servers[0]");
}
