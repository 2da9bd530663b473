//! What an ID token must say once its signature was verified. OpenID Connect Core §3.1.3.7.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{self, SHA256, SHA384, SHA512};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use roundtrip_wire::jwt::Algorithm;
use serde_json::{Map, Value};

use super::LoginError;

/// OpenID Connect Core §2. In bytes.
const MAX_SUBJECT: usize = 255;
const MAX_SID: usize = 512;
/// Claims about the token, not about the person.
const ABOUT_THE_TOKEN: [&str; 11] = [
    "iss", "aud", "exp", "iat", "nbf", "nonce", "at_hash", "c_hash", "azp", "jti", "sid",
];

pub(super) struct IdToken {
    pub(super) subject: String,
    pub(super) sid: Option<String>,
    /// Seconds since 1970, on the provider's clock.
    pub(super) issued: i64,
    pub(super) expires: i64,
    pub(super) claims: Map<String, Value>,
}

/// What every token of the provider for this client must say.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    /// The present time, in seconds since 1970.
    pub(super) now: i64,
    pub(super) leeway: i64,
}

/// Checks the claims. `nonce` is the request's; an ID token from a refresh may have none.
/// `access_token` is the one that came with the ID token.
pub(super) fn check(
    payload: &[u8],
    algorithm: Algorithm,
    expected: Expected<'_>,
    nonce: Option<&str>,
    access_token: Option<&str>,
) -> Result<IdToken, LoginError> {
    let refused = |why| Err(LoginError::Refused(why));
    let mut claims = object(payload)?;
    let issued = expected.check(&claims)?;
    let Some(expires) = whole(&claims, "exp") else {
        return refused("the ID token has no exp");
    };
    if expires.saturating_add(expected.leeway) <= expected.now {
        return refused("the ID token has expired");
    }
    if let Some(nonce) = nonce {
        let said = text(&claims, "nonce").unwrap_or_default();
        if verify_slices_are_equal(said.as_bytes(), nonce.as_bytes()).is_err() {
            return refused("the ID token has another nonce");
        }
    }
    if let Some(said) = claims.get("at_hash") {
        let fits = access_token
            .is_some_and(|token| Some(half_hash(algorithm, token).as_str()) == said.as_str());
        if !fits {
            return refused("the ID token is for another access token");
        }
    }
    let subject = text(&claims, "sub").unwrap_or_default().to_owned();
    if subject.is_empty() || subject.len() > MAX_SUBJECT {
        return refused("the ID token's sub is missing, or too long");
    }
    let sid = text(&claims, "sid").map(str::to_owned);
    if sid
        .as_ref()
        .is_some_and(|sid| sid.is_empty() || sid.len() > MAX_SID)
    {
        return refused("the ID token's sid is empty, or too long");
    }
    claims.retain(|claim, _| !ABOUT_THE_TOKEN.contains(&claim.as_str()));
    Ok(IdToken {
        subject,
        sid,
        issued,
        expires,
        claims,
    })
}

impl Expected<'_> {
    /// Checks the issuer and the audience, and that it is not from the future. Returns when it was
    /// issued.
    pub(super) fn check(&self, claims: &Map<String, Value>) -> Result<i64, LoginError> {
        let refused = |why| Err(LoginError::Refused(why));
        if text(claims, "iss") != Some(self.issuer) {
            return refused("the token has another issuer");
        }
        let others = match claims.get("aud") {
            Some(Value::String(audience)) if audience == self.client_id => false,
            Some(Value::Array(audiences)) if audiences.iter().any(|a| *a == self.client_id) => {
                audiences.len() > 1
            }
            _ => return refused("the token is for another client"),
        };
        match claims.get("azp") {
            None if others => {
                return refused(
                    "the token is for several clients and does not say which one requested it",
                );
            }
            None => {}
            Some(party) if *party == self.client_id => {}
            Some(_) => return refused("the token was issued to another client"),
        }
        let latest = self.now.saturating_add(self.leeway);
        let Some(issued) = whole(claims, "iat") else {
            return refused("the token has no iat");
        };
        let not_before = match claims.get("nbf") {
            None => issued,
            Some(_) => whole(claims, "nbf").unwrap_or(i64::MAX),
        };
        if issued > latest || not_before > latest {
            return refused("the token is not valid yet");
        }
        Ok(issued)
    }
}

pub(super) fn object(payload: &[u8]) -> Result<Map<String, Value>, LoginError> {
    let object = serde_json::from_slice(payload);
    object.map_err(|_| LoginError::Refused("the token's claims are not a JSON object"))
}

pub(super) fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str()
}

pub(super) fn whole(claims: &Map<String, Value>, name: &str) -> Option<i64> {
    let value = claims.get(name)?;
    // Some providers write times with a fraction.
    value.as_i64().or_else(|| Some(value.as_f64()? as i64))
}

/// OpenID Connect Core §3.1.3.6: the left half of the hash of the token's algorithm.
fn half_hash(algorithm: Algorithm, token: &str) -> String {
    use Algorithm::{Es256, Es384, Hs256, Hs384, Ps256, Ps384, Rs256, Rs384};
    let hash = match algorithm {
        Hs256 | Rs256 | Ps256 | Es256 => &SHA256,
        Hs384 | Rs384 | Ps384 | Es384 => &SHA384,
        _ => &SHA512,
    };
    let digest = digest::digest(hash, token.as_bytes());
    let half = digest.as_ref().get(..digest.as_ref().len() / 2);
    URL_SAFE_NO_PAD.encode(half.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const EXPECTED: Expected<'_> = Expected {
        issuer: "https://login.example",
        client_id: "gate",
        now: 1000,
        leeway: 30,
    };

    fn good() -> Map<String, Value> {
        let Value::Object(claims) = json!({
            "iss": "https://login.example", "aud": "gate", "sub": "u", "sid": "s", "nonce": "n",
            "iat": 990, "exp": 1300, "email": "u@example.com",
        }) else {
            panic!("an object")
        };
        claims
    }

    fn checked(claims: &Map<String, Value>) -> Result<IdToken, String> {
        let payload = serde_json::to_vec(claims).unwrap();
        let checked = check(
            &payload,
            Algorithm::Rs256,
            EXPECTED,
            Some("n"),
            Some("access"),
        );
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_good_token_is_accepted_and_tells_about_the_person() {
        let token = checked(&good()).unwrap();
        assert_eq!(
            (token.subject.as_str(), token.sid.as_deref()),
            ("u", Some("s"))
        );
        let claims: Vec<&str> = token.claims.keys().map(String::as_str).collect();
        assert_eq!((claims, token.expires), (vec!["sub", "email"], 1300));
    }

    #[test]
    fn unexpected_claims_are_refused() {
        for (claim, value, why) in [
            ("iss", json!("https://login.example/"), "another issuer"),
            ("iss", json!(null), "another issuer"),
            ("aud", json!("other"), "another client"),
            ("aud", json!([]), "another client"),
            ("aud", json!(["gate", "other"]), "several clients"),
            ("azp", json!("other"), "issued to another"),
            ("iat", json!(1031), "not valid yet"),
            ("iat", json!("990"), "no iat"),
            ("nbf", json!(1031), "not valid yet"),
            ("nbf", json!("x"), "not valid yet"),
            ("exp", json!(970), "expired"),
            ("exp", json!(null), "no exp"),
            ("nonce", json!("m"), "another nonce"),
            ("nonce", json!(["n"]), "another nonce"),
            (
                "at_hash",
                json!("AAAAAAAAAAAAAAAAAAAAAA"),
                "another access token",
            ),
            ("at_hash", json!(null), "another access token"),
            ("sub", json!(""), "sub is missing"),
            ("sub", json!("u".repeat(256)), "sub is missing"),
            ("sid", json!(""), "sid is empty"),
        ] {
            let mut claims = good();
            claims.insert(claim.into(), value.clone());
            let error = checked(&claims).err();
            assert!(
                error.as_ref().is_some_and(|e| e.contains(why)),
                "{claim} {value}: {error:?}"
            );
        }
    }

    #[test]
    fn permitted_claims_are_accepted() {
        for (claim, value) in [
            ("aud", json!(["gate"])),
            ("azp", json!("gate")),
            ("iat", json!(1030)),
            ("exp", json!(971)),
            ("exp", json!(1300.5)),
            ("at_hash", json!(half_hash(Algorithm::Rs256, "access"))),
        ] {
            let mut claims = good();
            claims.insert(claim.into(), value.clone());
            assert!(checked(&claims).is_ok(), "{claim} {value}");
        }
        let mut several = good();
        several.insert("aud".into(), json!(["gate", "other"]));
        several.insert("azp".into(), json!("gate"));
        assert!(checked(&several).is_ok());
    }

    /// OpenID Connect Core appendix A.3.
    #[test]
    fn the_hash_is_that_of_the_specification() {
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        assert_eq!(half_hash(Algorithm::Rs256, token), "77QmUPtjPfzWtF2AnpK9RQ");
    }
}
