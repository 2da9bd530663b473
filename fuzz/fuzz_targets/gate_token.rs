//! Fuzzes tokens that are shown to a guard: an unsigned token never passes, and a signed one passes
//! if it has a session and is valid now.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use libfuzzer_sys::fuzz_target;
use roundtrip_gate::Secret;
use roundtrip_gate::credentials::Vault;
use roundtrip_gate::fuzzing::judge;
use roundtrip_gate::guard::{Guard, Keys, Rules};
use roundtrip_wire::jwt::{Algorithm, Claims};

const KEY: &[u8] = b"a secret of sixty-four bytes, which is what HS512 would like to have";
const NOW: i64 = 1_800_000_000;

thread_local! {
    static GUARD: RefCell<Guard> = RefCell::new(guard());
}

fn guard() -> Guard {
    let mut keys = Keys::default();
    keys.add_secret(Algorithm::Hs512, None, &Secret::new(KEY.to_vec()))
        .expect("a key");
    Guard::new(
        Arc::new(Rules::new(keys, Vault::default())),
        Box::new(|| UNIX_EPOCH + Duration::from_secs(NOW as u64)),
    )
    .expect("a guard")
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let ask = |line: &[u8]| {
        let head = [b"GET / HTTP/1.1\r\nHost: a\r\n", line, b"\r\n\r\n"].concat();
        GUARD.with_borrow(|guard| judge(guard, &head))
    };
    match kind % 3 {
        // Fields as they come: nobody here knows the key.
        0 => assert_eq!(ask(bytes), None),
        1 => assert_eq!(
            ask(&[b"Cookie: Authorization=", STANDARD.encode(bytes).as_bytes()].concat()),
            None
        ),
        _ => {
            let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS512"}"#);
            let input = format!("{header}.{}", URL_SAFE_NO_PAD.encode(bytes));
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, KEY), input.as_bytes());
            let token = format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag));
            let session = ask(format!("Authorization: Bearer {token}").as_bytes());
            let cookie = format!("Cookie: x=y; Authorization={}", STANDARD.encode(&token));
            assert_eq!(ask(cookie.as_bytes()), session);
            if let Some(session) = session {
                let claims = Claims::parse(bytes).expect("claims");
                assert_eq!(claims.session, session);
                assert!(claims.expires.saturating_add(30) > NOW);
            }
        }
    }
});
