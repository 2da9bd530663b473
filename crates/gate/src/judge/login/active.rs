//! A login as the guard knows it.

use std::cell::Cell;
use std::fmt::Write;

use roundtrip_wire::percent;
use serde_json::{Map, Value};

use super::ClaimRules;
use super::claim_rules::verified_email;
use super::document::LoginDocument;
use crate::Secret;
use crate::config::LoginToken;

/// If a refresh has not ended by then, it is requested again. In seconds.
const ASK_AGAIN: i64 = 15;
/// The fields that say who is logged in.
pub(crate) const LOGIN_NAMES: [&str; 4] = [
    "X-Auth-Request-User",
    "X-Auth-Request-Email",
    "X-Auth-Request-Groups",
    "X-Auth-Request-Preferred-Username",
];
/// Longer values are not passed on.
const MAX_VALUE: usize = 4096;

pub(crate) struct ActiveLogin {
    subject: Box<str>,
    claims: Map<String, Value>,
    /// Fields for the backend, as lines of a head.
    lines: Vec<u8>,
    /// When to refresh the tokens, in seconds since 1970; `None` if they cannot be refreshed.
    refresh_at: Cell<Option<i64>>,
}

impl ActiveLogin {
    pub(crate) fn new(document: &LoginDocument, unverified_email: bool) -> Self {
        let refreshable = document.refresh_token.is_some();
        Self {
            subject: document.subject.as_str().into(),
            claims: document.claims.clone(),
            lines: lines(document, unverified_email),
            refresh_at: Cell::new(refreshable.then_some(document.refresh_at)),
        }
    }

    /// Whether the tokens should be refreshed now; `true` only now and then.
    pub(crate) fn wants_refresh(&self, now: i64) -> bool {
        let due = self.refresh_at.get().is_some_and(|at| at <= now);
        if due {
            self.refresh_at.set(Some(now.saturating_add(ASK_AGAIN)));
        }
        due
    }

    pub(crate) fn is_same_person(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    pub(crate) fn meets(&self, rules: &ClaimRules) -> bool {
        rules.admit(&self.claims)
    }

    pub(crate) fn lines(&self) -> &[u8] {
        &self.lines
    }
}

/// The value of `Authorization` for the backend; empty if it gets none.
pub(crate) fn authorization(document: &LoginDocument, passed: LoginToken) -> Secret {
    let token = match passed {
        LoginToken::None => None,
        LoginToken::AccessToken => document.access_token.as_deref(),
        LoginToken::IdToken => Some(document.id_token.as_str()),
    };
    // RFC 6750 §2.1: what is not in this alphabet could end the line.
    let fits = |token: &&str| token.bytes().all(|b| b.is_ascii_graphic());
    let value = token.filter(fits).map(|token| format!("Bearer {token}"));
    Secret::new(value.unwrap_or_default().into_bytes())
}

fn lines(document: &LoginDocument, unverified_email: bool) -> Vec<u8> {
    let mut lines = String::new();
    let [user, email, groups_name, username] = LOGIN_NAMES;
    let mut add = |name: &str, value: String| {
        if !value.is_empty() && value.len() <= MAX_VALUE {
            // Writing to a String does not fail.
            let _ = write!(lines, "{name}: {value}\r\n");
        }
    };
    add(user, escaped(&document.subject));
    let text = |claim: &str| document.claims.get(claim).and_then(Value::as_str);
    // Applications take the address for the person, and some providers let people write any.
    let address = verified_email(&document.claims);
    let address = address.or_else(|| text("email").filter(|_| unverified_email));
    add(email, address.map(escaped).unwrap_or_default());
    let groups = match document.claims.get("groups") {
        Some(Value::Array(groups)) => {
            let groups = groups.iter().filter_map(Value::as_str).map(escaped);
            groups.collect::<Vec<_>>().join(",")
        }
        Some(Value::String(group)) => escaped(group),
        _ => String::new(),
    };
    add(groups_name, groups);
    let preferred = text("preferred_username").map(escaped);
    add(username, preferred.unwrap_or_default());
    lines.into_bytes()
}

/// Percent-encodes what a field cannot have in it, and the comma: a group with a comma in its name
/// is not two groups.
fn escaped(value: &str) -> String {
    let escaped = percent::encode(value.as_bytes(), |byte| {
        (byte.is_ascii_graphic() || byte == b' ') && !b",%".contains(&byte)
    });
    escaped.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(claims: Value) -> LoginDocument {
        let Value::Object(claims) = claims else {
            panic!("an object")
        };
        LoginDocument {
            subject: "u\r\nX: y".into(),
            sid: None,
            claims,
            id_token: "id".into(),
            access_token: Some("a\r\nb".into()),
            refresh_token: Some("r".into()),
            refresh_at: 100,
            tokens_end: 160,
            end: 1000,
        }
    }

    #[test]
    fn a_claim_cannot_write_another_field_or_another_group() {
        let claims =
            json!({"groups": ["a", "b,ops", "ä"], "email": "a@b\n", "preferred_username": 1});
        let login = ActiveLogin::new(&document(claims), true);
        assert_eq!(
            String::from_utf8(login.lines().to_vec()).unwrap(),
            "X-Auth-Request-User: u%0D%0AX: y\r\nX-Auth-Request-Email: a@b%0A\r\n\
             X-Auth-Request-Groups: a,b%2Cops,%C3%A4\r\n"
        );
        let document = document(json!({}));
        let passed = |form| authorization(&document, form).expose().to_vec();
        assert_eq!(passed(LoginToken::IdToken), b"Bearer id");
        assert_eq!(
            passed(LoginToken::AccessToken),
            b"",
            "it would end the line"
        );
        assert_eq!(passed(LoginToken::None), b"");
    }

    #[test]
    fn an_address_that_the_provider_has_not_verified_is_not_passed_on() {
        let passed = |verified: Value, unverified_email| {
            let mut claims = json!({"email": "ceo@example.com", "email_verified": verified});
            if verified.is_null() {
                claims.as_object_mut().unwrap().remove("email_verified");
            }
            let login = ActiveLogin::new(&document(claims), unverified_email);
            String::from_utf8_lossy(login.lines()).contains("X-Auth-Request-Email: ceo@")
        };
        assert!(passed(true.into(), false));
        for verified in [false.into(), "false".into(), Value::Null] {
            assert!(!passed(verified.clone(), false), "{verified}");
            assert!(passed(verified, true));
        }
    }

    #[test]
    fn a_refresh_is_wanted_once_and_again_later() {
        let login = ActiveLogin::new(&document(json!({})), false);
        assert!(!login.wants_refresh(99));
        assert!(login.wants_refresh(100));
        assert!(!login.wants_refresh(100 + ASK_AGAIN - 1));
        assert!(login.wants_refresh(100 + ASK_AGAIN));
    }
}
