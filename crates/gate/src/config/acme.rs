//! `[acme]`: the CA from which gate gets certificates (RFC 8555), and for which names.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use url::Url;

use super::{Route, SecretFrom, Span, is_loopback};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acme {
    #[serde(deserialize_with = "directory")]
    pub directory: String,
    /// URLs at which the CA can reach the operator.
    #[serde(default)]
    pub contact: Vec<String>,
    /// Whether the operator agrees to the CA's terms. RFC 8555 §7.3.
    #[serde(default)]
    pub terms_agreed: bool,
    /// The names to order certificates for. If empty, the hosts of the routes.
    #[serde(default)]
    pub names: Vec<String>,
    #[serde(default)]
    pub challenge: AcmeChallenge,
    /// The time limit of one order, and the time after which another replica takes over from one
    /// that has died.
    #[serde(default = "order_time")]
    pub order_time: Span,
    /// The CA certificate in PEM for the directory's server; otherwise the system's CAs.
    pub ca: Option<PathBuf>,
    pub external_account: Option<ExternalAccount>,
}

/// An existing account at the CA (external account binding). RFC 8555 §7.3.4.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalAccount {
    pub id: String,
    /// The key, in base64url.
    pub key: SecretFrom,
}

/// How the CA validates names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum AcmeChallenge {
    /// RFC 8737.
    #[default]
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn,
    /// RFC 8555 §8.3.
    #[serde(rename = "http-01")]
    Http,
}

impl AcmeChallenge {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TlsAlpn => "tls-alpn-01",
            Self::Http => "http-01",
        }
    }
}

impl Acme {
    /// The names, in lower case, each once. A name that cannot have a certificate is included if it
    /// is configured, and left out if it is only the host of a route.
    pub(crate) fn all_names(&self, routes: &[Route]) -> Vec<String> {
        let bare = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
        let mut names: Vec<String> = if self.names.is_empty() {
            let hosts = routes.iter().map(Route::bare_host);
            hosts.filter(|host| name_error(host).is_none()).collect()
        } else {
            self.names.iter().map(|name| bare(name)).collect()
        };
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Why these challenges cannot obtain a certificate for a name.
pub(crate) fn name_error(name: &str) -> Option<&'static str> {
    if name.starts_with("*.") {
        return Some(
            "a CA issues wildcards only after a challenge in the DNS, which gate does not support",
        );
    }
    if name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
        return Some("this is an address; gate orders certificates only for names");
    }
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.contains('.') || !name.split('.').all(is_label) {
        return Some("this is not a host name with a domain, such as \"app.example\"");
    }
    None
}

fn directory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let Ok(url) = Url::parse(&text) else {
        let what = "this has to be the URL of the CA's directory, such as \"https://acme-v02.api.letsencrypt.org/directory\"";
        return Err(D::Error::custom(what));
    };
    let is_here = url.host_str().is_some_and(is_loopback);
    match url.scheme() {
        "https" => {}
        "http" if is_here => {}
        _ => return Err(D::Error::custom("this has to begin with https://")),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(D::Error::custom(
            "a directory's URL must not contain a user or a '#'",
        ));
    }
    Ok(text)
}

fn order_time() -> Span {
    Span::seconds(300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn names_are_those_of_the_routes_unless_they_are_told() {
        let routes = "[[route]]\nhost = \"B.example.\"\n[[route]]\nhost = \"b.example\"\n\
                      [[route]]\nhost = \"10.0.0.1\"\n[[route]]\nhost = \"a.example\"\n[[route]]\n";
        let names = |more: &str| {
            let text = format!("[acme]\ndirectory = \"https://ca.example/d\"\n{more}\n{routes}");
            let config = Config::parse(&text, "f").unwrap();
            config.acme.unwrap().all_names(&config.route)
        };
        assert_eq!(names(""), ["a.example", "b.example"]);
        assert_eq!(names("names = [\"C.example\"]"), ["c.example"]);
    }

    #[test]
    fn names_that_cannot_have_a_certificate_are_reported() {
        for name in [
            "*.a.example",
            "10.0.0.1",
            "[::1]",
            "localhost",
            "a..b",
            "-a.b",
            "a_b.c",
            "",
        ] {
            assert!(name_error(name).is_some(), "{name}");
        }
        assert_eq!(name_error("xn--a-0.b-c.example"), None);
    }

    #[test]
    fn a_directory_that_cannot_be_right_is_shown_with_its_place() {
        for (url, told) in [
            ("ca", "f:2:13: this has to be the URL"),
            ("http://ca.example/d", "f:2:13: this has to begin"),
            ("https://u@ca.example/d", "f:2:13: a directory's URL"),
        ] {
            let text = format!("[acme]\ndirectory = \"{url}\"");
            let said = Config::parse(&text, "f").unwrap_err().to_string();
            assert!(said.starts_with(told), "{said}");
        }
        let here = "[acme]\ndirectory = \"http://127.0.0.1:1/d\"";
        assert!(Config::parse(here, "f").is_ok());
    }
}
