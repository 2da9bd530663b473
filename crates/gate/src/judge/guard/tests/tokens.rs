//! Where a token is found, and when it begins to be valid.

use super::*;

/// The same bytes in another place are a different token, whether or not they are cached.
#[test]
fn a_cached_token_is_of_the_place_where_it_was_found() {
    let token = token(CLAIMS);
    let (bare, dressed) = (token.as_str(), STANDARD.encode(&token));
    let bearer = |bytes: &str| ("Authorization", format!("Bearer {bytes}"));
    let cookie = |bytes: &str| ("Cookie", format!("Authorization={bytes}"));
    for [good, bad] in [
        [bearer(bare), cookie(bare)],
        [cookie(&dressed), bearer(&dressed)],
    ] {
        let (guard, _) = guard(rules());
        let said = |(name, value): &(&str, String)| word(&judge(&guard, &[(name, value)]));
        assert_eq!(said(&bad), "deny 401");
        let question = asked(judge(&guard, &[(good.0, &good.1)]));
        let (found, _watch) = found("u:p", None);
        guard.admit(&question, Ok(Some(found))).unwrap();
        for _ in 0..2 {
            assert_eq!(said(&good), "pass Basic dTpw");
            assert_eq!(said(&bad), "deny 401", "{bad:?} behind {good:?}");
        }
    }
}

/// RFC 7519 §4.1.6: the token is from the future, so a clock or the issuer is wrong.
#[test]
fn a_token_of_the_future_is_too_early() {
    for tokens in [0, 64] {
        let (guard, hand) = guard(Rules { tokens, ..rules() });
        for claims in [
            r#"{"sub":"u","sid":"s","iat":1600,"exp":2000}"#,
            r#"{"sub":"u","sid":"s","iat":1600,"exp":2000,"nbf":1000}"#,
            r#"{"sub":"u","sid":"s","iat":1000,"exp":2000,"nbf":1600}"#,
        ] {
            let worn = cookie(&token(claims));
            hand.set(1569);
            let judged = judge(&guard, &[("Cookie", &worn)]);
            let is_early = matches!(judged, GuardDecision::Deny(AuthError::TooEarly));
            assert!(is_early, "{claims}: {}", word(&judged));
            // The leeway is 30 seconds.
            hand.set(1570);
            assert_eq!(word(&judge(&guard, &[("Cookie", &worn)])), "ask s");
            hand.set(1569);
            assert_eq!(word(&judge(&guard, &[("Cookie", &worn)])), "deny 401");
        }
    }
}
