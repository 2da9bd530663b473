//! A provider, or an attacker on the path, that lies: that logs nobody in.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::browser::Browser;
use super::provider::{Manners, Provider, now};
use super::scene::Scene;
use crate::lifecycle::eventually;

/// The callback of a login that a provider with these manners answers: its status.
fn outcome(change: impl FnOnce(&mut Manners)) -> (u16, Counted) {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "userinfo = true", "");
    let sent = scene.page("/");
    assert_eq!(sent.status, 302, "{sent:?}");
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    change(&mut provider.manners());
    let state = sent.parameter("state");
    let back = scene.page(&format!("/.gate/callback?code=c&state={state}"));
    let logged_in = scene.session().is_some();
    assert_eq!(logged_in, back.status == 302, "{back:?}");
    if !logged_in {
        assert!(back.body.contains("login_"), "{back:?}");
        assert_eq!(scene.program(0, "/").status, 401);
    }
    (back.status, Counted(provider.counts().keys))
}

#[derive(Debug, PartialEq, Eq)]
struct Counted(usize);

fn claim(name: &'static str, value: Value) -> impl FnOnce(&mut Manners) {
    move |manners| {
        manners.claims = Arc::new(move |claims| claims[name] = value.clone());
    }
}

#[test]
fn an_id_token_that_is_not_for_this_login_logs_nobody_in() {
    assert_eq!(outcome(|_| ()), (302, Counted(1)));
    let cases: [(&'static str, Value); 9] = [
        ("iss", json!("http://127.0.0.1:1")),
        ("nonce", json!("another")),
        ("nonce", json!(null)),
        ("aud", json!("another")),
        ("aud", json!(["gate", "another"])),
        ("azp", json!("another")),
        ("exp", json!(now() - 3600)),
        ("iat", json!(now() + 3600)),
        ("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
    ];
    for (name, value) in cases {
        assert_eq!(
            outcome(claim(name, value.clone())).0,
            400,
            "{name}: {value}"
        );
    }
}

#[test]
fn an_id_token_that_nobody_signed_logs_nobody_in() {
    let header = |header: Value| move |manners: &mut Manners| manners.header = header;
    for bad in [
        json!({"alg": "none"}),
        json!({"alg": "HS256", "kid": "k1"}),
        json!({"alg": "RS256", "kid": "k1"}),
        json!({"alg": "EdDSA", "kid": "k1", "crit": ["x"]}),
        json!({"alg": "EdDSA", "kid": "k1", "typ": "at+jwt"}),
        json!({"alg": "EdDSA", "kid": "k1", "typ": "logout+jwt"}),
    ] {
        assert_eq!(outcome(header(bad.clone())).0, 400, "{bad}");
    }
    let forged = |manners: &mut Manners| {
        manners.tokens = Arc::new(|tokens| {
            let token = tokens["id_token"].as_str().unwrap();
            let (signed, _) = token.rsplit_once('.').unwrap();
            tokens["id_token"] = format!("{signed}.{}", "A".repeat(86)).into();
        });
    };
    assert_eq!(outcome(forged).0, 400);
    let none = |manners: &mut Manners| {
        manners.tokens =
            Arc::new(|tokens| drop(tokens.as_object_mut().unwrap().remove("id_token")));
    };
    assert_eq!(outcome(none).0, 400);
}

#[test]
fn new_keys_are_fetched_but_not_for_every_token_that_names_one() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    assert_eq!(scene.log_in(&provider, "/").status, 302);
    provider.rotate("k2", false);
    // The keys were just read: strangers cannot make gate ask again and again.
    for _ in 0..5 {
        scene.browser = Browser::default();
        assert_eq!(scene.log_in(&provider, "/").status, 400);
    }
    assert_eq!(provider.counts().keys, 1);
}

/// Gate reads keys at most every ten seconds.
#[test]
fn new_keys_are_fetched_although_no_token_names_its_key() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    assert_eq!(scene.log_in(&provider, "/").status, 302);
    provider.rotate("k2", true);
    provider.manners().header = json!({"alg": "EdDSA", "typ": "JWT"});
    std::thread::sleep(Duration::from_secs(10));
    crate::lifecycle::scene::eventually_true(|| {
        scene.browser = Browser::default();
        scene.log_in(&provider, "/").status == 302
    });
}

#[test]
fn somebody_elses_userinfo_is_not_taken() {
    let other =
        |manners: &mut Manners| manners.userinfo = json!({"sub": "root", "groups": ["ops"]});
    assert_eq!(outcome(other).0, 400);
    let huge =
        |manners: &mut Manners| manners.userinfo = json!({"sub": "u", "x": "x".repeat(17 * 1024)});
    assert_eq!(outcome(huge).0, 503);
}

#[test]
fn an_answer_that_is_huge_or_no_answer_is_an_outage() {
    for answer in [
        "x".repeat(200 * 1024),
        format!("{{\"id_token\":\"{}\"}}", "x".repeat(20 * 1024)),
        "[]".into(),
        String::new(),
        "\u{1b}[31m".into(),
    ] {
        let length = answer.len();
        let status = outcome(move |manners| manners.token_answer = Some(answer)).0;
        assert_eq!(status, 503, "{length} bytes");
    }
}

/// Gate's limit is five seconds.
#[test]
fn an_answer_that_does_not_come_is_not_waited_for() {
    let slow = |manners: &mut Manners| manners.delay = Duration::from_secs(40);
    assert_eq!(outcome(slow).0, 503);
}

/// The one that left began later, so its place does not become free by a timeout.
#[test]
fn a_client_that_leaves_gives_up_its_place_while_the_provider_is_silent() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scene::new(&format!("http://{}", silent.local_addr().unwrap()), "", "");
    let begin = |in_progress| {
        let at = scene.gates[0].addresses().http[0];
        let mut client = TcpStream::connect(at).unwrap();
        let head = "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n\r\n";
        let request = format!("GET / HTTP/1.1\r\nHost: {at}\r\n{head}");
        client.write_all(request.as_bytes()).unwrap();
        await_exchanges(&scene, in_progress);
        client
    };
    let stays = begin(1);
    drop(begin(2));
    await_exchanges(&scene, 1);
    stays.set_nonblocking(true).unwrap();
    let answered = (&stays).read(&mut [0; 1]);
    assert_eq!(answered.unwrap_err().kind(), ErrorKind::WouldBlock);
}

fn await_exchanges(scene: &Scene, count: u64) {
    let is_reached = || scene.figure("roundtrip_gate_exchanges ") == count;
    assert!(eventually(is_reached), "{count} in progress");
}

#[test]
fn a_provider_that_describes_another_is_not_used() {
    let provider = Provider::start();
    let cases: [(&'static str, Value); 7] = [
        ("issuer", json!("https://evil.example")),
        ("issuer", json!(format!("{}/", provider.issuer()))),
        ("authorization_endpoint", json!("http://evil.example/auth")),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("token_endpoint", json!("http://evil.example/token")),
        ("jwks_uri", json!(null)),
        ("x", json!("x".repeat(300 * 1024))),
    ];
    for (name, value) in cases {
        let told = format!(
            "{name}: {}",
            value.to_string().get(..40).unwrap_or_default()
        );
        provider.manners().discovery = Arc::new(move |document| document[name] = value.clone());
        let mut scene = Scene::new(&provider.issuer(), "", "");
        let page = scene.page("/");
        assert_eq!(page.status, 503, "{told}: {page:?}");
        assert!(
            page.body.contains("login_down") && page.cookies().is_empty(),
            "{told}"
        );
        assert!(page.field("retry-after").is_some());
    }
    // A stranger does not make gate ask more often than once a second.
    let before = provider.counts().discoveries;
    let mut scene = Scene::new(&provider.issuer(), "", "");
    provider.manners().discovery = Arc::new(|document| *document = json!([]));
    for _ in 0..20 {
        assert_eq!(scene.page("/").status, 503);
    }
    let asked = provider.counts().discoveries - before;
    assert!((1..20).contains(&asked), "{asked}");
    // It is used once it can be.
    provider.manners().discovery = Arc::new(|_| ());
    crate::lifecycle::scene::eventually_true(|| scene.page("/").status == 302);
}

#[test]
fn an_answer_of_another_provider_is_not_taken() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let mut callback = |more: &str| {
        let sent = scene.page("/");
        provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
        let state = sent.parameter("state");
        scene.page(&format!("/.gate/callback?state={state}&{more}"))
    };
    for more in [
        "code=c&iss=https%3A%2F%2Fevil.example",
        "code=c&code=d",
        "code=c&state=x",
        "",
        &format!("code={}", "c".repeat(5000)),
    ] {
        let answer = callback(more);
        assert_eq!(answer.status, 400, "{more}: {answer:?}");
    }
    let denied = callback("error=access_denied&error_description=%3Cscript%3E");
    assert_eq!(denied.status, 403);
    assert!(denied.body.contains("login_denied") && !denied.body.contains("script>"));
    assert_eq!(provider.counts().codes, 0);
    assert_eq!(scene.page("/.gate/callback?code=c&state=none").status, 400);
}

#[test]
fn no_address_leads_away_after_a_login() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    for foreign in [
        "https://evil.example/",
        "//evil.example/",
        "/%5Cevil.example/",
        "/%09/evil.example",
        "%2F%2Fevil.example",
        "javascript:alert(1)",
        "/%0D%0ASet-Cookie:%20a=b",
    ] {
        let sent = scene.page(&format!("/.gate/login?return={foreign}"));
        provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
        let back = scene.page(&format!(
            "/.gate/callback?code=c&state={}",
            sent.parameter("state")
        ));
        assert_eq!(
            (back.status, back.field("location")),
            (302, Some("/")),
            "{foreign}"
        );
        assert_eq!(back.cookies().len(), 2, "{foreign}");
    }
    // A query with a colon is a path nevertheless.
    let back = scene.log_in_again(&provider, "/go?to=https://x.example/");
    assert_eq!(back.field("location"), Some("/go?to=https://x.example/"));
}

#[test]
fn a_made_up_cookie_or_state_is_nothing() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let url = scene.url(0, "/").parse().unwrap();
    for cookie in [
        "A".repeat(43),
        "login.x".into(),
        String::new(),
        "\u{e4}".into(),
        "x".repeat(9000),
    ] {
        let head = format!("Cookie: __Host-gate={cookie}\r\n");
        let answer = scene.browser.send(&url, "GET", &head, "");
        assert_eq!(answer.status, 401, "{cookie}: {answer:?}");
    }
    let callback = scene
        .url(0, "/.gate/callback?code=c&state=x")
        .parse()
        .unwrap();
    for state in [
        "",
        "l1.",
        "l1.k1.",
        "l1.k1.AAAA",
        "l1.k9.AAAA",
        "v1.k1.a.b",
        &"l1.k1.".repeat(1000),
    ] {
        let head = format!("Cookie: __Host-gate-login-0={state}\r\n");
        let answer = scene.browser.send(&callback, "GET", &head, "");
        assert_eq!(answer.status, 400, "{state}: {answer:?}");
    }
    assert_eq!(provider.counts().codes, 0);
}

/// Only a valid logout token of the provider may end a session.
#[test]
fn a_false_logout_token_logs_nobody_out() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    scene.log_in(&provider, "/");
    let session = |claims: &mut Value| claims["sid"] = "s".into();
    let good = provider.logout_token("j1", session);
    let mut tampered = good.clone();
    tampered.replace_range(good.len() - 4..good.len() - 2, "AA");
    let nonce = provider.logout_token("j2", |claims| {
        session(claims);
        claims["nonce"] = "n".into();
    });
    let no_event = provider.logout_token("j3", |claims| {
        session(claims);
        claims["events"] = json!({});
    });
    let old = provider.logout_token("j4", |claims| {
        session(claims);
        claims["iat"] = (now() - 4000).into();
    });
    let other = provider.logout_token("j5", |claims| {
        session(claims);
        claims["aud"] = "another".into();
    });
    let no_id = provider.logout_token("", session);
    let url = scene.url(0, "/.gate/backchannel-logout").parse().unwrap();
    let tell = |form: &str| Browser::default().form(&url, form).status;
    for token in [&tampered, &nonce, &no_event, &old, &other, &no_id, "x"] {
        assert_eq!(tell(&format!("logout_token={token}")), 400);
    }
    assert_eq!(tell(""), 400);
    assert_eq!(
        tell(&format!("logout_token={good}&logout_token={good}")),
        400
    );
    assert_eq!(tell(&"x".repeat(70 * 1024)), 413);
    assert_eq!(scene.program(0, "/").status, 200);
    // A session of another name stays.
    let elsewhere = provider.logout_token("j6", |claims| claims["sid"] = "t".into());
    assert_eq!(tell(&format!("logout_token={elsewhere}")), 200);
    assert_eq!(scene.program(0, "/").status, 200);
    assert_eq!(tell(&format!("logout_token={good}")), 200);
    crate::lifecycle::scene::eventually_true(|| scene.program(0, "/").status == 401);
    // The token is used up: a recorded copy of it logs nobody out later.
    scene.log_in_again(&provider, "/");
    assert_eq!(tell(&format!("logout_token={good}")), 400);
    assert_eq!(scene.program(0, "/").status, 200);
}

/// A page of another site can frame gate as well.
#[test]
fn a_frame_that_does_not_name_the_session_logs_nobody_out() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    scene.log_in(&provider, "/");
    let issuer = provider.issuer();
    for (query, status) in [
        (String::new(), 400),
        ("sid=s".into(), 400),
        (format!("iss={issuer}"), 400),
        (format!("iss={issuer}/&sid=s"), 400),
        (format!("iss={issuer}&sid=s&sid=t"), 400),
        (format!("iss={issuer}&iss=x&sid=s"), 400),
        (format!("iss={issuer}&sid="), 200),
        (format!("iss={issuer}&sid=t"), 200),
    ] {
        // The browser has the cookie, as in a frame of a page of the same site.
        let answer = scene.page(&format!("/.gate/frontchannel-logout?{query}"));
        assert_eq!(answer.status, status, "{query}: {answer:?}");
        assert_eq!(scene.program(0, "/").status, 200, "{query}");
    }
    // Only a page of the provider may show the answer, whatever its metadata name as its own.
    let policy = |provider: &Provider| {
        let mut scene = Scene::new(&provider.issuer(), "", "");
        let query = format!("iss={}&sid=t", provider.issuer());
        let answer = scene.page(&format!("/.gate/frontchannel-logout?{query}"));
        let policy = answer.field("content-security-policy").unwrap();
        policy.split_once("frame-ancestors ").unwrap().1.to_owned()
    };
    for (page, own) in [
        ("https://pages.example/end", " https://pages.example"),
        ("https://a;script-src/end", ""),
    ] {
        provider.manners().discovery = Arc::new(move |document| {
            document["end_session_endpoint"] = page.into();
        });
        assert_eq!(policy(&provider), format!("{issuer}{own}"));
    }
    assert_eq!(scene.program(0, "/").status, 200);
}

/// The provider issues tokens, and ends the session before gate has stored it.
#[test]
fn a_logout_ends_a_login_that_is_being_completed() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    provider.manners().delay = Duration::from_secs(1);
    let logout = scene.url(0, "/.gate/backchannel-logout").parse().unwrap();
    for (id, named, name) in [("j1", "sid", "s1"), ("j2", "sub", "u")] {
        provider.manners().claims = Arc::new(move |claims| {
            claims["iat"] = (now() - 5).into();
            claims["sid"] = id.replace('j', "s").into();
        });
        let sent = scene.page("/");
        provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
        let state = sent.parameter("state");
        let url = scene.url(0, &format!("/.gate/callback?code=c&state={state}"));
        let mut browser = scene.browser.clone();
        let coming_back = std::thread::spawn(move || browser.page(&url));
        std::thread::sleep(Duration::from_millis(200));
        let token = provider.logout_token(id, |claims| claims[named] = name.into());
        let told = Browser::default().form(&logout, &format!("logout_token={token}"));
        assert_eq!(told.status, 200);
        let back = coming_back.join().unwrap();
        assert_eq!(back.status, 400, "{named}: {back:?}");
        assert!(back.cookies().is_empty());
    }
    // A user who logs in afterwards stays logged in.
    provider.manners().delay = Duration::ZERO;
    provider.manners().claims = Arc::new(|_| ());
    scene.log_in_again(&provider, "/");
    assert_eq!(scene.program(0, "/").status, 200);
}

#[test]
fn a_backend_cannot_change_the_session() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    scene.log_in(&provider, "/");
    let session = scene.session();
    let page = scene.page("/");
    assert_eq!(page.status, 200, "{page:?}");
    let set = page.fields.iter();
    let set = set.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let set: Vec<&str> = set.map(|(_, value)| value.as_str()).collect();
    assert_eq!(set, ["app=1"]);
    assert_eq!(scene.session(), session);
}
