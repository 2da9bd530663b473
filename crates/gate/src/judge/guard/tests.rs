//! Which requests pass, which need the store, and which are denied.

mod cost;
mod logins;
mod signatures;
mod tokens;

use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use roundtrip_wire::jwt::Algorithm;

use super::*;
use crate::Secret;
use crate::judge::credentials::Vault;
use crate::judge::request::Field;

pub(super) const SECRET: &[u8] =
    b"a secret of sixty-four bytes, which is what HS512 would like to have";
const CLAIMS: &str = r#"{"sub":"canary-sub","sid":"canary-sid","iat":1000,"exp":2000}"#;

pub(super) fn part(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Makes a token that is signed with `secret` and HS512, whatever its header says.
pub(super) fn signed(header: &str, claims: &str, secret: &[u8]) -> String {
    let input = format!("{}.{}", part(header), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA512, secret);
    let tag = hmac::sign(&key, input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag))
}

pub(super) fn token(claims: &str) -> String {
    signed(r#"{"alg":"HS512","typ":"JWT"}"#, claims, SECRET)
}

fn cookie(token: &str) -> String {
    format!("Authorization={}", STANDARD.encode(token))
}

struct ManualClock(Rc<Cell<i64>>);

impl WallClock for ManualClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.get() as u64)
    }
}

pub(super) fn rules() -> Rules {
    let mut keys = Keys::default();
    keys.add_secret(Algorithm::Hs512, None, &Secret::new(SECRET.to_vec()))
        .unwrap();
    Rules::new(keys, Vault::default())
}

/// A guard whose clock is at second 1500.
pub(super) fn guard(rules: Rules) -> (Guard, Rc<Cell<i64>>) {
    let hand = Rc::new(Cell::new(1500));
    let wall = Box::new(ManualClock(hand.clone()));
    (Guard::new(Arc::new(rules), wall).unwrap(), hand)
}

pub(super) fn judge(guard: &Guard, fields: &[(&str, &str)]) -> GuardDecision {
    let field = |(name, value): &(&'static str, &'static str)| Field {
        name,
        value: value.as_bytes(),
    };
    // Leaked, so that they live long enough; a test has only a few.
    let owned: Vec<(&'static str, &'static str)> = fields
        .iter()
        .map(|(name, value)| (&*name.to_string().leak(), &*value.to_string().leak()))
        .collect();
    let fields: Vec<Field<'_>> = owned.iter().map(field).collect();
    guard.judge(&Request::get(&fields), false)
}

fn found(credentials: &str, expires: Option<i64>) -> (Found, Rc<ManualWatch>) {
    let watch = Rc::new(ManualWatch::default());
    let expires = expires.map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s as u64));
    let found = Found {
        credentials: STANDARD.encode(credentials).into_bytes(),
        expires,
        watch: watch.clone(),
    };
    (found, watch)
}

pub(super) fn asked(judged: GuardDecision) -> SessionQuery {
    match judged {
        GuardDecision::Ask(question) => question,
        other => panic!("{}", word(&other)),
    }
}

pub(super) fn word(judged: &GuardDecision) -> String {
    match judged {
        GuardDecision::Pass(session) => {
            format!("pass {}", String::from_utf8_lossy(session.authorization()))
        }
        GuardDecision::Ask(question) => format!("ask {}", question.session()),
        GuardDecision::Deny(denial) => format!("deny {}", denial.status()),
    }
}

/// What a guard that knows no session decides about one cookie.
fn first_sight(cookie: &str) -> String {
    word(&judge(&guard(rules()).0, &[("Cookie", cookie)]))
}

#[test]
fn hyper_auth_proxy_s_cookies_are_taken_and_refused_as_there() {
    let token = token(CLAIMS);
    let quoted = format!("\"{token}\"");
    for sent in [
        cookie(&token),
        cookie(&token).trim_end_matches('=').to_owned(),
        cookie(&quoted),
        format!("Authorization=\"{}\"", STANDARD.encode(&token)),
        format!("a=b; {}; c=d", cookie(&token)),
        format!("authorization=x; {}", cookie(&token)),
        format!("xAuthorization=x; {}", cookie(&token)),
        // The first one wins.
        format!("{}; Authorization=x", cookie(&token)),
    ] {
        assert_eq!(first_sight(&sent), "ask canary-sid", "{sent}");
    }
    let header = r#"{"alg":"HS512","typ":"JWT"}"#;
    for sent in [
        String::new(),
        "Authorization=".into(),
        "Authorization".into(),
        "Authorization=!".into(),
        // The token is not in base64.
        format!("Authorization={token}"),
        // The case of the name.
        cookie(&token).replace("Authorization", "authorization"),
        format!("Authorization=x; {}", cookie(&token)),
        cookie(&signed(
            header,
            CLAIMS,
            b"another secret of thirty-two bytes",
        )),
        cookie(&signed(r#"{"alg":"HS256"}"#, CLAIMS, SECRET)),
        cookie(&signed(r#"{"alg":"none"}"#, CLAIMS, SECRET)),
        cookie(&format!("{}.{}.", part(r#"{"alg":"none"}"#), part(CLAIMS))),
        cookie(&format!("{}.{}.", part(header), part(CLAIMS))),
        cookie(&token.replace(&part(CLAIMS), &part(&CLAIMS.replace("2000", "9000")))),
    ] {
        assert_eq!(first_sight(&sent), "deny 401", "{sent}");
    }
    for claims in [
        r#"{"sid":"s","iat":1000,"exp":2000}"#,
        r#"{"sub":"u","iat":1000,"exp":2000}"#,
        r#"{"sub":"u","sid":"s","exp":2000}"#,
        r#"{"sub":"u","sid":"s","iat":1000}"#,
        r#"{"sub":"u","sid":"s","iat":1000,"exp":2000.5}"#,
    ] {
        assert_eq!(
            first_sight(&cookie(&self::token(claims))),
            "deny 401",
            "{claims}"
        );
    }
}

#[test]
fn a_token_is_found_in_any_cookie_field_or_as_bearer() {
    let (guard, _) = guard(rules());
    let token = token(CLAIMS);
    let (sent, bearer) = (cookie(&token), format!("bearer {token}"));
    let said = |fields: &[(&str, &str)]| word(&judge(&guard, fields));
    assert_eq!(
        said(&[("cookie", "a=b"), ("COOKIE", &sent)]),
        "ask canary-sid"
    );
    assert_eq!(said(&[("Authorization", &bearer)]), "ask canary-sid");
    assert_eq!(
        said(&[("Cookie", "a=b"), ("authorization", &bearer)]),
        "ask canary-sid"
    );
    // A cookie takes precedence, however bad it is.
    assert_eq!(
        said(&[("Cookie", "Authorization=x"), ("Authorization", &bearer)]),
        "deny 401"
    );
    assert_eq!(
        said(&[("Authorization", &bearer), ("Authorization", &bearer)]),
        "deny 401"
    );
    assert_eq!(said(&[("Authorization", "Basic dTpw")]), "deny 401");
    assert_eq!(said(&[("Authorization", "Bearer")]), "deny 401");
    assert_eq!(said(&[]), "deny 401");
}

#[test]
fn each_place_can_be_closed() {
    let token = token(CLAIMS);
    let (sent, bearer) = (cookie(&token), format!("Bearer {token}"));
    let (no_bearer, _) = guard(Rules {
        bearer: false,
        ..rules()
    });
    assert_eq!(
        word(&judge(&no_bearer, &[("Authorization", &bearer)])),
        "deny 401"
    );
    let (no_cookie, _) = guard(Rules {
        cookie: None,
        ..rules()
    });
    assert_eq!(word(&judge(&no_cookie, &[("Cookie", &sent)])), "deny 401");
    let raw = Rules {
        cookie_form: CookieForm::Raw,
        cookie: Some("t".into()),
        ..rules()
    };
    let (raw, _) = guard(raw);
    assert_eq!(
        word(&judge(&raw, &[("Cookie", &format!("t={token}"))])),
        "ask canary-sid"
    );
}

#[test]
fn a_session_is_asked_for_once_and_then_known() {
    for tokens in [0, 64] {
        let (guard, _) = guard(Rules { tokens, ..rules() });
        let sent = cookie(&token(CLAIMS));
        let question = asked(judge(&guard, &[("Cookie", &sent)]));
        let (found, watch) = found("u:p", None);
        let session = guard.admit(&question, Ok(Some(found))).unwrap();
        assert_eq!(session.authorization(), b"Basic dTpw");
        assert_eq!(
            word(&judge(&guard, &[("Cookie", &sent)])),
            "pass Basic dTpw"
        );
        // Another token of the same session.
        let other = cookie(&token(&CLAIMS.replace("1000", "1001")));
        assert_eq!(
            word(&judge(&guard, &[("Cookie", &other)])),
            "pass Basic dTpw"
        );
        watch.outdate();
        assert_eq!(word(&judge(&guard, &[("Cookie", &sent)])), "ask canary-sid");
    }
}

#[test]
fn a_revoked_session_does_not_pass_again() {
    let (guard, _) = guard(rules());
    let sent = cookie(&token(CLAIMS));
    let question = asked(judge(&guard, &[("Cookie", &sent)]));
    let (found, watch) = found("u:p", None);
    guard.admit(&question, Ok(Some(found))).unwrap();
    watch.outdate();
    let question = asked(judge(&guard, &[("Cookie", &sent)]));
    assert_eq!(
        guard.admit(&question, Ok(None)).unwrap_err(),
        AuthError::UnknownSession
    );
    assert_eq!(word(&judge(&guard, &[("Cookie", &sent)])), "ask canary-sid");
}

#[test]
fn time_counts_on_every_request() {
    for tokens in [0, 64] {
        let (guard, hand) = guard(Rules { tokens, ..rules() });
        let sent = cookie(&token(
            r#"{"sub":"u","sid":"s","iat":1000,"exp":2000,"nbf":1200}"#,
        ));
        let said = |at| {
            hand.set(at);
            word(&judge(&guard, &[("Cookie", &sent)]))
        };
        assert_eq!(said(1169), "deny 401");
        let question = {
            hand.set(1170);
            asked(judge(&guard, &[("Cookie", &sent)]))
        };
        let (found, _watch) = found("u:p", Some(2010));
        guard.admit(&question, Ok(Some(found))).unwrap();
        assert_eq!(said(1999), "pass Basic dTpw");
        // The session expires before the leeway ends.
        assert_eq!(said(2010), "ask s");
        assert_eq!(said(2029), "ask s");
        assert_eq!(said(2030), "deny 401");
        assert_eq!(said(1169), "deny 401");
    }
}

#[test]
fn answers_of_the_store_become_statuses() {
    let (guard, _) = guard(rules());
    let sent = cookie(&token(CLAIMS));
    let question = asked(judge(&guard, &[("Cookie", &sent)]));
    let answered = |answer| guard.admit(&question, answer).unwrap_err().status();
    assert_eq!(answered(Ok(None)), 401);
    assert_eq!(answered(Ok(Some(found("u:p", Some(1500)).0))), 401);
    assert_eq!(answered(Ok(Some(found("nobody", None).0))), 500);
    assert_eq!(answered(Err(SessionError::Down)), 503);
    assert_eq!(answered(Err(SessionError::Unreadable)), 500);
    let mut spoilt = found("u:p", None).0;
    spoilt.credentials = b"v1.k.x".to_vec();
    assert_eq!(answered(Ok(Some(spoilt))), 500);
    // None of this is remembered.
    assert_eq!(word(&judge(&guard, &[("Cookie", &sent)])), "ask canary-sid");
}

/// Credentials that were sealed for one session do not open for another.
#[test]
fn a_stolen_blob_does_not_fit_another_session() {
    let mut vault = Vault::default();
    vault.add_key("k", &Secret::new(vec![7; 32])).unwrap();
    let victims = vault
        .seal("victim", &Secret::new(b"victim:canary".to_vec()))
        .unwrap();
    let (guard, _) = guard(Rules {
        vault: vault.into(),
        ..rules()
    });
    let question = asked(judge(&guard, &[("Cookie", &cookie(&token(CLAIMS)))]));
    let mut found = found("", None).0;
    found.credentials = victims.into_bytes();
    let denial = guard.admit(&question, Ok(Some(found))).unwrap_err();
    assert_eq!(denial, AuthError::Credentials(CredentialsError::Closed));
}

#[test]
fn nothing_secret_is_shown() {
    let (guard, _) = guard(rules());
    let question = asked(judge(&guard, &[("Cookie", &cookie(&token(CLAIMS)))]));
    let session = guard
        .admit(&question, Ok(Some(found("canary:canary", Some(1600)).0)))
        .unwrap();
    let encoded = STANDARD.encode("canary:canary");
    assert!(session.authorization().ends_with(encoded.as_bytes()));
    let mut shown = format!("{session:?}");
    for denial in [
        AuthError::BadToken,
        guard
            .admit(&question, Ok(Some(found("canary", None).0)))
            .unwrap_err(),
        AuthError::Store(SessionError::Down),
    ] {
        write!(shown, "{denial} {denial:?}").unwrap();
    }
    assert!(
        !shown.contains("canary") && !shown.contains(&encoded),
        "{shown}"
    );
}

#[test]
fn the_memory_of_tokens_is_bounded() {
    let (guard, _) = guard(Rules {
        tokens: 8,
        sessions: 8,
        ..rules()
    });
    for n in 0..100 {
        let claims = CLAIMS.replace("canary-sid", &format!("s{n}"));
        let sent = cookie(&token(&claims));
        let question = asked(judge(&guard, &[("Cookie", &sent)]));
        guard
            .admit(&question, Ok(Some(found(&format!("u{n}:p"), None).0)))
            .unwrap();
        // However many sessions are cached, none is taken for another.
        let expected = format!("pass Basic {}", STANDARD.encode(format!("u{n}:p")));
        assert_eq!(word(&judge(&guard, &[("Cookie", &sent)])), expected);
    }
}

#[test]
fn a_token_is_of_the_issuer_and_for_the_audience_that_are_wanted() {
    let with = |more: &str| cookie(&token(&CLAIMS.replace('}', &format!(",{more}}}"))));
    let strict = Rules {
        issuer: Some("us".into()),
        audience: Some("gate".into()),
        ..rules()
    };
    let (strict, _) = guard(strict);
    let said = |sent: &str| word(&judge(&strict, &[("Cookie", sent)]));
    for good in [
        r#""iss":"us","aud":"gate""#,
        r#""iss":"us","aud":["x","gate"]"#,
    ] {
        assert_eq!(said(&with(good)), "ask canary-sid", "{good}");
        // A guard that requires neither accepts both.
        assert_eq!(first_sight(&with(good)), "ask canary-sid", "{good}");
    }
    for bad in [
        r#""x":1"#,
        r#""iss":"us""#,
        r#""aud":"gate""#,
        r#""iss":"US","aud":"gate""#,
        r#""iss":"us","aud":"gate2""#,
        r#""iss":"us","aud":["x"]"#,
        r#""iss":"us","aud":[]"#,
    ] {
        assert_eq!(said(&with(bad)), "deny 401", "{bad}");
    }
}

/// A key that the rules no longer have admits no token, however often the token was seen before.
#[test]
fn new_rules_count_from_the_next_request() {
    let (tell, news) = watch::channel(Arc::new(rules()));
    let hand = Box::new(ManualClock(Rc::new(Cell::new(1500))));
    let guard = Guard::following(news, hand).unwrap();
    let sent = cookie(&token(CLAIMS));
    let said = || word(&judge(&guard, &[("Cookie", &sent)]));
    let question = asked(judge(&guard, &[("Cookie", &sent)]));
    let (found, _watch) = found("u:p", None);
    guard.admit(&question, Ok(Some(found))).unwrap();
    assert_eq!(said(), "pass Basic dTpw");
    let mut others = Keys::default();
    let secret = Secret::new(b"another secret of thirty-two bytes".to_vec());
    others.add_secret(Algorithm::Hs512, None, &secret).unwrap();
    tell.send_replace(Arc::new(Rules::new(others, Vault::default())));
    assert_eq!(said(), "deny 401");
    tell.send_replace(Arc::new(rules()));
    assert_eq!(said(), "ask canary-sid");
    drop(tell);
    assert_eq!(said(), "ask canary-sid");
}

/// Setting the clock does not change timers, so the guard reads the clock again and again.
#[tokio::test(start_paused = true)]
async fn open_streams_end_with_their_token_even_if_the_clock_is_set() {
    let (guard, hand) = guard(rules());
    let sent = cookie(&token(CLAIMS));
    let question = asked(judge(&guard, &[("Cookie", &sent)]));
    let (first, _watch) = found("u:p", Some(1900));
    let pass = guard.admit(&question, Ok(Some(first))).unwrap();
    let clock = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        // No exchange ends before the session does.
        hand.set(1899);
        tokio::time::sleep(2 * CLOCK_INTERVAL).await;
        hand.set(1900);
        std::future::pending::<()>().await;
    };
    let begun = tokio::time::Instant::now();
    let may_go_on = tokio::select! {
        may = guard.outlast(&pass) => may,
        () = clock => false,
    };
    assert!(may_go_on, "the session may have been prolonged");
    assert!(begun.elapsed() >= Duration::from_secs(10) + 2 * CLOCK_INTERVAL);
    // The session was prolonged; the token ends at 2000 plus 30 seconds of leeway.
    let (prolonged, watch) = found("u:p", None);
    let pass = guard.admit(&question, Ok(Some(prolonged))).unwrap();
    hand.set(2029);
    assert!(guard.holds(&pass));
    hand.set(2030);
    assert!(!guard.outlast(&pass).await, "no store can prolong a token");
    hand.set(1900);
    watch.outdate();
    assert!(guard.outlast(&pass).await);
}

/// The answer must not be 401: that would sign users out although their tokens may be valid.
#[test]
fn while_a_set_of_keys_is_still_to_come_an_unknown_signature_is_503() {
    let waiting = Rules {
        awaits_keys: true,
        ..rules()
    };
    let (guard, _) = guard(waiting);
    let said = |sent: &str| word(&judge(&guard, &[("Cookie", sent)]));
    assert_eq!(said(&cookie(&token(CLAIMS))), "ask canary-sid");
    let header = r#"{"alg":"HS512"}"#;
    let others = signed(header, CLAIMS, b"another secret of thirty-two bytes");
    assert_eq!(said(&cookie(&others)), "deny 503");
    assert_eq!(said("Authorization=x"), "deny 401");
}
