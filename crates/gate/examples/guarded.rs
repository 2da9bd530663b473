//! A relay with a guard, for measurements: `guarded LISTEN BACKEND SECRET-FILE [TOKENS]`. Every
//! session is known and has the login `u:p`; the program prints a cookie to send. With TOKENS 0,
//! every signature is verified each time.
#![allow(clippy::unwrap_used)] // a panic says what went wrong

use std::rc::Rc;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use roundtrip_gate::credentials::Vault;
use roundtrip_gate::guard::{Found, Guard, Keys, ManualWatch, Rules, SessionError, Sessions};
use roundtrip_gate::{Authenticator, Secret};
use roundtrip_wire::jwt::Algorithm;

struct EverySession(Rc<ManualWatch>);

impl Sessions for EverySession {
    async fn find(&self, _: &str) -> Result<Option<Found>, SessionError> {
        Ok(Some(Found {
            credentials: STANDARD.encode("u:p").into_bytes(),
            expires: None,
            watch: self.0.clone(),
        }))
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let secret = Secret::from_file(words[3].as_ref()).unwrap();
    let secret = Secret::new(secret.expose().trim_ascii_end().to_vec());
    println!("Cookie: Authorization={}", cookie(&secret));
    let mut keys = Keys::default();
    keys.add_secret(Algorithm::Hs512, None, &secret).unwrap();
    let mut rules = Rules::new(keys, Vault::default());
    if let Some(tokens) = words.get(4) {
        rules.tokens = tokens.parse().unwrap();
    }
    let guard = Guard::new(Arc::new(rules), Box::new(std::time::SystemTime::now)).unwrap();
    let authenticator = Authenticator::new(guard, EverySession(Rc::default()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::bind(&words[1]).await.unwrap();
        roundtrip_gate::measuring::guarded(listener, words[2].parse().unwrap(), authenticator)
            .await
            .unwrap();
    });
}

fn cookie(secret: &Secret) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let claims = r#"{"sub":"someone@example.com","sid":"0123456789abcdef0123456789abcdef","iat":1,"exp":99999999999}"#;
    let input = format!(
        "{}.{}",
        part(r#"{"alg":"HS512","typ":"JWT"}"#),
        part(claims)
    );
    let tag = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA512, secret.expose()),
        input.as_bytes(),
    );
    STANDARD.encode(format!("\"{input}.{}\"", URL_SAFE_NO_PAD.encode(tag)))
}
