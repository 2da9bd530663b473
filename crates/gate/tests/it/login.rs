//! Logging in with a browser: whole gates before a provider that can lie (`hostile`), before a real
//! one (`certified`, `zitadel`), and several replicas with one store (`fleet`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod browser;
mod certified;
mod fleet;
mod hostile;
mod provider;
mod scene;
mod zitadel;

use crate::{lifecycle, skip};
use provider::Provider;
use scene::Scene;

#[test]
fn a_page_leads_to_the_provider_and_a_program_gets_401() {
    let provider = Provider::start();
    let login = "scopes = [\"openid\", \"a b\"]\nparameters = { prompt = \"consent\" }";
    let mut scene = Scene::new(&provider.issuer(), login, "");
    let program = scene.program(0, "/x");
    assert_eq!(program.status, 401);
    assert_eq!(
        program.field("www-authenticate"),
        Some("Bearer realm=\"gate\"")
    );
    assert!(program.cookies().is_empty() && provider.counts().discoveries == 0);
    let page = scene.page("/x?y=z");
    assert_eq!(page.status, 302);
    assert_eq!(page.field("cache-control"), Some("no-store"));
    let there = page.location();
    assert!(
        there
            .as_str()
            .starts_with(&format!("{}/auth?x=y&", provider.issuer()))
    );
    let said = |name: &str| page.parameter(name);
    assert_eq!(
        (said("response_type"), said("client_id")),
        ("code".into(), "gate".into())
    );
    assert_eq!(
        (said("scope"), said("prompt")),
        ("openid a b".into(), "consent".into())
    );
    assert_eq!(said("redirect_uri"), scene.url(0, "/.gate/callback"));
    assert_eq!(said("code_challenge_method"), "S256");
    let [cookie] = page.cookies()[..] else {
        panic!("{page:?}")
    };
    assert!(cookie.starts_with("__Host-gate-login-"), "{cookie}");
    assert!(
        cookie.ends_with("; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    // The next tab gets a different state, and the provider is not asked again.
    assert_ne!(scene.page("/x").parameter("state"), said("state"));
    assert_eq!(provider.counts().discoveries, 1);
}

#[test]
fn a_login_is_completed_once_and_the_backend_is_told_who_it_is() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let back = scene.log_in(&provider, "/x?y=%20");
    assert_eq!(
        (back.status, back.field("location")),
        (302, Some("/x?y=%20"))
    );
    let cookies = back.cookies();
    assert_eq!(
        cookies.len(),
        2,
        "the session, and the state is removed: {cookies:?}"
    );
    assert!(cookies[0].starts_with("__Host-gate="), "{cookies:?}");
    assert!(cookies[0].ends_with("; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Lax"));
    assert!(cookies[1].contains("=; Path=/; Max-Age=0;"), "{cookies:?}");
    scene.browser.cookies.values_mut().for_each(|cookies| {
        cookies.insert("theirs".into(), "stays".into());
    });
    let url = scene.url(0, "/x").parse().unwrap();
    let forged =
        "Authorization: Basic dTpw\r\nX-Auth-Request-User: root\r\nX_Auth_Request_Groups: root\r\n";
    let answer = scene.browser.send(&url, "GET", forged, "");
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.body.to_ascii_lowercase();
    for line in [
        "x-auth-request-user: u\r\n",
        "x-auth-request-email: u@example.com\r\n",
        "x-auth-request-groups: ops\r\n",
        "cookie: theirs=stays\r\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    for secret in ["root", "authorization", "__host-gate", "basic"] {
        assert!(!told.contains(secret), "{told}");
    }
    // Programs of the same browser are logged in as well.
    assert_eq!(scene.program(0, "/y").status, 200);
    lifecycle::scene::eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"completed\"} ") == 1
    });
}

/// A browser opens its tabs again after the session has ended.
#[test]
fn tabs_that_begin_at_once_are_all_logged_in() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let url = scene.url(0, "/x");
    let tabs: Vec<_> = (0..16)
        .map(|_| {
            let mut tab = scene.browser.clone();
            tab.cookies.clear();
            let sent = tab.page(&url);
            for (site, cookies) in tab.cookies {
                scene
                    .browser
                    .cookies
                    .entry(site)
                    .or_default()
                    .extend(cookies);
            }
            sent
        })
        .collect();
    let callback = |state: &str| format!("/.gate/callback?code=c&state={state}");
    for sent in &tabs {
        provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
        let back = scene.page(&callback(&sent.parameter("state")));
        assert_eq!((back.status, back.field("location")), (302, Some("/x")));
    }
    // A tab whose state is gone finds the login of another one.
    let late = scene.page(&callback("unknown"));
    assert_eq!((late.status, late.field("location")), (302, Some("/")));
    assert!(late.cookies().is_empty());
    scene.browser.cookies.clear();
    assert_eq!(scene.page(&callback("unknown")).status, 400);
}

#[test]
fn a_callback_cannot_be_repeated_and_a_login_begins_a_new_session() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let sent = scene.page("/");
    let before = scene.browser.clone();
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    let callback = format!("/.gate/callback?code=c&state={}", sent.parameter("state"));
    assert_eq!(scene.page(&callback).status, 302);
    let first = scene.session().unwrap();
    // Another browser has no state, and a browser that kept it comes too late.
    let url = scene.url(0, &callback);
    for mut thief in [browser::Browser::default(), before] {
        let again = thief.page(&url);
        assert_eq!(again.status, 400, "{again:?}");
        assert!(again.body.contains("login_failed") && again.cookies().is_empty());
    }
    assert_eq!(provider.counts().codes, 1, "the provider was asked once");
    // The old cookie has become worthless.
    let old = scene.browser.clone();
    let sent = scene.page("/.gate/login?return=/z");
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    let back = scene.page(&format!(
        "/.gate/callback?code=c&state={}",
        sent.parameter("state")
    ));
    assert_eq!(back.field("location"), Some("/z"));
    assert_ne!(scene.session().unwrap(), first);
    assert_eq!(scene.program(0, "/").status, 200);
    scene.browser = old;
    assert_eq!(scene.program(0, "/").status, 401);
}

#[test]
fn a_form_without_a_session_is_not_lost() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let url = scene.url(0, "/form").parse().unwrap();
    let answer = scene.browser.form(&url, "a=b");
    assert_eq!(answer.status, 401);
    assert!(answer.field("www-authenticate").is_some());
    assert!(answer.body.contains("target=\"_blank\""), "{answer:?}");
    let link = answer.body.split_once("href=\"").unwrap().1;
    let link = link.split_once('"').unwrap().0.to_owned();
    // In another tab:
    let sent = scene.page(&link);
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    let back = scene.page(&format!(
        "/.gate/callback?code=c&state={}",
        sent.parameter("state")
    ));
    let done = scene.browser.follow(back);
    assert_eq!(done.status, 200);
    assert!(done.body.contains("You are logged in"), "{done:?}");
    // The form is sent once more:
    let answer = scene.browser.form(&url, "a=b");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.starts_with("POST /form "));
}

#[test]
fn a_route_admits_only_those_whose_claims_it_requires() {
    let provider = Provider::start();
    let more = "require = { groups = [\"ops\"], email_domain = [\"example.com\"] }\n\
                [[route]]\nupstream = \"backend\"\npath = \"/admin\"\nlogin = true\nrequire = { groups = [\"root\"] }\n\
                [[route]]\nupstream = \"backend\"\npath = \"/tokens\"\n";
    let mut scene = Scene::new(&provider.issuer(), "", more);
    scene.log_in(&provider, "/");
    assert_eq!(scene.page("/").status, 200);
    let denied = scene.page("/admin/x");
    assert_eq!(denied.status, 403);
    assert!(denied.body.contains("claims"), "{denied:?}");
    // There, only tokens are accepted.
    assert_eq!(scene.page("/tokens").status, 401);
    provider.manners().claims = std::sync::Arc::new(|claims| {
        claims["email_verified"] = false.into();
        claims["groups"] = serde_json::json!(["root"]);
    });
    scene.browser.cookies.clear();
    scene.log_in(&provider, "/");
    assert_eq!(
        (scene.page("/").status, scene.page("/admin").status),
        (403, 200)
    );
}

/// Like a session that ends, a session that loses what its route requires ends its streams.
#[test]
fn a_stream_ends_when_its_claims_are_lost() {
    let provider = Provider::start();
    provider.manners().life = 3;
    let login = "refresh_ahead = \"0s\"\nleeway = \"0s\"";
    let require = "require = { groups = [\"ops\"] }";
    let mut scene = Scene::new(&provider.issuer(), login, require);
    scene.log_in(&provider, "/");
    let mut stream = fleet::open(&scene, 0);
    provider.manners().life = 3600;
    provider.manners().claims =
        std::sync::Arc::new(|claims| claims["groups"] = serde_json::json!([]));
    fleet::ends(&mut stream);
    assert_eq!(scene.page("/").status, 403);
}

#[test]
fn what_the_backend_gets_is_chosen_and_more_is_asked_for() {
    let provider = Provider::start();
    provider.manners().claims = std::sync::Arc::new(|claims| {
        let claims = claims.as_object_mut().unwrap();
        claims.remove("email");
    });
    provider.manners().userinfo =
        serde_json::json!({"sub": "u", "email": "more@example.com", "email_verified": true});
    let login = "userinfo = true\nauthorization = \"access-token\"";
    let mut scene = Scene::new(&provider.issuer(), login, "");
    scene.log_in(&provider, "/");
    let told = scene.page("/").body;
    assert!(told.contains("\r\nAuthorization: Bearer a1\r\n"), "{told}");
    assert!(
        told.contains("\r\nX-Auth-Request-Email: more@example.com\r\n"),
        "{told}"
    );
    let mut scene = Scene::new(&provider.issuer(), "authorization = \"id-token\"", "");
    scene.log_in(&provider, "/");
    let told = scene.page("/").body;
    assert!(told.contains("\r\nAuthorization: Bearer eyJ"), "{told}");
}

#[test]
fn logging_out_ends_the_session_here_and_then_there() {
    let provider = Provider::start();
    let login = "after_logout = \"https://app.example/bye\"";
    let mut scene = Scene::new(&provider.issuer(), login, "");
    scene.log_in(&provider, "/");
    // A link of another page shows a button, and another page's form does nothing.
    let page = scene.page("/.gate/logout");
    assert!(
        page.body
            .contains("<form method=\"post\" action=\"/.gate/logout\">"),
        "{page:?}"
    );
    let url = scene.url(0, "/.gate/logout").parse().unwrap();
    let foreign = "Origin: https://evil.example\r\n";
    assert_eq!(scene.browser.send(&url, "POST", foreign, "").status, 403);
    assert_eq!(scene.program(0, "/").status, 200);
    let kept = scene.browser.clone();
    let out = scene.browser.form(&url, "");
    assert_eq!(out.status, 303, "{out:?}");
    assert!(
        out.location()
            .as_str()
            .starts_with(&format!("{}/end?", provider.issuer()))
    );
    assert_eq!(out.parameter("client_id"), "gate");
    assert!(out.parameter("id_token_hint").starts_with("eyJ"));
    assert_eq!(
        out.parameter("post_logout_redirect_uri"),
        "https://app.example/bye"
    );
    assert_eq!(scene.session(), None);
    scene.browser = kept;
    assert_eq!(
        scene.program(0, "/").status,
        401,
        "the session itself is over"
    );
}

#[test]
fn a_reload_keeps_logins_and_those_under_way() {
    let provider = Provider::start();
    let mut scene = Scene::new(&provider.issuer(), "", "");
    let sent = scene.page("/x");
    provider.expect(&sent.parameter("nonce"), &sent.parameter("code_challenge"));
    provider.manners().delay = std::time::Duration::from_secs(1);
    let callback = scene.url(
        0,
        &format!("/.gate/callback?code=c&state={}", sent.parameter("state")),
    );
    let mut browser = scene.browser.clone();
    let coming_back = std::thread::spawn(move || {
        let back = browser.page(&callback);
        (back.status, browser)
    });
    lifecycle::scene::eventually_true(|| provider.counts().discoveries == 1);
    scene.gates[0].reload(scene.config.clone()).unwrap();
    let (status, browser) = coming_back.join().unwrap();
    assert_eq!(status, 302);
    scene.browser = browser;
    assert_eq!(scene.program(0, "/x").status, 200);
    // With another [login] there is another service, which knows the same sessions.
    let mut config = scene.config.clone();
    config.login.as_mut().unwrap().userinfo = true;
    scene.gates[0].reload(config).unwrap();
    lifecycle::scene::eventually_true(|| scene.program(0, "/x").status == 200);
    // Without a [login] table, nobody is logged in.
    let mut config = scene.config.clone();
    (config.login, config.route[0].login) = (None, false);
    scene.gates[0].reload(config).unwrap();
    lifecycle::scene::eventually_true(|| scene.program(0, "/x").status == 401);
}

#[test]
fn a_proxy_that_asks_is_told_who_is_logged_in() {
    let provider = Provider::start();
    let mut scene = Scene::tuned(&provider.issuer(), "", "", None, 1, |config| {
        config.authz.http = vec!["127.0.0.1:0".parse().unwrap()];
    });
    scene.log_in(&provider, "/");
    let asks = |cookie: &str| {
        let at = scene.gates[0].addresses().authz_http[0];
        let url = format!("http://{at}/original").parse().unwrap();
        let head = format!(
            "X-Original-Method: GET\r\nX-Original-URL: https://app.example/x\r\nCookie: __Host-gate={cookie}\r\n"
        );
        browser::Browser::default().send(&url, "GET", &head, "")
    };
    let told = asks(&scene.session().unwrap());
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(told.field("x-auth-request-user"), Some("u"));
    // Empty values replace whatever the client sent.
    assert_eq!(told.field("authorization"), Some(""));
    assert_eq!(told.field("x-auth-request-preferred-username"), Some(""));
    assert_eq!(asks("x").status, 401);
}

#[test]
fn a_login_over_http_2_and_3_is_the_same() {
    let Some(curl) = which_curl() else {
        return skip::lacking("gate: login over HTTP/2", "curl");
    };
    let provider = Provider::start();
    let scene = Scene::tuned(&provider.issuer(), "", "", None, 1, |config| {
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
    });
    let at = scene.gates[0].addresses().https[0];
    let versions = std::process::Command::new(&curl)
        .arg("--version")
        .output()
        .unwrap();
    let versions = String::from_utf8(versions.stdout).unwrap();
    for (version, number, known) in [("--http2", "2", "HTTP2"), ("--http3-only", "3", "HTTP3")] {
        if !versions.contains(known) {
            continue;
        }
        let asked = std::process::Command::new(&curl)
            .args(["-sk", version, "-H", "Accept: text/html", "-o", "/dev/null"])
            .args(["-w", "%{http_version} %{http_code} %{redirect_url}"])
            .arg(format!("https://{at}/x"))
            .output()
            .unwrap();
        let told = String::from_utf8(asked.stdout).unwrap();
        let expected = format!(
            "{number} 302 {}/auth?x=y&response_type=code",
            provider.issuer()
        );
        assert!(told.starts_with(&expected), "{told}");
        assert!(
            told.contains("redirect_uri=https%3A%2F%2F127.0.0.1%3A"),
            "{told}"
        );
        let asked = std::process::Command::new(&curl)
            .args([
                "-sk",
                version,
                "-d",
                "logout_token=x",
                "-w",
                " %{http_code}",
            ])
            .arg(format!("https://{at}/.gate/backchannel-logout"))
            .output()
            .unwrap();
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(
            told.ends_with(" 400") && told.contains("login_failed"),
            "{told}"
        );
    }
}

/// A port that was free a moment ago.
fn free() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn which_curl() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join("curl"));
    places.find(|place| place.exists())
}
