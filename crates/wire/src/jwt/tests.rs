//! Tokens that are accepted, and those that are refused.

use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use proptest::prelude::*;

use super::*;

const CLAIMS: &str = r#"{"sub":"u","sid":"s","iat":1,"exp":2}"#;

fn token(header: &str, claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", part(header), part(claims), part("signature"))
}

fn header_is_read(header: &str) -> bool {
    Jws::parse(token(header, CLAIMS).as_bytes()).is_ok()
}

/// RFC 7515 appendix A.1.
#[test]
fn the_token_of_the_rfc_is_read() {
    let text = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
                cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let jws = Jws::parse(text.as_bytes()).unwrap();
    assert_eq!(jws.algorithm, Algorithm::Hs256);
    assert_eq!(jws.signature.len(), 32);
    assert_eq!(jws.signed, text.rsplit_once('.').unwrap().0.as_bytes());
    // It has no sub and no sid.
    assert!(jws.claims().is_err());
}

#[test]
fn headers_say_who_signed_and_nothing_unheard_of() {
    for good in [
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"EdDSA","kid":"a","typ":"JWT","x":[1,{"a":1,"a":2}]}"#,
        r#"{"alg":"ES256","typ":"application/at+jwt"}"#,
        r#"{"\u0061lg":"HS512"}"#,
    ] {
        assert!(header_is_read(good), "{good}");
    }
    for bad in [
        "",
        "[]",
        "{}",
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"hs512"}"#,
        r#"{"alg":["HS512"]}"#,
        r#"{"alg":null}"#,
        r#"{"alg":"HS512","alg":"HS512"}"#,
        r#"{"alg":"HS512","\u0061lg":"HS256"}"#,
        r#"{"alg":"HS512","x":1,"x":1}"#,
        r#"{"alg":"HS512","crit":["exp"]}"#,
        r#"{"alg":"HS512","crit":null}"#,
        r#"{"alg":"HS512","typ":"logout+jwt"}"#,
        r#"{"alg":"HS512","kid":7}"#,
        r#"{"alg":"HS512"} {}"#,
    ] {
        assert!(!header_is_read(bad), "{bad}");
    }
    let long = format!(r#"{{"alg":"HS512","kid":"{}"}}"#, "k".repeat(257));
    assert!(!header_is_read(&long));
    let many: String = (0..64).map(|n| format!(r#","x{n}":0"#)).collect();
    assert!(!header_is_read(&format!(r#"{{"alg":"HS512"{many}}}"#)));
}

#[test]
fn claims_are_there_and_of_their_kind() {
    let claims = Claims::parse(br#"{"sub":"u","sid":"s","iat":1,"exp":-2,"nbf":3,"aud":["x"]}"#);
    let claims = claims.unwrap();
    assert_eq!(
        (claims.subject.as_str(), claims.session.as_str()),
        ("u", "s")
    );
    assert_eq!(
        (claims.issued, claims.expires, claims.not_before),
        (1, -2, Some(3))
    );
    assert_eq!((claims.issuer, claims.audience.len()), (None, 1));
    let said = |more: &str| {
        let json = format!(r#"{{"sub":"u","sid":"s","iat":1,"exp":2,{more}}}"#);
        Claims::parse(json.as_bytes()).map(|c| (c.issuer, c.audience))
    };
    assert_eq!(
        said(r#""iss":"me","aud":["a","b"]"#).unwrap(),
        (Some("me".into()), vec!["a".into(), "b".into()])
    );
    assert_eq!(said(r#""aud":"a""#).unwrap(), (None, vec!["a".into()]));
    for bad in [
        r#""iss":7"#,
        r#""aud":7"#,
        r#""aud":["a",7]"#,
        r#""aud":[["a"]]"#,
    ] {
        assert!(said(bad).is_err(), "{bad}");
    }
    for bad in [
        r#"{"sid":"s","iat":1,"exp":2}"#,
        r#"{"sub":"u","iat":1,"exp":2}"#,
        r#"{"sub":"u","sid":"s","exp":2}"#,
        r#"{"sub":"u","sid":"s","iat":1}"#,
        r#"{"sub":7,"sid":"s","iat":1,"exp":2}"#,
        r#"{"sub":"u","sid":"","iat":1,"exp":2}"#,
        r#"{"sub":"u","sid":"a\nb","iat":1,"exp":2}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2.5}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2.0}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2e0}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":"2"}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":9223372036854775808}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2,"nbf":null}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2,"exp":3}"#,
        r#"{"sub":"u","sid":"s","iat":1,"exp":2,"x":3,"x":3}"#,
    ] {
        assert!(Claims::parse(bad.as_bytes()).is_err(), "{bad}");
    }
    let long = format!(
        r#"{{"sub":"u","sid":"{}","iat":1,"exp":2}}"#,
        "s".repeat(513)
    );
    assert!(Claims::parse(long.as_bytes()).is_err());
}

#[test]
fn a_token_has_three_parts_in_one_spelling() {
    let good = token(r#"{"alg":"HS512"}"#, CLAIMS);
    assert!(Jws::parse(good.as_bytes()).is_ok());
    let (signed, _) = good.rsplit_once('.').unwrap();
    for bad in [
        signed.to_owned(),
        format!("{good}."),
        format!("{good}="),
        format!("{good} "),
        format!(".{good}"),
        format!("{signed}.+/"),
        // Bits after the end.
        format!("{signed}.AB"),
        String::new(),
    ] {
        assert!(Jws::parse(bad.as_bytes()).is_err(), "{bad}");
    }
    let long = format!("{signed}.{}", "A".repeat(MAX_TOKEN));
    assert!(matches!(
        Jws::parse(long.as_bytes()),
        Err(Error::TooLarge { .. })
    ));
}

#[test]
fn a_cookie_wears_base64_and_perhaps_quotes() {
    let token = b"aa.bb.cc!";
    let quoted = b"\"aa.bb.cc!\"";
    for sent in [
        STANDARD.encode(token),
        STANDARD_NO_PAD.encode(token),
        STANDARD.encode(quoted),
        STANDARD_NO_PAD.encode(quoted),
        format!("\"{}\"", STANDARD.encode(token)),
        format!("\"{}\"", STANDARD.encode(quoted)),
    ] {
        assert_eq!(token_from_cookie(sent.as_bytes()).unwrap(), token, "{sent}");
    }
    for bad in ["aa.bb.cc!", "\"YWE", "YWE\"", "YW E", "YWE=="] {
        assert!(token_from_cookie(bad.as_bytes()).is_err(), "{bad}");
    }
    let largest = STANDARD.encode(format!("\"{}\"", "a".repeat(MAX_TOKEN)));
    assert_eq!(
        token_from_cookie(format!("\"{largest}\"").as_bytes())
            .unwrap()
            .len(),
        MAX_TOKEN
    );
    assert!(token_from_cookie("A".repeat(MAX_TOKEN * 2).as_bytes()).is_err());
}

#[test]
fn nothing_of_a_token_is_shown() {
    let secret = r#"{"sub":"canary","sid":"canary","iat":1,"exp":2}"#;
    let claims = Claims::parse(secret.as_bytes()).unwrap();
    assert!(!format!("{claims:?}").contains("canary"));
    for wrong in [
        "canary",
        r#"{"alg":"canary"}"#,
        r#"{"alg":"HS512","typ":"canary"}"#,
    ] {
        let error = Jws::parse(token(wrong, CLAIMS).as_bytes()).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, header: String, claims: String) {
        let _ = Jws::parse(&bytes);
        let _ = token_from_cookie(&bytes);
        let _ = Claims::parse(&bytes);
        if let Ok(jws) = Jws::parse(token(&header, &claims).as_bytes()) {
            let _ = jws.claims();
        }
    }

    #[test]
    fn damaged_tokens_do_no_harm(at: prop::sample::Index, byte: u8) {
        let mut bytes = token(r#"{"alg":"HS512","kid":"k"}"#, CLAIMS).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(jws) = Jws::parse(&bytes) {
            let _ = jws.claims();
        }
    }

    #[test]
    fn tokens_survive_their_dress(token in "[A-Za-z0-9_.-]{0,200}") {
        let sent = STANDARD.encode(format!("\"{token}\""));
        prop_assert_eq!(token_from_cookie(sent.as_bytes()).unwrap(), token.as_bytes());
    }
}

#[test]
fn a_token_of_another_type_is_read_only_where_it_is_expected() {
    let read = |typ: &str, types: &[&str]| {
        let header = format!(r#"{{"alg":"RS256","typ":"{typ}"}}"#);
        Jws::parse_typed(token(&header, CLAIMS).as_bytes(), types).is_ok()
    };
    assert!(read("application/logout+JWT", &["logout+jwt"]));
    assert!(!read("at+jwt", &["jwt"]));
    assert!(!read("JWT", &["logout+jwt"]));
    let untyped = token(r#"{"alg":"RS256"}"#, CLAIMS);
    let jws = Jws::parse_typed(untyped.as_bytes(), &["jwt"]).unwrap();
    assert_eq!(jws.payload(), CLAIMS.as_bytes());
}
