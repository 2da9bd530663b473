//! A guard accepts the sessions that were made by hand.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::judge::guard::{Guard, GuardDecision};
use crate::judge::request::{Field, Request};
use crate::manage::{Token, TokenRequest, TokenTransport};

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

fn secret_file(folder: &Path, name: &str, text: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

/// A configuration with a store in a file, and with these `[session]` and `[token]`.
fn config(folder: &Path, session: &str, token: &str) -> Config {
    let store = folder.join("sessions");
    let text = format!(
        "[token]\n{token}\n[session]\nstore = \"redb:{}\"\n{session}",
        store.display()
    );
    Config::parse(&text, "test").unwrap()
}

fn seal_keys(folder: &Path, names: &[&str]) -> String {
    let key = |name: &&str| {
        let file = secret_file(folder, name, name.repeat(32).as_bytes());
        format!("[[session.seal]]\nid = \"{name}\"\nfrom = {{ file = \"{file}\" }}\n")
    };
    names.iter().map(key).collect()
}

fn login(text: &str) -> Secret {
    Secret::new(text.into())
}

#[test]
fn what_is_put_is_sealed_shown_without_its_password_and_revoked() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), &seal_keys(folder.path(), &["k"]), "");
        let manager = SessionManager::open(&config).unwrap();
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        let form = manager.put("s", &login("user:canary"), Some(end)).await;
        assert_eq!(form.unwrap(), CredentialForm::Sealed("k".into()));
        let shown = manager.show("s").await.unwrap().unwrap();
        assert_eq!(shown.user, Ok("user".into()));
        assert_eq!(
            (&shown.form, shown.expires),
            (&CredentialForm::Sealed("k".into()), Some(end))
        );
        assert!(!format!("{shown:?}").contains("canary"));
        let stored = manager.store.get("s").await.unwrap().unwrap();
        assert!(stored.credentials.starts_with(b"v1.k."));
        assert_eq!(manager.list(None, 10).await.unwrap().sids, ["s"]);
        assert!(manager.revoke("s").await.unwrap());
        assert!(!manager.revoke("s").await.unwrap());
        assert_eq!(manager.show("s").await.unwrap(), None);
        for (sid, text, end) in [
            ("", "u:p", None),
            ("a\nb", "u:p", None),
            ("s", "nobody", None),
            ("s", "u:p", Some(SystemTime::UNIX_EPOCH)),
        ] {
            let refused = manager.put(sid, &login(text), end).await;
            assert!(refused.is_err(), "{sid:?} {text}");
        }
        assert!(manager.list(None, 10).await.unwrap().sids.is_empty());
    });
}

#[test]
fn without_a_key_plain_is_written_only_where_it_is_taken() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let manager = SessionManager::open(&config(folder.path(), "", "")).unwrap();
        assert_eq!(
            manager.put("s", &login("u:p\n"), None).await.unwrap(),
            CredentialForm::Plain
        );
        let stored = manager.store.get("s").await.unwrap().unwrap();
        assert_eq!(stored.credentials, b"dTpw");
        assert!(manager.put("t", &login("nobody"), None).await.is_err());
        let other = tempfile::tempdir().unwrap();
        let strict = SessionManager::open(&config(other.path(), "plain = false", "")).unwrap();
        let refused = strict.put("s", &login("u:p"), None).await;
        assert!(matches!(refused, Err(GateError::NothingStorable)));
        let memory = SessionManager::open(&Config::default());
        assert!(matches!(memory, Err(GateError::OnlyInMemory)));
    });
}

#[test]
fn lines_come_in_and_bad_ones_cost_themselves() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), &seal_keys(folder.path(), &["k"]), "");
        let manager = SessionManager::open(&config).unwrap();
        let good = STANDARD.encode("u:canary");
        let long = "x".repeat(200_000);
        let lines = [
            format!(r#"{{"sid":"a","credentials":"{good}"}}"#),
            format!(r#"{{"sid":"b","credentials":"{good}","expires":4000000000}}"#),
            String::new(),
            format!(r#"{{"sid":"c","credentials":"{good}","expires":7}}"#),
            r#"{"sid":"d","credentials":"!"}"#.into(),
            r#"{"sid":"canary"}"#.into(),
            format!(r#"{{"sid":"{long}","credentials":"{good}"}}"#),
            format!(r#"{{"sid":"e","credentials":"{good}","expires":18446744073709551615}}"#),
            "not JSON".into(),
            format!(r#"{{"sid":"f","credentials":"{good}"}}"#),
        ];
        let mut failed = Vec::new();
        let imported = manager
            .import(lines.join("\n").as_bytes(), |line, error| {
                assert!(!error.to_string().contains("canary"), "{error}");
                failed.push(line);
            })
            .await;
        assert_eq!(failed, [5, 6, 7, 8, 9]);
        let expected = Imported {
            stored: 3,
            expired: 1,
            failed: 5,
            stopped: false,
        };
        assert_eq!(imported, expected);
        assert_eq!(manager.list(None, 10).await.unwrap().sids, ["a", "b", "f"]);
        let shown = manager.show("b").await.unwrap().unwrap();
        assert_eq!(shown.form, CredentialForm::Sealed("k".into()));
        assert!(shown.expires.is_some());
    });
}

#[test]
fn plain_and_old_ones_are_sealed_anew_with_all_that_stands_beside() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        {
            let plain = SessionManager::open(&config(folder.path(), "", "")).unwrap();
            let json = br#"{"credentials":"dTpw","app":{"x":1}}"#;
            let record = Record::from_json(json, Some(end)).unwrap();
            plain.store.put("plain", &record).await.unwrap();
            plain
                .store
                .put("spoilt", &Record::new("!", None))
                .await
                .unwrap();
        }
        {
            let keys = seal_keys(folder.path(), &["o"]);
            let old = SessionManager::open(&config(folder.path(), &keys, "")).unwrap();
            old.put("old", &login("o:p"), None).await.unwrap();
        }
        let keys = seal_keys(folder.path(), &["n", "o"]);
        let manager = SessionManager::open(&config(folder.path(), &keys, "")).unwrap();
        manager.put("new", &login("n:p"), None).await.unwrap();
        let mut failed = Vec::new();
        let resealed = manager
            .seal(|sid, _| failed.push(sid.to_owned()))
            .await
            .unwrap();
        assert_eq!((resealed.sealed, resealed.kept, resealed.failed), (2, 1, 1));
        assert_eq!(failed, ["spoilt"]);
        for (sid, user) in [("plain", "u"), ("old", "o"), ("new", "n")] {
            let shown = manager.show(sid).await.unwrap().unwrap();
            assert_eq!(
                (shown.user, shown.form),
                (Ok(user.into()), CredentialForm::Sealed("n".into()))
            );
        }
        let sealed = manager.store.get("plain").await.unwrap().unwrap();
        assert_eq!(sealed.expires, Some(end));
        assert_eq!(sealed.others["app"]["x"], 1);
        assert_eq!(manager.seal(|_, _| {}).await.unwrap().kept, 3);
        let unkeyed = SessionManager::open(&config(folder.path(), "", "")).unwrap();
        assert!(matches!(
            unkeyed.seal(|_, _| {}).await,
            Err(GateError::NoSealingKey)
        ));
    });
}

#[test]
fn a_token_is_taken_by_the_guard_of_the_same_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let key = secret_file(folder.path(), "secret", &[b'x'; 64]);
    for (form, transport) in [
        ("base64", TokenTransport::Cookie),
        ("raw", TokenTransport::Cookie),
        ("raw", TokenTransport::Bearer),
    ] {
        let token = format!(
            "cookie_form = \"{form}\"\nissuer = \"me\"\naudience = \"us\"\n\
             [[token.key]]\nalgorithm = \"HS384\"\nid = \"one\"\nfrom = {{ file = \"{key}\" }}"
        );
        let config = config(folder.path(), "", &token);
        let order = TokenRequest {
            subject: "someone",
            sid: "the-sid",
            lifetime: Duration::from_mins(1),
            transport,
            key: None,
        };
        let token = Token::sign(&config, &order, SystemTime::now()).unwrap();
        let field = std::str::from_utf8(token.field.expose()).unwrap();
        assert!(token.field.expose().ends_with(token.value.expose()));
        let (name, value) = field.split_once(": ").unwrap();
        let rules = Arc::new(crate::judge::configured::rules(&config).unwrap());
        let guard = Guard::new(rules, Box::new(SystemTime::now)).unwrap();
        let fields = [Field {
            name,
            value: value.as_bytes(),
        }];
        let judged = guard.judge(&Request::get(&fields), false);
        assert!(matches!(judged, GuardDecision::Ask(question) if question.session() == "the-sid"));
        let other = TokenRequest {
            key: Some("two"),
            ..order
        };
        let refused = Token::sign(&config, &other, SystemTime::now())
            .err()
            .unwrap();
        assert!(refused.to_string().contains("'two'"), "{refused}");
        let none = Token::sign(&Config::default(), &order, SystemTime::now());
        assert!(matches!(none, Err(GateError::NoSigningKey(_))));
    }
}
