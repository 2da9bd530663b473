//! Logins with a second provider, in Go: the example server of `zitadel/oidc`. Its ID tokens name
//! only the person, so gate has to ask it for the other claims.

use std::process::{Child, Command, Stdio};

use super::browser::Answer;
use super::scene::Scene;
use crate::lifecycle::scene::{eventually_true, secret};
use crate::skip;

/// The client of the example, and its secret.
const CLIENT: (&str, &str) = ("web", "secret");

struct Zitadel {
    child: Child,
    issuer: String,
}

impl Zitadel {
    /// Starts the provider for a gate with this address.
    fn start(test: &str, gate: std::net::SocketAddr) -> Option<Self> {
        let found = skip::installed("install-zitadel-oidc");
        // `scripts/test` reports that it cannot be installed.
        let found = found.inspect_err(|why| eprintln!("SKIPPED {test}: {why}"));
        let port = super::free().port().to_string();
        let child = Command::new(found.ok()?)
            .env("PORT", &port)
            .env("REDIRECT_URI", format!("http://{gate}/.gate/callback"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let issuer = format!("http://localhost:{port}/");
        let listens = || std::net::TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_ok();
        let provider = Self { child, issuer };
        eventually_true(listens);
        Some(provider)
    }
}

impl Drop for Zitadel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of a form's hidden field.
fn hidden(page: &Answer, name: &str) -> String {
    let before = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.body.split_once(&before).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn people_log_in_and_out_with_a_provider_in_go() {
    let gate = super::free();
    let Some(provider) = Zitadel::start("gate: a provider in Go", gate) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let client_secret = secret(&folder, "client.key", CLIENT.1);
    let login =
        "scopes = [\"openid\", \"email\", \"profile\", \"offline_access\"]\nuserinfo = true";
    let rule = "require = { email_domain = [\"zitadel.ch\"] }";
    let mut scene = Scene::tuned(&provider.issuer, login, rule, None, 1, |config| {
        config.listen.http = vec![gate];
        let login = config.login.as_mut().unwrap();
        login.client_id = CLIENT.0.into();
        login.client_secret = Some(roundtrip_gate::config::SecretFrom::File(client_secret));
    });
    let sent = scene.page("/mail?folder=in");
    assert_eq!(sent.status, 302, "{sent:?}");
    let page = scene.browser.follow(sent);
    let form = format!(
        "id={}&username=test-user%40localhost&password=verysecure",
        hidden(&page, "id")
    );
    let action = page.url.join("/login/username").unwrap();
    let sent = scene.browser.form(&action, &form);
    let page = scene.browser.follow(sent);
    assert_eq!(
        (page.status, page.url.as_str()),
        (200, &*scene.url(0, "/mail?folder=in")),
        "{page:?}"
    );
    for line in [
        "GET /mail?folder=in ",
        "\r\nX-Auth-Request-User: id1\r\n",
        "\r\nX-Auth-Request-Email: test-user@zitadel.ch\r\n",
    ] {
        assert!(page.body.contains(line), "{page:?}");
    }
    assert_eq!(scene.program(0, "/").status, 200);
    // Logged out here, and at the provider.
    let out = scene.url(0, "/.gate/logout").parse().unwrap();
    let kept = scene.browser.clone();
    let sent = scene.browser.form(&out, "");
    assert_eq!(sent.status, 303, "{sent:?}");
    let page = scene.browser.follow(sent);
    assert!(page.body.contains("signed out"), "{page:?}");
    scene.browser = kept;
    assert_eq!(scene.program(0, "/").status, 401);
}
