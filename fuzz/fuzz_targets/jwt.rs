//! Fuzzes tokens: a cookie's value, the token within, and its claims.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::jwt;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(token) = jwt::token_from_cookie(bytes) {
        let _ = jwt::Jws::parse(&token).map(|jws| jws.claims());
    }
    let _ = jwt::Jws::parse(bytes).map(|jws| jws.claims());
    let _ = jwt::Claims::parse(bytes);
});
