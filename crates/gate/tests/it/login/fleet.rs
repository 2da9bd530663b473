//! Several gates with one Redis: a login holds at all of them, its tokens are refreshed once, and a
//! logout reaches all.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::browser::Browser;
use super::provider::Provider;
use super::scene::Scene;
use crate::lifecycle::scene::eventually_true;
use crate::runtime;
use crate::server::Server;

/// Two gates; `None`, with a note, if Redis is not installed. The server is dropped last.
fn fleet(test: &str, provider: &Provider, login: &str) -> Option<(Scene, Server)> {
    fleet_of(2, test, provider, login)
}

fn fleet_of(gates: usize, test: &str, provider: &Provider, login: &str) -> Option<(Scene, Server)> {
    let server = runtime().block_on(Server::start(&format!("gate: {test}"), &[]))?;
    let store = format!("unix:{}", server.socket().display());
    let scene = Scene::with_store(&provider.issuer(), login, "", Some(&store), gates);
    Some((scene, server))
}

/// Allows or forbids commands of the store.
fn allow(server: &Server, rule: &str) {
    runtime().block_on(async {
        let mut client = server.client().await;
        client.ask(&["ACL", "SETUSER", "default", rule]).await;
    });
}

/// A stream of the browser's session whose answer has begun.
pub(crate) fn open(scene: &Scene, gate: usize) -> TcpStream {
    let url = scene.url(gate, "/events").parse().unwrap();
    let mut stream = scene.browser.begin(&url, "GET", "", "");
    let mut begun = Vec::new();
    while !begun.ends_with(b"event\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{begun:?}");
        begun.push(byte[0]);
    }
    stream
}

/// Waits until it is cut. A reset counts as the end.
pub(crate) fn ends(stream: &mut TcpStream) {
    let end = stream.read_to_end(&mut Vec::new());
    let is_late = end.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!is_late, "it goes on");
}

/// Asks both gates `times` times each, all at once; returns the statuses.
fn all_at_once(scene: &Scene, times: usize) -> Vec<u16> {
    let asking: Vec<_> = (0..2 * times)
        .map(|n| {
            let (mut browser, url) = (scene.browser.clone(), scene.url(n % 2, "/"));
            let url = url.parse().unwrap();
            thread::spawn(move || browser.send(&url, "GET", "", "").status)
        })
        .collect();
    asking.into_iter().map(|one| one.join().unwrap()).collect()
}

#[test]
fn tokens_that_have_expired_are_refreshed_once_in_the_fleet() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let Some((mut scene, _server)) = fleet("refresh", &provider, login) else {
        return;
    };
    scene.log_in(&provider, "/");
    assert_eq!(all_at_once(&scene, 2), [200; 4]);
    assert_eq!(provider.counts().refreshes, 0);
    // From now on tokens last, so that the second refresh would be one too many.
    provider.manners().life = 3600;
    provider.manners().delay = Duration::from_millis(300);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(all_at_once(&scene, 20), [200; 40]);
    let counts = provider.counts();
    assert_eq!((counts.refreshes, counts.refused), (1, 0));
    eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"refreshed\"} ") == 1
    });
    assert_eq!(all_at_once(&scene, 2), [200; 4]);
    assert_eq!(provider.counts().refreshes, 1);
}

#[test]
fn tokens_that_are_about_to_expire_are_refreshed_while_the_old_ones_serve() {
    let provider = Provider::start();
    provider.manners().life = 3600;
    // All of the second half of their life.
    let Some((mut scene, _server)) = fleet("refresh ahead", &provider, "refresh_ahead = \"10h\"")
    else {
        return;
    };
    provider.manners().life = 8;
    scene.log_in(&provider, "/");
    provider.manners().life = 3600;
    // No request waits for the provider.
    provider.manners().delay = Duration::from_secs(2);
    thread::sleep(Duration::from_secs(5));
    assert_eq!(all_at_once(&scene, 10), [200; 20]);
    assert_eq!(provider.counts().refreshes, 0, "it is on its way");
    eventually_true(|| provider.counts().refreshes == 1);
    assert_eq!(all_at_once(&scene, 10), [200; 20]);
    assert_eq!(
        (provider.counts().refreshes, provider.counts().refused),
        (1, 0)
    );
}

#[test]
fn a_refresh_that_is_refused_ends_the_session_everywhere() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let Some((mut scene, _server)) = fleet("refused refresh", &provider, login) else {
        return;
    };
    scene.log_in(&provider, "/");
    provider.forget_refresh_tokens();
    thread::sleep(Duration::from_secs(3));
    assert_eq!(scene.program(1, "/").status, 401);
    assert_eq!(scene.program(0, "/").status, 401);
    assert_eq!(
        (provider.counts().refreshes, provider.counts().refused),
        (0, 1)
    );
}

/// A user whose tokens are too large, for example, asks again and again.
#[test]
fn one_user_whose_tokens_cannot_be_refreshed_delays_no_other() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let mut scene = Scene::new(&provider.issuer(), login, "");
    scene.log_in(&provider, "/");
    let mut unlucky = std::mem::take(&mut scene.browser.cookies);
    scene.log_in(&provider, "/");
    let huge = format!("{{\"access_token\":\"{}\"}}", "x".repeat(9000));
    provider.manners().refresh_answers = [("r1".to_owned(), (200, huge))].into();
    provider.manners().life = 3600;
    thread::sleep(Duration::from_secs(3));
    std::mem::swap(&mut scene.browser.cookies, &mut unlucky);
    let answer = scene.program(0, "/");
    assert_eq!(answer.status, 503, "{answer:?}");
    scene.browser.cookies = unlucky;
    assert_eq!(scene.program(0, "/").status, 200);
}

#[test]
fn a_user_who_has_to_do_something_at_the_provider_is_sent_there() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let mut scene = Scene::new(&provider.issuer(), login, "");
    scene.log_in(&provider, "/");
    let needed = r#"{"error":"interaction_required"}"#.to_owned();
    provider.manners().refresh_answers = [("r1".to_owned(), (400, needed))].into();
    thread::sleep(Duration::from_secs(3));
    let page = scene.page("/");
    assert_eq!(page.status, 302, "{page:?}");
}

/// The store refuses to write for a moment, as it does in a failover, when the tokens arrive. The
/// old refresh token is used up.
#[test]
fn new_tokens_are_stored_once_the_store_is_there_again() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let Some((mut scene, server)) = fleet("refresh in an outage", &provider, login) else {
        return;
    };
    scene.log_in(&provider, "/");
    provider.manners().life = 3600;
    provider.manners().delay = Duration::from_secs(1);
    thread::sleep(Duration::from_secs(3));
    let (mut browser, url) = (scene.browser.clone(), scene.url(0, "/").parse().unwrap());
    let asking = thread::spawn(move || browser.send(&url, "GET", "", "").status);
    // It has claimed the refresh token, and waits for the provider.
    thread::sleep(Duration::from_millis(500));
    allow(&server, "-set");
    eventually_true(|| provider.counts().refreshes == 1);
    thread::sleep(Duration::from_millis(300));
    allow(&server, "+@all");
    assert_eq!(asking.join().unwrap(), 200);
    assert_eq!(scene.program(1, "/").status, 200);
    assert_eq!(
        (provider.counts().refreshes, provider.counts().refused),
        (1, 0)
    );
}

/// The clock of a replica, or that of the provider, may be wrong for a while.
#[test]
fn tokens_that_come_expired_end_no_session() {
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"5s\"";
    let Some((mut scene, _server)) = fleet("expired tokens", &provider, login) else {
        return;
    };
    scene.log_in(&provider, "/");
    provider.manners().life = -3600;
    thread::sleep(Duration::from_secs(3));
    assert_ne!(scene.program(0, "/").status, 200);
    assert_eq!(provider.counts().refreshes, 1);
    provider.manners().life = 3600;
    eventually_true(|| scene.program(0, "/").status == 200);
    assert_eq!(scene.program(1, "/").status, 200);
}

#[test]
fn while_the_provider_is_down_a_session_lasts_as_long_as_its_tokens() {
    let provider = Provider::start();
    provider.manners().life = 6;
    let login = "refresh_ahead = \"10h\"\nleeway = \"5s\"";
    let Some((mut scene, _server)) = fleet("provider down", &provider, login) else {
        return;
    };
    scene.log_in(&provider, "/");
    provider.manners().token_answer = Some("down".into());
    thread::sleep(Duration::from_secs(4));
    assert_eq!(
        all_at_once(&scene, 2),
        [200; 4],
        "a refresh is due, and fails"
    );
    eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"refresh_failed\"} ") > 0
    });
    thread::sleep(Duration::from_secs(3));
    let answer = scene.program(0, "/");
    assert_eq!(
        answer.status, 503,
        "it can be tried again later: {answer:?}"
    );
    assert!(answer.body.contains("login_down") && answer.field("retry-after").is_some());
    assert_eq!(provider.counts().refused, 0);
    // When the provider is back, the session continues.
    provider.manners().token_answer = None;
    eventually_true(|| scene.program(1, "/").status == 200);
    assert_eq!(
        (provider.counts().refreshes, provider.counts().refused),
        (1, 0)
    );
}

#[test]
fn a_logout_at_the_provider_ends_sessions_and_streams_at_every_gate() {
    let provider = Provider::start();
    let Some((mut scene, _server)) = fleet("back-channel logout", &provider, "") else {
        return;
    };
    scene.log_in(&provider, "/");
    assert_eq!(all_at_once(&scene, 1), [200; 2]);
    let mut streams = [open(&scene, 0), open(&scene, 1)];
    let other = {
        // Another user, who stays logged in.
        provider.manners().claims = Arc::new(|claims| {
            claims["sub"] = "v".into();
            claims["sid"] = "t".into();
        });
        let own = std::mem::take(&mut scene.browser.cookies);
        scene.log_in(&provider, "/");
        std::mem::replace(&mut scene.browser.cookies, own)
    };
    let token = provider.logout_token("j1", |claims| claims["sub"] = "u".into());
    let url = scene.url(1, "/.gate/backchannel-logout").parse().unwrap();
    let form = format!("logout_token={token}");
    assert_eq!(Browser::default().form(&url, &form).status, 200);
    streams.iter_mut().for_each(ends);
    for gate in [0, 1] {
        eventually_true(|| scene.program(gate, "/").status == 401);
    }
    // The same token again, at the other gate.
    let url = scene.url(0, "/.gate/backchannel-logout").parse().unwrap();
    assert_eq!(Browser::default().form(&url, &form).status, 400);
    scene.browser.cookies = other;
    assert_eq!(all_at_once(&scene, 1), [200; 2]);
    eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"sessions_ended\"} ") == 1
    });
}

/// The browser sends no cookie along with a frame in a page of another site.
#[test]
fn a_frame_in_the_provider_s_page_ends_a_session_and_its_streams_at_every_gate() {
    let provider = Provider::start();
    let Some((mut scene, _server)) = fleet("front-channel logout", &provider, "") else {
        return;
    };
    scene.log_in(&provider, "/");
    let mut streams = [open(&scene, 0), open(&scene, 1)];
    let other = {
        provider.manners().claims = Arc::new(|claims| claims["sid"] = "t".into());
        let own = std::mem::take(&mut scene.browser.cookies);
        scene.log_in(&provider, "/");
        std::mem::replace(&mut scene.browser.cookies, own)
    };
    let query = format!("iss={}&sid=s", provider.issuer());
    let url = scene.url(1, &format!("/.gate/frontchannel-logout?{query}"));
    let frame = Browser::default().page(&url);
    assert_eq!((frame.status, frame.body.as_str()), (200, ""), "{frame:?}");
    assert_eq!(frame.field("cache-control"), Some("no-store"));
    let policy = frame.field("content-security-policy").unwrap();
    let framed = format!("frame-ancestors {}", provider.issuer());
    assert!(policy.ends_with(&framed), "{policy}");
    streams.iter_mut().for_each(ends);
    for gate in [0, 1] {
        eventually_true(|| scene.program(gate, "/").status == 401);
    }
    // Another session of the same user, at the provider, continues.
    scene.browser.cookies = other;
    assert_eq!(all_at_once(&scene, 1), [200; 2]);
    eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"sessions_ended\"} ") == 1
    });
}

/// The store refuses to delete for a moment, as it does in a failover, when the provider says that
/// a session is over. The provider gets an error and does not ask again: the session ends
/// nevertheless.
#[test]
fn a_logout_has_its_effect_once_the_store_is_there_again() {
    let provider = Provider::start();
    let Some((mut scene, server)) = fleet("logout in an outage", &provider, "") else {
        return;
    };
    scene.log_in(&provider, "/");
    allow(&server, "-del");
    let token = provider.logout_token("j1", |claims| claims["sub"] = "u".into());
    let url = scene.url(0, "/.gate/backchannel-logout").parse().unwrap();
    let form = format!("logout_token={token}");
    assert_eq!(Browser::default().form(&url, &form).status, 503);
    assert_eq!(all_at_once(&scene, 1), [200; 2]);
    allow(&server, "+@all");
    for gate in [0, 1] {
        eventually_true(|| scene.program(gate, "/").status == 401);
    }
}

/// One gate can complete a login that another has begun.
#[test]
fn a_login_that_began_at_one_gate_is_completed_at_another() {
    let provider = Provider::start();
    let Some((mut scene, _server)) = fleet("login across", &provider, "") else {
        return;
    };
    let sent = scene.page("/x");
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    let callback = format!("/.gate/callback?code=c&state={}", sent.parameter("state"));
    let before = scene.browser.clone();
    let url = scene.url(1, &callback);
    assert_eq!(scene.browser.page(&url).status, 302);
    assert_eq!(all_at_once(&scene, 1), [200; 2]);
    // It is completed only once.
    scene.browser = before;
    assert_eq!(scene.page(&callback).status, 400);
    assert_eq!(provider.counts().codes, 1);
}

/// `ROUNDTRIP_SESSIONS=1000` plays it with more sessions.
#[test]
fn each_of_many_sessions_is_refreshed_once_by_ten_gates() {
    let sessions = std::env::var("ROUNDTRIP_SESSIONS");
    let sessions: usize = sessions.map_or(50, |text| text.parse().unwrap());
    let provider = Provider::start();
    provider.manners().life = 2;
    let login = "refresh_ahead = \"0s\"\nleeway = \"30s\"";
    let Some((mut scene, _server)) = fleet_of(10, "many sessions", &provider, login) else {
        return;
    };
    let browsers: Vec<Browser> = (0..sessions)
        .map(|_| {
            assert_eq!(scene.log_in_again(&provider, "/").status, 302);
            scene.browser.clone()
        })
        .collect();
    provider.manners().life = 3600;
    thread::sleep(Duration::from_secs(3));
    // All at once, each at three gates.
    let asking: Vec<_> = (0..3 * sessions)
        .map(|n| {
            let mut browser = browsers[n % sessions].clone();
            let url = scene.url((n + n / sessions) % 10, "/").parse().unwrap();
            thread::spawn(move || browser.send(&url, "GET", "", "").status)
        })
        .collect();
    let statuses: Vec<u16> = asking.into_iter().map(|one| one.join().unwrap()).collect();
    assert_eq!(statuses, vec![200; 3 * sessions]);
    let counts = provider.counts();
    assert_eq!((counts.refreshes, counts.refused), (sessions, 0));
}

/// From the moment when the provider connects to one gate to the end of a stream at the other.
#[test]
#[ignore = "it measures"]
fn how_long_a_logout_takes() {
    let provider = Provider::start();
    let Some((mut scene, _server)) = fleet("measured logout", &provider, "") else {
        return;
    };
    let mut took: Vec<Duration> = (0..100)
        .map(|n| {
            scene.log_in_again(&provider, "/");
            let mut stream = open(&scene, 1);
            let token =
                provider.logout_token(&format!("j{n}"), |claims| claims["sid"] = "s".into());
            let url = scene.url(0, "/.gate/backchannel-logout").parse().unwrap();
            let form = format!("logout_token={token}");
            let telling = thread::spawn(move || {
                let began = Instant::now();
                assert_eq!(Browser::default().form(&url, &form).status, 200);
                began
            });
            ends(&mut stream);
            let ended = Instant::now();
            ended - telling.join().unwrap()
        })
        .collect();
    took.sort();
    println!("median {:?}, 99th of 100 {:?}", took[50], took[98]);
}
