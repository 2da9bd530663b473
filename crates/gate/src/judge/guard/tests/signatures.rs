//! Every algorithm, with its own keys and with keys of other algorithms.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    RsaEncoding, RsaKeyPair,
};
use roundtrip_tls::SecretError;
use roundtrip_wire::jwt::Jws;
use serde_json::{Value, json};

use super::*;
use crate::GateError;

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn keys_of(set: &Value, allowed: &[Algorithm], mode: u32) -> Result<(Keys, usize), GateError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    fs::write(&path, set.to_string()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let mut keys = Keys::new(allowed);
    let added = keys.add_jwks_file(&path)?;
    Ok((keys, added))
}

/// A token with this header and the common claims.
fn sign(algorithm: Algorithm, kid: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let header = json!({"alg": algorithm.name(), "kid": kid}).to_string();
    let input = format!("{}.{}", part(&header), part(CLAIMS));
    let signature = sign(input.as_bytes());
    format!("{input}.{}", b64(&signature))
}

fn accepts(keys: &Keys, token: &str) -> bool {
    keys.verify(&Jws::parse(token.as_bytes()).unwrap())
}

fn rsa_sign(key: &RsaKeyPair, encoding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
    let mut out = vec![0; key.public_modulus_len()];
    key.sign(encoding, &SystemRandom::new(), message, &mut out)
        .unwrap();
    out
}

#[test]
fn rsa_in_all_its_forms() {
    let key = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let public = key.public_key();
    // RSAPublicKey (RFC 8017 appendix A.1.1) of 2048 bits and 65537: a head of nine bytes, n, a
    // head of two, e.
    let (n, e) = (&public.as_ref()[9..265], &public.as_ref()[267..]);
    assert_eq!(e, [1, 0, 1]);
    let jwk = json!({"kty": "RSA", "kid": "r", "use": "sig",
        "n": b64(n), "e": b64(e)});
    let encodings: [(Algorithm, &'static dyn RsaEncoding); 6] = [
        (Algorithm::Rs256, &signature::RSA_PKCS1_SHA256),
        (Algorithm::Rs384, &signature::RSA_PKCS1_SHA384),
        (Algorithm::Rs512, &signature::RSA_PKCS1_SHA512),
        (Algorithm::Ps256, &signature::RSA_PSS_SHA256),
        (Algorithm::Ps384, &signature::RSA_PSS_SHA384),
        (Algorithm::Ps512, &signature::RSA_PSS_SHA512),
    ];
    let set = json!({"keys": [jwk, {"kty": "unheard-of"}, {"kty": "RSA", "use": "enc"}]});
    let (keys, added) = keys_of(&set, &Algorithm::ALL, 0o644).unwrap();
    assert_eq!(added, 6);
    let (only, added) = keys_of(&set, &[Algorithm::Rs256], 0o644).unwrap();
    assert_eq!(added, 1);
    let der: Vec<u8> = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(public)
        .unwrap()
        .as_ref()
        .to_vec();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        STANDARD.encode(&der)
    );
    for (algorithm, encoding) in encodings {
        let token = sign(algorithm, "r", |message| rsa_sign(&key, encoding, message));
        assert!(accepts(&keys, &token), "{algorithm:?}");
        assert_eq!(accepts(&only, &token), algorithm == Algorithm::Rs256);
        let mut by_pem = Keys::new(&[algorithm]);
        by_pem.add_pem(algorithm, None, pem.as_bytes()).unwrap();
        assert!(accepts(&by_pem, &token));
        // Signed with one algorithm, labelled with another.
        let others = Algorithm::ALL.into_iter().filter(|a| *a != algorithm);
        for other in others {
            let forged = sign(other, "r", |message| rsa_sign(&key, encoding, message));
            assert!(!accepts(&keys, &forged), "{algorithm:?} as {other:?}");
        }
    }
    // The public key used as a secret, which is the oldest attack. RFC 8725 §2.1.
    for secret in [pem.as_bytes(), &der, public.as_ref()] {
        let mac = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let forged = sign(Algorithm::Hs256, "r", |message| {
            hmac::sign(&mac, message).as_ref().to_vec()
        });
        assert!(!accepts(&keys, &forged));
    }
}

#[test]
fn curves_belong_to_their_algorithms() {
    let curves: [(Algorithm, &str, usize, &'static EcdsaSigningAlgorithm); 3] = [
        (
            Algorithm::Es256,
            "P-256",
            32,
            &ECDSA_P256_SHA256_FIXED_SIGNING,
        ),
        (
            Algorithm::Es384,
            "P-384",
            48,
            &ECDSA_P384_SHA384_FIXED_SIGNING,
        ),
        (
            Algorithm::Es512,
            "P-521",
            66,
            &ECDSA_P521_SHA512_FIXED_SIGNING,
        ),
    ];
    for (algorithm, curve, length, signing) in curves {
        let key = EcdsaKeyPair::generate(signing).unwrap();
        let (x, y) = key.public_key().as_ref()[1..].split_at(length);
        let jwk = json!({"kty": "EC", "crv": curve, "x": b64(x), "y": b64(y)});
        // A single key, without a set around it.
        let (keys, added) = keys_of(&jwk, &Algorithm::ALL, 0o644).unwrap();
        assert_eq!(added, 1);
        let random = SystemRandom::new();
        let signature = |message: &[u8]| key.sign(&random, message).unwrap().as_ref().to_vec();
        assert!(accepts(&keys, &sign(algorithm, "any", signature)));
        for other in Algorithm::ALL.into_iter().filter(|a| *a != algorithm) {
            assert!(
                !accepts(&keys, &sign(other, "any", signature)),
                "{algorithm:?} as {other:?}"
            );
        }
        let wrong = json!({"kty": "EC", "crv": curve, "x": b64(x), "y": b64(y), "alg": "RS256"});
        assert!(matches!(
            keys_of(&wrong, &Algorithm::ALL, 0o644),
            Err(GateError::Key { .. })
        ));
        let short = json!({"kty": "EC", "crv": curve, "x": b64(&x[1..]), "y": b64(y)});
        assert!(matches!(
            keys_of(&short, &Algorithm::ALL, 0o644),
            Err(GateError::Key { .. })
        ));
        // Not on the curve.
        let off = json!({"kty": "EC", "crv": curve, "x": b64(y), "y": b64(y)});
        assert!(matches!(
            keys_of(&off, &Algorithm::ALL, 0o644),
            Err(GateError::Key { .. })
        ));
    }
}

#[test]
fn edwards_signs_too() {
    let key = Ed25519KeyPair::generate().unwrap();
    let jwk =
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "e", "x": b64(key.public_key().as_ref())});
    let (keys, _) = keys_of(&jwk, &[Algorithm::EdDsa], 0o644).unwrap();
    let signature = |message: &[u8]| key.sign(message).as_ref().to_vec();
    assert!(accepts(&keys, &sign(Algorithm::EdDsa, "e", signature)));
    assert!(!accepts(&keys, &sign(Algorithm::EdDsa, "f", signature)));
    assert!(!accepts(
        &keys,
        &sign(Algorithm::EdDsa, "e", |_| vec![0; 64])
    ));
}

#[test]
fn a_kid_chooses_among_current_and_previous_keys() {
    let secret = |n: u8| Secret::new(vec![n; 64]);
    let mut keys = Keys::default();
    keys.add_secret(Algorithm::Hs512, Some("new"), &secret(b'n'))
        .unwrap();
    keys.add_secret(Algorithm::Hs512, Some("old"), &secret(b'o'))
        .unwrap();
    let by = |header: &str, n: u8| signed(header, CLAIMS, &[n; 64]);
    assert!(accepts(&keys, &by(r#"{"alg":"HS512","kid":"new"}"#, b'n')));
    assert!(accepts(&keys, &by(r#"{"alg":"HS512","kid":"old"}"#, b'o')));
    assert!(!accepts(&keys, &by(r#"{"alg":"HS512","kid":"new"}"#, b'o')));
    assert!(!accepts(
        &keys,
        &by(r#"{"alg":"HS512","kid":"other"}"#, b'n')
    ));
    // A token that names no key may be signed with any of them.
    assert!(accepts(&keys, &by(r#"{"alg":"HS512"}"#, b'o')));
    assert!(!accepts(&keys, &by(r#"{"alg":"HS512"}"#, b'x')));
}

#[test]
fn a_token_that_names_no_key_is_tried_with_a_few_of_the_named_ones() {
    let secret = |n: u8| Secret::new(vec![n; 64]);
    let mut keys = Keys::default();
    for n in b'a'..=b'l' {
        let name = char::from(n).to_string();
        let add = keys.add_secret(Algorithm::Hs512, Some(&name), &secret(n));
        add.unwrap();
    }
    keys.add_secret(Algorithm::Hs512, None, &secret(b'x'))
        .unwrap();
    let by = |header: &str, n: u8| signed(header, CLAIMS, &[n; 64]);
    let nameless = r#"{"alg":"HS512"}"#;
    let accepted = (b'a'..=b'x').filter(|n| accepts(&keys, &by(nameless, *n)));
    assert_eq!(String::from_utf8(accepted.collect()).unwrap(), "abcdefghx");
    assert!(accepts(&keys, &by(r#"{"alg":"HS512","kid":"l"}"#, b'l')));
}

#[test]
fn a_refused_token_is_not_verified_again_until_the_keys_change() {
    let first = rules();
    let forged = signed(r#"{"alg":"HS512"}"#, CLAIMS, &[b'x'; 64]);
    let mut other = rules();
    other.keys = Keys::default();
    let secret = Secret::new(vec![b'x'; 64]);
    other
        .keys
        .add_secret(Algorithm::Hs512, None, &secret)
        .unwrap();
    let news = tokio::sync::watch::Sender::new(Arc::new(first));
    let guard = Guard::following(news.subscribe(), Box::new(SystemTime::now)).unwrap();
    let field = format!("Bearer {forged}");
    let judged = || word(&judge(&guard, &[("Authorization", &field)]));
    let is_known = || guard.refused.borrow_mut().get(forged.as_bytes()).is_some();
    assert!(!is_known());
    for _ in 0..2 {
        assert_eq!(judged(), "deny 401");
        assert!(is_known());
    }
    news.send_replace(Arc::new(other));
    // Its signature is good by now, but it has expired.
    assert_eq!(judged(), "deny 401");
    assert!(!is_known());
}

#[test]
fn secrets_of_all_sizes_of_hash() {
    let set = json!({"kty": "oct", "k": b64(&[1; 64])});
    let (keys, added) = keys_of(&set, &Algorithm::ALL, 0o600).unwrap();
    assert_eq!(added, 3);
    for (algorithm, hash) in [
        (Algorithm::Hs256, hmac::HMAC_SHA256),
        (Algorithm::Hs384, hmac::HMAC_SHA384),
        (Algorithm::Hs512, hmac::HMAC_SHA512),
    ] {
        let key = hmac::Key::new(hash, &[1; 64]);
        let token = sign(algorithm, "k", |message| {
            hmac::sign(&key, message).as_ref().to_vec()
        });
        assert!(accepts(&keys, &token));
        let cut = sign(algorithm, "k", |message| {
            hmac::sign(&key, message).as_ref()[1..].to_vec()
        });
        assert!(!accepts(&keys, &cut));
    }
}

#[test]
fn keys_that_cannot_be_used_say_why_and_nothing_else() {
    let canary = json!({"keys": [{"kty": "oct", "alg": "HS512", "k": b64(b"canary")}]});
    let exposed = json!({"kty": "oct", "k": b64(&[1; 64])});
    let mut wrong = vec![
        keys_of(&canary, &Algorithm::ALL, 0o600).err().unwrap(),
        keys_of(&exposed, &Algorithm::ALL, 0o644).err().unwrap(),
        keys_of(&json!({"keys": []}), &Algorithm::ALL, 0o600)
            .err()
            .unwrap(),
        keys_of(&json!({"keys": 1}), &Algorithm::ALL, 0o600)
            .err()
            .unwrap(),
        keys_of(&json!("canary"), &Algorithm::ALL, 0o600)
            .err()
            .unwrap(),
        keys_of(
            &json!({"kty": "RSA", "n": b64(&[255; 128]), "e": "AQAB"}),
            &Algorithm::ALL,
            0o600,
        )
        .err()
        .unwrap(),
    ];
    assert!(matches!(
        wrong[1],
        GateError::Secret(SecretError::Exposed { .. })
    ));
    let mut keys = Keys::default();
    let short = Secret::new(b"canary\n".to_vec());
    wrong.push(keys.add_secret(Algorithm::Hs512, None, &short).unwrap_err());
    let fine = Secret::new(vec![1; 64]);
    wrong.push(keys.add_secret(Algorithm::Hs256, None, &fine).unwrap_err());
    wrong.push(keys.add_secret(Algorithm::Rs256, None, &fine).unwrap_err());
    wrong.push(keys.add_pem(Algorithm::Rs256, None, b"canary").unwrap_err());
    wrong.push(
        keys.add_pem(
            Algorithm::Hs512,
            None,
            b"-----BEGIN PUBLIC KEY----------END PUBLIC KEY-----",
        )
        .unwrap_err(),
    );
    assert!(keys.is_empty());
    for error in wrong {
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("canary") && !shown.contains(&b64(b"canary")),
            "{shown}"
        );
    }
}

/// The answer does not depend on what came before.
#[test]
fn a_cached_token_is_valid_only_in_the_place_where_it_was_found() {
    let (guard, _) = guard(rules());
    let token = token(r#"{"sub":"u","sid":"s","iat":1000,"exp":2000}"#);
    let coded = STANDARD.encode(&token);
    for _ in 0..2 {
        for (name, value, expected) in [
            ("Authorization", format!("Bearer {token}"), "ask s"),
            ("Cookie", format!("Authorization={token}"), "deny 401"),
            ("Cookie", format!("Authorization={coded}"), "ask s"),
            ("Authorization", format!("Bearer {coded}"), "deny 401"),
        ] {
            assert_eq!(
                word(&judge(&guard, &[(name, &value)])),
                expected,
                "{name}: {value}"
            );
        }
    }
}
