//! What a provider's logout token must say once its signature was verified. OpenID Connect
//! Back-Channel Logout §2.6.

use serde_json::Value;

use super::LoginError;
use super::id_token::{Expected, object, text, whole};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// The oldest age of a token, in seconds: older tokens are refused, and a token's `jti` is
/// remembered for this long.
pub(super) const MAX_AGE: i64 = 300;
/// The longest name, in bytes.
const MAX_NAME: usize = 512;

/// Which sessions have ended: all sessions of a user, or only those that belong to one session at
/// the provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogoutToken {
    pub(super) subject: Option<String>,
    pub(super) sid: Option<String>,
    pub(super) id: String,
    /// Seconds since 1970, on the provider's clock.
    pub(super) issued: i64,
}

pub(super) fn check(payload: &[u8], expected: Expected<'_>) -> Result<LogoutToken, LoginError> {
    let refused = |why| Err(LoginError::Refused(why));
    let claims = object(payload)?;
    let issued = expected.check(&claims)?;
    let is_event = |events: &Value| events.get(EVENT).is_some_and(Value::is_object);
    if !claims.get("events").is_some_and(is_event) {
        return refused("the token is not a logout token");
    }
    // An ID token must not be taken for one.
    if claims.contains_key("nonce") {
        return refused("a logout token has no nonce");
    }
    let oldest = expected.now.saturating_sub(MAX_AGE + expected.leeway);
    let over = |end: i64| end.saturating_add(expected.leeway) <= expected.now;
    let has_expired = claims.contains_key("exp") && whole(&claims, "exp").is_none_or(over);
    if has_expired || issued < oldest {
        return refused("the logout token has expired");
    }
    let name = |claim| {
        let name = text(&claims, claim).filter(|name| !name.is_empty() && name.len() <= MAX_NAME);
        name.map(str::to_owned)
    };
    let (subject, sid) = (name("sub"), name("sid"));
    if subject.is_none() && sid.is_none() {
        return refused("the logout token names neither a user nor a session");
    }
    let Some(id) = name("jti") else {
        return refused("the logout token has no jti");
    };
    Ok(LogoutToken {
        subject,
        sid,
        id,
        issued,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(change: impl FnOnce(&mut Value)) -> Result<LogoutToken, String> {
        let mut claims = json!({
            "iss": "https://login.example", "aud": "gate", "sub": "u", "sid": "s", "jti": "j",
            "iat": 990, "exp": 1100, "events": { EVENT: {} },
        });
        change(&mut claims);
        let expected = Expected {
            issuer: "https://login.example",
            client_id: "gate",
            now: 1000,
            leeway: 30,
        };
        let checked = check(&serde_json::to_vec(&claims).unwrap(), expected);
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_good_token_names_whom_it_logs_out() {
        let token = checked(|_| ()).unwrap();
        assert_eq!(
            (token.subject.as_deref(), token.sid.as_deref()),
            (Some("u"), Some("s"))
        );
        let sub = checked(|claims| claims["sid"] = json!(null)).unwrap();
        assert_eq!(sub.sid, None);
    }

    #[test]
    fn a_token_that_is_not_a_logout_token_logs_nobody_out() {
        let cases: [(&str, Value, &str); 11] = [
            ("iss", json!("https://evil.example"), "another issuer"),
            ("aud", json!("other"), "another client"),
            ("events", json!({}), "not a logout token"),
            ("events", json!({ EVENT: true }), "not a logout token"),
            ("events", json!(EVENT), "not a logout token"),
            ("nonce", json!("n"), "no nonce"),
            ("iat", json!(669), "expired"),
            ("exp", json!(970), "expired"),
            ("exp", json!("x"), "expired"),
            ("jti", json!(""), "no jti"),
            ("iat", json!(1031), "not valid yet"),
        ];
        for (claim, value, why) in cases {
            let error = checked(|claims| claims[claim] = value.clone()).err();
            assert!(
                error.as_ref().is_some_and(|e| e.contains(why)),
                "{claim} {value}: {error:?}"
            );
        }
        let nobody = checked(|claims| {
            claims["sub"] = json!("");
            claims["sid"] = json!(null);
        });
        assert!(nobody.unwrap_err().contains("neither"));
    }
}
