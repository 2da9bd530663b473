//! `[login]`: where people log in with a browser (OpenID Connect), and how long that lasts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Deref;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use url::Url;

use super::{Jwks, SecretFrom, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub issuer: IssuerUrl,
    pub client_id: String,
    /// The client's secret. Without it, gate is a public client, which only PKCE protects.
    pub client_secret: Option<SecretFrom>,
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// Further parameters of the authorization request.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The origin that browsers see; otherwise that of each request.
    pub origin: Option<String>,
    /// Gate's own paths.
    #[serde(default = "start")]
    pub start: OwnPath,
    #[serde(default = "callback")]
    pub callback: OwnPath,
    #[serde(default = "logout")]
    pub logout: OwnPath,
    #[serde(default = "backchannel_logout")]
    pub backchannel_logout: OwnPath,
    #[serde(default = "frontchannel_logout")]
    pub frontchannel_logout: OwnPath,
    /// Where the provider sends people after it has logged them out.
    pub after_logout: Option<String>,
    #[serde(default = "cookie")]
    pub cookie: String,
    #[serde(default)]
    pub authorization: LoginToken,
    /// Whether the userinfo endpoint is asked for claims too.
    #[serde(default)]
    pub userinfo: bool,
    /// Whether the backend gets e-mail addresses that the provider has not verified.
    #[serde(default)]
    pub unverified_email: bool,
    /// How long a login lasts at most.
    #[serde(default = "life")]
    pub life: Span,
    /// How long before their expiry tokens are refreshed.
    #[serde(default = "refresh_ahead")]
    pub refresh_ahead: Span,
    /// How far the provider's clock may differ.
    #[serde(default = "leeway")]
    pub leeway: Span,
    /// The algorithms that may sign the provider's tokens.
    #[serde(default = "Jwks::usual_algorithms")]
    pub algorithms: Vec<String>,
    /// The CA certificate in PEM for the provider; otherwise the system's CAs.
    pub ca: Option<PathBuf>,
}

/// What the backend gets in `Authorization`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoginToken {
    #[default]
    None,
    AccessToken,
    IdToken,
}

/// The provider's name, and the URL below which its metadata is. OpenID Connect Discovery §3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerUrl(String);

/// A path that gate answers itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPath(String);

impl Login {
    /// The provider and the client that logins are for.
    pub(crate) fn realm(&self) -> String {
        format!("{}\0{}", &*self.issuer, self.client_id)
    }
}

impl Deref for IssuerUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Deref for OwnPath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for IssuerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match issuer_error(&text) {
            None => Ok(Self(text)),
            Some(why) => Err(D::Error::custom(why)),
        }
    }
}

impl<'de> Deserialize<'de> for OwnPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Only characters that every server reads in the same way.
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let is_segment = |segment: &str| {
            segment.bytes().all(plain) && segment.bytes().any(|b| b.is_ascii_alphanumeric())
        };
        let rest = text.strip_prefix('/');
        if rest.is_some_and(|rest| rest.split('/').all(is_segment)) {
            return Ok(Self(text));
        }
        Err(D::Error::custom(
            "this has to be a path of letters, digits and '-_.', such as \"/.gate/callback\"",
        ))
    }
}

fn issuer_error(text: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(text) else {
        return Some("this has to be the provider's URL, such as \"https://login.example\"");
    };
    let is_here = url.host_str().is_some_and(is_loopback);
    match url.scheme() {
        "https" => {}
        "http" if is_here => {}
        "http" => {
            return Some("over http://, anyone on the path could log in as any user; use https://");
        }
        _ => return Some("this has to begin with https://"),
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Some("an issuer must not contain '?' or '#'");
    }
    let has_user = !url.username().is_empty() || url.password().is_some();
    has_user.then_some("an issuer must not contain a user")
}

/// Whether the host of a URL is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    let address = bare.parse::<IpAddr>();
    address.map_or(bare.eq_ignore_ascii_case("localhost"), |address| {
        address.to_canonical().is_loopback()
    })
}

fn scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).into()
}

fn start() -> OwnPath {
    OwnPath("/.gate/login".into())
}

fn callback() -> OwnPath {
    OwnPath("/.gate/callback".into())
}

fn logout() -> OwnPath {
    OwnPath("/.gate/logout".into())
}

fn backchannel_logout() -> OwnPath {
    OwnPath("/.gate/backchannel-logout".into())
}

fn frontchannel_logout() -> OwnPath {
    OwnPath("/.gate/frontchannel-logout".into())
}

fn cookie() -> String {
    "__Host-gate".into()
}

fn life() -> Span {
    Span::seconds(12 * 3600)
}

fn refresh_ahead() -> Span {
    Span::seconds(60)
}

fn leeway() -> Span {
    Span::seconds(30)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn error(lines: &str) -> String {
        let text = format!("[login]\nclient_id = \"c\"\n{lines}");
        Config::parse(&text, "f").unwrap_err().to_string()
    }

    #[test]
    fn a_url_or_a_path_that_cannot_be_right_is_shown_with_its_place() {
        for (lines, told) in [
            (
                "issuer = \"login\"",
                "f:3:10: this has to be the provider's URL",
            ),
            ("issuer = \"http://login.example\"", "f:3:10: over http://"),
            (
                "issuer = \"ftp://login.example\"",
                "f:3:10: this has to begin",
            ),
            (
                "issuer = \"https://login.example/?a\"",
                "f:3:10: an issuer must not contain",
            ),
            (
                "issuer = \"https://u@login.example\"",
                "f:3:10: an issuer must not contain a user",
            ),
            (
                "issuer = \"https://login.example\"\ncallback = \"/a//b\"",
                "f:4:12: this has to be a path",
            ),
            (
                "issuer = \"https://login.example\"\nlogout = \"/..\"",
                "f:4:10: this has to be a path",
            ),
            (
                "issuer = \"https://login.example\"\nclient_secret = \"canary\"",
                "f:4:17: this has to be {",
            ),
            ("scopes = []", "f:1:1: [login] needs the key `issuer`"),
        ] {
            let said = error(lines);
            assert!(said.starts_with(told) && !said.contains("canary"), "{said}");
        }
    }

    #[test]
    fn a_provider_on_this_machine_needs_no_tls() {
        for issuer in [
            "http://127.0.0.1:3000",
            "http://localhost/x",
            "http://[::1]:1",
        ] {
            let text = format!("[login]\nissuer = \"{issuer}\"\nclient_id = \"c\"");
            let login = Config::parse(&text, "f").unwrap().login.unwrap();
            assert_eq!(&*login.issuer, issuer);
        }
    }
}
