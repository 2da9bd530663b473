//! The `http` table of a module.

use std::collections::BTreeMap;
use std::io;

use roundtrip_model::Strategy;
use roundtrip_probe::{Environment, Exceptions, Proxy};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::credentials::{Authorization, BasicAuth, FieldValues, OAuth2, are_both, kept};
use super::octets::Octets;
use super::pattern::Pattern;
use super::scalar::{Size, or_default};
use super::tls::TlsSettings;

/// Hosts that the environment's proxy is never for, as Go's client decides it.
const NEVER_PROXIED: &str = "localhost,127.0.0.0/8,::1";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HttpModule {
    #[serde(deserialize_with = "or_default")]
    pub(crate) valid_status_codes: Vec<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) valid_http_versions: Vec<String>,
    pub(crate) method: Option<String>,
    #[serde(deserialize_with = "or_default")]
    headers: BTreeMap<String, Option<String>>,
    #[serde(deserialize_with = "or_default")]
    http_headers: BTreeMap<String, FieldValues>,
    #[serde(deserialize_with = "or_default")]
    body: Octets,
    body_file: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) preferred_ip_protocol: IpProtocol,
    ip_protocol_fallback: Option<bool>,
    follow_redirects: Option<bool>,
    no_follow_redirects: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_ssl: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_not_ssl: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_body_matches_regexp: Vec<Pattern>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_body_not_matches_regexp: Vec<Pattern>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_header_matches: Vec<HeaderPattern>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) fail_if_header_not_matches: Vec<HeaderPattern>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls_config: TlsSettings,
    basic_auth: Option<BasicAuth>,
    authorization: Option<Authorization>,
    bearer_token: Option<String>,
    bearer_token_file: Option<String>,
    pub(crate) oauth2: Option<Box<OAuth2>>,
    pub(crate) proxy_url: Option<Spanned<String>>,
    no_proxy: Option<String>,
    proxy_from_environment: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    proxy_connect_header: BTreeMap<String, Vec<String>>,
    skip_resolve_phase_with_proxy: Option<bool>,
    compression: Option<Compression>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) body_size_limit: Size,
    enable_http2: Option<bool>,
    enable_http3: Option<bool>,
    /// Our own settings, an extension that blackbox_exporter does not know.
    #[serde(deserialize_with = "or_default")]
    pub(crate) roundtrip: OwnSettings,
    fail_if_body_json_matches_cel: Option<Spanned<IgnoredAny>>,
    fail_if_body_json_not_matches_cel: Option<Spanned<IgnoredAny>>,
}

/// The preferred protocol: IPv6 if the setting is missing, and IPv4 for any word but `ip6`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum IpProtocol {
    Ip4,
    #[default]
    Ip6,
}

/// The coding that a body has, whatever its header fields say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Identity,
    Gzip,
    Deflate,
    Brotli,
}

/// A header field whose value makes a probe fail.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderPattern {
    pub(crate) header: String,
    pub(crate) regexp: Pattern,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) allow_missing: bool,
}

/// The settings that only this exporter has.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OwnSettings {
    /// The strategy, as for `probe --strategy`.
    #[serde(deserialize_with = "strategy")]
    pub(crate) strategy: Strategy,
    /// Whether a second request follows on the same connection.
    pub(crate) warm: bool,
}

impl HttpModule {
    pub(crate) fn follows(&self) -> bool {
        let old = self.no_follow_redirects.map(|no| !no);
        old.or(self.follow_redirects).unwrap_or(true)
    }

    pub(crate) fn falls_back(&self) -> bool {
        self.ip_protocol_fallback.unwrap_or(true)
    }

    /// The versions of HTTP that may be negotiated, as parts of a strategy.
    pub(crate) fn http_version(&self) -> Option<&'static str> {
        let is_enabled = (self.enable_http3.unwrap_or_default(), self.enable_http2);
        match is_enabled {
            (true, _) => Some("h3"),
            (false, Some(false)) => Some("h1"),
            (false, _) => None,
        }
    }

    /// The request's body.
    pub(crate) fn body(&self) -> io::Result<Vec<u8>> {
        match self.body_file.as_ref().filter(|file| !file.is_empty()) {
            Some(file) => std::fs::read(file),
            None => Ok(self.body.0.clone()),
        }
    }

    /// The coding to remove from the body.
    pub(crate) fn compression(&self) -> Compression {
        self.compression.unwrap_or(Compression::Identity)
    }

    pub(crate) fn has_body_patterns(&self) -> bool {
        !self.fail_if_body_matches_regexp.is_empty()
            || !self.fail_if_body_not_matches_regexp.is_empty()
    }

    /// The request's own fields, with the credentials.
    pub(crate) fn fields(&self) -> io::Result<Vec<(String, String)>> {
        let mut fields = Vec::new();
        for (name, value) in &self.headers {
            fields.push((name.clone(), value.clone().unwrap_or_default()));
        }
        for (name, values) in &self.http_headers {
            let values = values.read()?.into_iter();
            fields.extend(values.map(|value| (name.clone(), value)));
        }
        let is_given = fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if !is_given && let Some(value) = self.authorization()? {
            fields.push(("Authorization".into(), value));
        }
        Ok(fields)
    }

    /// The value of a field that the module sets.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.headers.iter();
        let found = fields.find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// The user and password for Basic.
    pub(crate) fn user(&self) -> io::Result<Option<(String, String)>> {
        self.basic_auth.as_ref().map(BasicAuth::read).transpose()
    }

    fn authorization(&self) -> io::Result<Option<String>> {
        if let Some(asked) = &self.authorization {
            return asked.read().map(Some);
        }
        let token = kept(self.bearer_token.as_ref(), self.bearer_token_file.as_ref())?;
        Ok((!token.is_empty()).then(|| format!("Bearer {token}")))
    }

    /// The proxies that the environment names, if the module asks for them.
    pub(crate) fn environment(&self) -> Result<Environment, String> {
        if !self.proxy_from_environment.unwrap_or_default() {
            return Ok(Environment::default());
        }
        // Go reads them in this way: names in capitals count for both schemes, and ALL_PROXY is
        // ignored.
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let read = |name: &str| match name {
            "no_proxy" => {
                let given = variable("NO_PROXY").or_else(|| variable("no_proxy"));
                Some([given.as_deref().unwrap_or_default(), NEVER_PROXIED].join(","))
            }
            "http_proxy" => variable("HTTP_PROXY").or_else(|| variable("http_proxy")),
            "https_proxy" => variable("HTTPS_PROXY").or_else(|| variable("https_proxy")),
            _ => None,
        };
        let read = Environment::read(read).map_err(|error| error.to_string())?;
        Ok(read.with_ports_of_schemes())
    }

    /// The proxy that the module names.
    pub(crate) fn proxy(&self) -> Result<Option<Proxy>, String> {
        proxy(self.proxy_url.as_ref())
    }

    /// The hosts that `proxy_url` is not for.
    pub(crate) fn unproxied(&self) -> Exceptions {
        match self.no_proxy.as_deref().filter(|list| !list.is_empty()) {
            Some(list) if list.trim() != "*" => Exceptions::parse(&[list, NEVER_PROXIED].join(",")),
            other => Exceptions::parse(other.unwrap_or_default()),
        }
    }

    /// The fields of CONNECT.
    pub(crate) fn connect_fields(&self) -> Vec<(String, String)> {
        let of = |(name, values): (&String, &Vec<String>)| {
            let name = name.clone();
            let values = values.clone().into_iter();
            values
                .map(move |value| (name.clone(), value))
                .collect::<Vec<_>>()
        };
        self.proxy_connect_header.iter().flat_map(of).collect()
    }

    /// Describes settings of the table that contradict each other, if there are any.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let has_bearer = self.bearer_token.is_some() || self.bearer_token_file.is_some();
        let is_h3 = self.enable_http3.unwrap_or_default();
        let names = |version: &str| self.valid_http_versions.iter().any(|v| v == version);
        let ways = [
            self.basic_auth.is_some(),
            self.authorization.is_some(),
            self.oauth2.is_some(),
            has_bearer,
        ];
        if ways.into_iter().filter(|is_used| *is_used).count() > 1 {
            Some("only one of basic_auth, authorization, oauth2 and bearer_token can be used")
        } else if are_both(self.bearer_token.as_ref(), self.bearer_token_file.as_ref()) {
            Some("both bearer_token and bearer_token_file are set")
        } else if !self.body.0.is_empty() && self.body_file.as_ref().is_some_and(|f| !f.is_empty())
        {
            Some("both body and body_file are set")
        } else if !self.accepts_compression() {
            Some("Accept-Encoding does not accept the coding that compression names")
        } else if is_h3 && self.enable_http2 != Some(false) {
            Some("enable_http3 needs enable_http2: false")
        } else if is_h3 && (names("HTTP/1.1") || names("HTTP/2.0")) {
            Some("with enable_http3, valid_http_versions may contain only HTTP/3.0")
        } else if !is_h3 && names("HTTP/3.0") && self.roundtrip.strategy == Strategy::default() {
            Some("HTTP/3.0 in valid_http_versions needs enable_http3")
        } else if self.has_empty_header_pattern() {
            Some("a rule for header fields needs header and regexp")
        } else if self.no_proxy.is_some() && self.proxy_url.is_none() {
            Some("no_proxy needs proxy_url")
        } else if self.proxy_from_environment == Some(true) && self.proxy_url.is_some() {
            Some("both proxy_url and proxy_from_environment are set")
        } else {
            let credentials = [
                self.basic_auth.as_ref().and_then(BasicAuth::mistake),
                self.authorization.as_ref().and_then(Authorization::mistake),
                self.oauth2.as_ref().and_then(|oauth2| oauth2.mistake()),
            ];
            let found = credentials.into_iter().flatten().next();
            found.or_else(|| self.tls_config.mistake())
        }
    }

    fn has_empty_header_pattern(&self) -> bool {
        let rules = [
            &self.fail_if_header_matches,
            &self.fail_if_header_not_matches,
        ];
        let mut rules = rules.into_iter().flatten();
        rules.any(|rule| rule.header.is_empty() || rule.regexp.is_empty())
    }

    /// Whether the module's `Accept-Encoding` accepts the coding, or there is no such field. RFC
    /// 9110 §12.5.3.
    fn accepts_compression(&self) -> bool {
        let Some(coding) = self.compression.map(Compression::name) else {
            return true;
        };
        let Some(accepted) = self.field("accept-encoding") else {
            return true;
        };
        let weight = |name: &str| {
            let mut ranges = accepted
                .split(',')
                .map(|part| part.split_once(';').unwrap_or((part, "")));
            let found = ranges.find(|(range, _)| range.trim().eq_ignore_ascii_case(name));
            found.map(|(_, parameters)| {
                let q = parameters.trim().strip_prefix("q=").unwrap_or("1");
                q.trim().parse::<f64>().unwrap_or(1.0) > 0.0
            })
        };
        weight(coding).or_else(|| weight("*")).unwrap_or(false)
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        let rules = [
            (
                "fail_if_body_json_matches_cel",
                &self.fail_if_body_json_matches_cel,
            ),
            (
                "fail_if_body_json_not_matches_cel",
                &self.fail_if_body_json_not_matches_cel,
            ),
        ];
        for (name, value) in rules {
            if let Some(value) = value {
                reasons.push((name.into(), value.referenced));
            }
        }
        reasons.extend(unsupported_proxy(self.proxy_url.as_ref()));
        if let Some(oauth2) = &self.oauth2 {
            oauth2.unsupported(reasons);
        }
        self.tls_config.unsupported(reasons);
    }
}

/// The proxy that a setting names. Without a port, it gets its scheme's default.
pub(crate) fn proxy(url: Option<&Spanned<String>>) -> Result<Option<Proxy>, String> {
    let url = url.filter(|url| !url.value.is_empty());
    let proxy = url.map(|url| url.value.parse::<Proxy>()).transpose();
    let proxy = proxy.map_err(|error| error.to_string())?;
    Ok(proxy.map(Proxy::with_port_of_scheme))
}

pub(super) fn unsupported_proxy(url: Option<&Spanned<String>>) -> Option<(String, Location)> {
    let why = "proxy_url (a proxy is http://HOST:PORT or https://HOST:PORT)";
    let url = url.filter(|_| proxy(url).is_err())?;
    Some((why.into(), url.referenced))
}

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
        }
    }
}

impl<'de> Deserialize<'de> for IpProtocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let is_six = word.is_empty() || word == "ip6";
        Ok(if is_six { Self::Ip6 } else { Self::Ip4 })
    }
}

impl<'de> Deserialize<'de> for Compression {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        match word.to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            "br" => Ok(Self::Brotli),
            _ => {
                let why = format!(
                    "'{word}' is not a compression; known are gzip, deflate, br and identity"
                );
                Err(D::Error::custom(why))
            }
        }
    }
}

fn strategy<'de, D: Deserializer<'de>>(from: D) -> Result<Strategy, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
