//! What judging costs. Run with optimisation, it prints nanoseconds:
//! `CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo test -p roundtrip-gate --lib -- --ignored --nocapture cost`

use std::hint::black_box;
use std::time::{Instant, SystemTime};

use roundtrip_store::{Record, Store};

use super::*;
use crate::config::SessionStore;
use crate::forward::h1;
use crate::judge::sessions::StoreHandle;

/// Short rounds: most of them are then not interrupted by other programs.
const ROUNDS: usize = 401;
const EACH: u32 = 100;

/// The median of rounds, and how they spread.
fn measure(name: &str, mut work: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..EACH {
                work();
            }
            begun.elapsed().as_nanos() as f64 / f64::from(EACH)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let at = |share: usize| rounds[(ROUNDS - 1) * share / 4];
    println!(
        "{name}: {:.0} ns (least {:.0}, quartiles {:.0} and {:.0})",
        at(2),
        at(0),
        at(1),
        at(3)
    );
}

#[test]
#[ignore = "it measures"]
fn cost_of_a_judgement() {
    let claims = r#"{"sub":"someone@example.com","sid":"0123456789abcdef0123456789abcdef","iat":1000,"exp":99999999999}"#;
    let token = token(claims);
    let head = format!(
        "GET /jmap/ HTTP/1.1\r\nHost: mail.example\r\nUser-Agent: measured\r\nAccept: */*\r\nCookie: theme=dark; Authorization={}\r\n\r\n",
        STANDARD.encode(format!("\"{token}\""))
    );
    println!(
        "the cookie's value has {} bytes",
        STANDARD.encode(format!("\"{token}\"")).len()
    );
    for (name, tokens) in [
        ("token remembered, session known", 4096),
        ("HS512 verified each time, session known", 0),
    ] {
        let guard = Guard::new(
            Arc::new(Rules { tokens, ..rules() }),
            Box::new(SystemTime::now),
        )
        .unwrap();
        h1::request(
            head.as_bytes(),
            &crate::config::Limits::default(),
            |request| {
                let question = asked(guard.judge(request, false));
                guard
                    .admit(
                        &question,
                        Ok(Some(found("someone@example.com:password", None).0)),
                    )
                    .unwrap();
                assert!(matches!(
                    guard.judge(request, false),
                    GuardDecision::Pass(_)
                ));
                measure(name, || {
                    assert!(matches!(
                        guard.judge(black_box(request), false),
                        GuardDecision::Pass(_)
                    ));
                });
            },
        )
        .unwrap();
    }
    measure_with_a_store(head.as_bytes());
    measure("the same head parsed, for comparison", || {
        black_box(
            h1::request(
                black_box(head.as_bytes()),
                &crate::config::Limits::default(),
                |request| request.fields.len(),
            )
            .unwrap(),
        );
    });
    measure("the clock alone", || {
        black_box(clock::seconds(SystemTime::now()));
    });
    let key = hmac::Key::new(hmac::HMAC_SHA512, SECRET);
    let (input, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let sent = STANDARD.encode(format!("\"{token}\""));
    measure("the cookie's base64 alone", || {
        drop(token_from_cookie(black_box(sent.as_bytes())).unwrap());
    });
    measure("the token's parts alone", || {
        drop(Jws::parse(black_box(token.as_bytes())).unwrap());
    });
    let jws = Jws::parse(token.as_bytes()).unwrap();
    measure("the claims alone", || {
        drop(black_box(&jws).claims().unwrap());
    });
    measure("HMAC-SHA-512 alone", || {
        hmac::verify(&key, black_box(input.as_bytes()), &signature).unwrap();
    });
}

/// The same measurement with a store, whose answer is checked each time.
fn measure_with_a_store(head: &[u8]) {
    let guard = Guard::new(Arc::new(rules()), Box::new(SystemTime::now)).unwrap();
    let place = StoreHandle::open(&SessionStore::default()).unwrap();
    let known = place.on_this_thread();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (sid, login) = ("0123456789abcdef0123456789abcdef", STANDARD.encode("u:p"));
    h1::request(head, &crate::config::Limits::default(), |request| {
        let question = asked(guard.judge(request, false));
        let answer = runtime.block_on(async {
            let put = place.store();
            put.put(sid, &Record::new(login.as_str(), None))
                .await
                .unwrap();
            known.find(sid).await
        });
        guard.admit(&question, answer).unwrap();
        measure(
            "token remembered, session held by a store in memory",
            || {
                assert!(matches!(
                    guard.judge(black_box(request), false),
                    GuardDecision::Pass(_)
                ));
            },
        );
    })
    .unwrap();
}
