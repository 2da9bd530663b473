//! Logins with the certified provider `oidc-provider`, through its own pages.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::browser::{Answer, Browser};
use super::scene::{SECRET, Scene};
use crate::lifecycle::scene::eventually_true;
use crate::runtime;
use crate::server::Server;
use crate::skip;

struct Certified {
    child: Child,
    /// It ends with its input.
    input: ChildStdin,
    issuer: String,
}

impl Certified {
    fn start(test: &str) -> Option<Self> {
        let found = skip::installed("install-oidc-provider");
        // `scripts/test` reports that it cannot be installed.
        let found = found.inspect_err(|why| eprintln!("SKIPPED {test}: {why}"));
        let place = found.ok()?;
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/login/certified.mjs");
        let mut child = Command::new("node")
            .args([program, &place])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        Some(Self {
            input: child.stdin.take().unwrap(),
            child,
            issuer: format!("http://127.0.0.1:{}", line.trim()),
        })
    }

    /// Registers the gates; tokens last for `life` seconds.
    fn serve(&mut self, scene: &Scene, life: u32) {
        let gates: Vec<String> = scene
            .gates
            .iter()
            .map(|gate| format!("http://{}", gate.addresses().http[0]))
            .collect();
        let registered = json!({"gates": gates, "secret": SECRET, "life": life});
        writeln!(self.input, "{registered}").unwrap();
        // Until it has read that.
        eventually_true(|| {
            let url = format!("{}/.well-known/openid-configuration", self.issuer);
            Browser::default().page(&url).status == 200
        });
    }

    fn counts(&self) -> Value {
        let answer = Browser::default().page(&format!("{}/test/counts", self.issuer));
        serde_json::from_str(&answer.body).unwrap()
    }

    fn refreshes(&self) -> u64 {
        self.counts()["refresh_token"].as_u64().unwrap()
    }
}

impl Drop for Certified {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Logs in at the provider's pages, and consents; returns the last page.
fn log_in(scene: &mut Scene, url: &str, name: &str) -> Answer {
    let sent = scene.browser.page(url);
    assert_eq!(sent.status, 302, "{sent:?}");
    let mut page = scene.browser.follow(sent);
    for _ in 0..3 {
        if !page.body.contains("name=\"prompt\"") {
            return page;
        }
        let (action, prompt) = (
            attribute(&page, "action=\""),
            attribute(&page, "name=\"prompt\" value=\""),
        );
        let form = if prompt == "login" {
            format!("prompt=login&login={name}&password=any")
        } else {
            format!("prompt={prompt}")
        };
        let sent = scene.browser.form(&page.url.join(&action).unwrap(), &form);
        page = scene.browser.follow(sent);
    }
    panic!("always another form: {page:?}")
}

/// Logs in as alice, and ends at the page that was requested.
fn log_in_and_arrive(scene: &mut Scene, provider: &Certified, url: &str) -> Answer {
    let page = log_in(scene, url, "alice");
    assert_eq!(
        (page.status, page.url.as_str()),
        (200, url),
        "{page:?} {}",
        provider.counts()
    );
    page
}

fn attribute(page: &Answer, before: &str) -> String {
    let (_, rest) = page
        .body
        .split_once(before)
        .unwrap_or_else(|| panic!("{before} in {page:?}"));
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn people_log_in_and_out_with_a_certified_provider() {
    let Some(mut provider) = Certified::start("gate: a certified provider") else {
        return;
    };
    let login = "after_logout = \"AFTER\"\nauthorization = \"access-token\"";
    let more = "require = { groups = [\"ops\"], email_domain = [\"example.com\"] }";
    let mut scene = Scene::tuned(&provider.issuer, login, more, None, 1, |config| {
        // Its port is known only later, and the provider compares the whole URL.
        config.listen.http = vec![crate::login::free()];
        let at = config.listen.http[0];
        config.login.as_mut().unwrap().after_logout = Some(format!("http://{at}/bye"));
    });
    provider.serve(&scene, 600);
    let url = scene.url(0, "/mail?folder=in");
    let page = log_in_and_arrive(&mut scene, &provider, &url);
    for line in [
        "GET /mail?folder=in ",
        "\r\nX-Auth-Request-User: alice\r\n",
        "\r\nX-Auth-Request-Email: alice@example.com\r\n",
        "\r\nX-Auth-Request-Groups: ops\r\n",
        "\r\nAuthorization: Bearer ",
    ] {
        assert!(page.body.contains(line), "{page:?}");
    }
    // A user outside the group can log in, but cannot use the route.
    let own = std::mem::take(&mut scene.browser.cookies);
    assert_eq!(log_in(&mut scene, &url, "bob").status, 403);
    scene.browser.cookies = own;
    // Logged out here, and at the provider.
    let out = Url::parse(&scene.url(0, "/.gate/logout")).unwrap();
    let kept = scene.browser.clone();
    let sent = scene.browser.form(&out, "");
    assert_eq!(sent.status, 303);
    let page = scene.browser.follow(sent);
    let form = format!(
        "xsrf={}&logout=yes",
        attribute(&page, "name=\"xsrf\" value=\"")
    );
    let action = page.url.join(&attribute(&page, "action=\"")).unwrap();
    let sent = scene.browser.form(&action, &form);
    assert_eq!(
        sent.location().as_str(),
        scene.url(0, "/bye"),
        "{sent:?} {}",
        provider.counts()
    );
    scene.browser = kept;
    assert_eq!(scene.program(0, "/mail").status, 401);
    assert_eq!(provider.counts()["errors"], json!([]));
}

#[test]
fn a_certified_provider_s_tokens_are_refreshed_once_and_its_logout_arrives_everywhere() {
    const TEST: &str = "gate: a certified provider and two gates";
    let runtime = runtime();
    let (Some(mut provider), Some(server)) = (
        Certified::start(TEST),
        runtime.block_on(Server::start(TEST, &[])),
    ) else {
        return;
    };
    let store = format!("unix:{}", server.socket().display());
    let login = "scopes = [\"openid\", \"email\", \"profile\", \"offline_access\"]\n\
                 parameters = { prompt = \"consent\" }\nrefresh_ahead = \"0s\"\nleeway = \"10s\"";
    let mut scene = Scene::with_store(&provider.issuer, login, "", Some(&store), 2);
    provider.serve(&scene, 3);
    let url = scene.url(0, "/");
    let page = log_in(&mut scene, &url, "alice");
    assert_eq!(page.status, 200, "{page:?} {}", provider.counts());
    assert_eq!(scene.program(1, "/").status, 200);
    thread::sleep(Duration::from_secs(4));
    let before = provider.refreshes();
    let asking: Vec<_> = (0..20)
        .map(|n| {
            let (mut browser, url) = (
                scene.browser.clone(),
                scene.url(n % 2, "/").parse().unwrap(),
            );
            thread::spawn(move || browser.send(&url, "GET", "", "").status)
        })
        .collect();
    let statuses: Vec<u16> = asking.into_iter().map(|one| one.join().unwrap()).collect();
    assert_eq!(statuses, [200; 20], "{}", provider.counts());
    // A slow machine may need the next tokens as well, but no token is used twice.
    assert!(
        (1..=3).contains(&(provider.refreshes() - before)),
        "{}",
        provider.counts()
    );
    assert_eq!(provider.counts()["errors"], json!([]));
    // The person logs out at the provider, not here.
    let kept = scene.browser.clone();
    let page = scene
        .browser
        .page(&format!("{}/session/end", provider.issuer));
    let form = format!(
        "xsrf={}&logout=yes",
        attribute(&page, "name=\"xsrf\" value=\"")
    );
    let action = page.url.join(&attribute(&page, "action=\"")).unwrap();
    scene.browser.form(&action, &form);
    scene.browser = kept;
    for gate in [0, 1] {
        eventually_true(|| scene.program(gate, "/").status == 401);
    }
    assert_eq!(provider.counts()["errors"], json!([]));
    eventually_true(|| {
        scene.figure("roundtrip_gate_login_events_total{event=\"provider_logout\"} ") == 1
    });
}

#[test]
fn a_public_client_proves_itself_by_pkce() {
    let Some(mut provider) = Certified::start("gate: a public client") else {
        return;
    };
    let mut scene = Scene::tuned(&provider.issuer, "", "", None, 1, |config| {
        let login = config.login.as_mut().unwrap();
        login.client_id = "public".into();
        login.client_secret = None;
    });
    provider.serve(&scene, 600);
    let url = scene.url(0, "/x");
    log_in_and_arrive(&mut scene, &provider, &url);
}
