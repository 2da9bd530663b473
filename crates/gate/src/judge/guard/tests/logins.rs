//! Logins by a browser: only the login's cookie admits, and only for as long as its tokens are
//! valid.

use serde_json::{Map, json};

use super::*;
use crate::config::{Config, Login};
use crate::judge::login::session_name;

fn login() -> Login {
    let text = "[login]\nissuer = \"https://login.example\"\nclient_id = \"c\"\nauthorization = \"id-token\"";
    Config::parse(text, "test").unwrap().login.unwrap()
}

/// A guard at second 1500 that accepts logins.
fn login_guard() -> (Guard, Rc<Cell<i64>>, Arc<Vault>) {
    let mut vault = Vault::default();
    vault.add_key("k", &Secret::new(vec![1; 32])).unwrap();
    let vault = Arc::new(vault);
    let rules = Rules {
        login: Some(Arc::new(LoginRules::new(&login()))),
        vault: vault.clone(),
        ..rules()
    };
    let (guard, hand) = guard(rules);
    (guard, hand, vault)
}

fn cookie_value() -> String {
    "A".repeat(43)
}

fn judge_cookie(guard: &Guard, cookie: &str, login: bool) -> GuardDecision {
    let fields = [Field {
        name: "cookie",
        value: cookie.as_bytes(),
    }];
    guard.judge(
        &Request {
            ended: true,
            ..Request::get(&fields)
        },
        login,
    )
}

fn stored(vault: &Vault, name: &str, refresh: bool) -> (Found, Rc<ManualWatch>) {
    let document = LoginDocument {
        subject: "u".into(),
        sid: None,
        claims: json!({"groups": ["ops"]})
            .as_object()
            .cloned()
            .unwrap_or_else(Map::new),
        id_token: "token".into(),
        access_token: None,
        refresh_token: refresh.then(|| "r".into()),
        refresh_at: 1800,
        tokens_end: 2000,
        end: 3000,
    };
    let watch = Rc::<ManualWatch>::default();
    let found = Found {
        credentials: document.seal(vault, name).unwrap().into_bytes(),
        expires: None,
        watch: watch.clone(),
    };
    (found, watch)
}

#[test]
fn a_login_s_cookie_admits_where_logins_are_accepted() {
    let (guard, hand, vault) = login_guard();
    let cookie = format!("a=b; __Host-gate={}", cookie_value());
    assert_eq!(word(&judge_cookie(&guard, &cookie, false)), "deny 401");
    let question = asked(judge_cookie(&guard, &cookie, true));
    let name = session_name(&login().realm(), cookie_value().as_bytes()).unwrap();
    assert_eq!(question.session(), name);
    let pass = guard
        .admit(&question, Ok(Some(stored(&vault, &name, true).0)))
        .unwrap();
    assert_eq!(pass.authorization(), b"Bearer token");
    // From now on without the store, until the tokens expire.
    for now in [1500, 1799, 1999] {
        hand.set(now);
        assert_eq!(
            word(&judge_cookie(&guard, &cookie, true)),
            "pass Bearer token"
        );
    }
    assert!(guard.wants_refresh(&pass));
    assert!(!guard.wants_refresh(&pass), "it was said just now");
    hand.set(2000);
    let question = asked(judge_cookie(&guard, &cookie, true));
    let over = guard.admit(&question, Ok(Some(stored(&vault, &name, true).0)));
    assert_eq!(over.err(), Some(AuthError::TokensOver));
    let over = guard.admit(&question, Ok(Some(stored(&vault, &name, false).0)));
    assert_eq!(over.err(), Some(AuthError::UnknownSession));
}

#[test]
fn a_login_that_is_stored_under_another_name_is_refused() {
    let (guard, _, vault) = login_guard();
    let cookie = format!("__Host-gate={}", cookie_value());
    let question = asked(judge_cookie(&guard, &cookie, true));
    let moved = guard.admit(&question, Ok(Some(stored(&vault, "login.other", true).0)));
    assert!(matches!(moved, Err(AuthError::Credentials(_))));
    for odd in [
        "__Host-gate=",
        "__Host-gate=x",
        &format!("__Host-gate={}", "A".repeat(44)),
    ] {
        assert_eq!(word(&judge_cookie(&guard, odd, true)), "deny 401", "{odd}");
    }
}

/// A signer of tokens must not choose whose login to use.
#[test]
fn a_token_cannot_name_a_login() {
    let (guard, ..) = login_guard();
    let name = session_name(&login().realm(), cookie_value().as_bytes()).unwrap();
    let claims = format!(r#"{{"sub":"u","sid":"{name}","iat":1000,"exp":2000}}"#);
    let cookie = cookie(&token(&claims));
    for login in [true, false] {
        assert_eq!(word(&judge_cookie(&guard, &cookie, login)), "deny 401");
    }
}

#[test]
fn a_session_that_was_pushed_away_is_asked_for_again() {
    let (guard, _, vault) = login_guard();
    let cookie = format!("__Host-gate={}", cookie_value());
    let question = asked(judge_cookie(&guard, &cookie, true));
    let (found, watch) = stored(&vault, question.session(), true);
    guard.admit(&question, Ok(Some(found))).unwrap();
    assert_eq!(
        word(&judge_cookie(&guard, &cookie, true)),
        "pass Bearer token"
    );
    watch.outdate();
    asked(judge_cookie(&guard, &cookie, true));
}
