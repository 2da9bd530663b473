//! The `http` table of a module.

use std::collections::BTreeMap;

use roundtrip_model::Strategy;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::scalar::{Pattern, Size};
use super::tls::TlsSettings;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HttpModule {
    pub(crate) valid_status_codes: Vec<u16>,
    pub(crate) valid_http_versions: Vec<String>,
    pub(crate) method: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    body_file: Option<String>,
    pub(crate) preferred_ip_protocol: IpProtocol,
    pub(crate) ip_protocol_fallback: bool,
    follow_redirects: bool,
    no_follow_redirects: Option<bool>,
    pub(crate) fail_if_ssl: bool,
    pub(crate) fail_if_not_ssl: bool,
    pub(crate) fail_if_body_matches_regexp: Vec<Pattern>,
    pub(crate) fail_if_body_not_matches_regexp: Vec<Pattern>,
    pub(crate) fail_if_header_matches: Vec<HeaderPattern>,
    pub(crate) fail_if_header_not_matches: Vec<HeaderPattern>,
    pub(crate) tls_config: TlsSettings,
    basic_auth: Option<BasicAuth>,
    authorization: Option<Authorization>,
    bearer_token: Option<String>,
    bearer_token_file: Option<String>,
    pub(crate) proxy_url: Option<String>,
    pub(crate) compression: Option<String>,
    pub(crate) body_size_limit: Size,
    enable_http2: bool,
    enable_http3: bool,
    /// An extension that blackbox_exporter does not know.
    pub(crate) roundtrip: OwnSettings,
    oauth2: Option<Spanned<IgnoredAny>>,
    proxy_from_environment: Option<Spanned<bool>>,
    proxy_connect_header: Option<Spanned<IgnoredAny>>,
    no_proxy: Option<Spanned<IgnoredAny>>,
    http_headers: Option<Spanned<IgnoredAny>>,
    fail_if_body_json_matches_cel: Option<Spanned<IgnoredAny>>,
    fail_if_body_json_not_matches_cel: Option<Spanned<IgnoredAny>>,
    skip_resolve_phase_with_proxy: Option<Spanned<bool>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum IpProtocol {
    #[serde(rename = "ip4")]
    Ip4,
    #[default]
    #[serde(rename = "ip6")]
    Ip6,
}

/// A header field whose value makes a probe fail.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderPattern {
    pub(crate) header: String,
    pub(crate) regexp: Pattern,
    #[serde(default)]
    pub(crate) allow_missing: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BasicAuth {
    username: String,
    #[serde(default)]
    password: String,
    password_file: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Authorization {
    #[serde(rename = "type", default = "bearer")]
    kind: String,
    #[serde(default)]
    credentials: String,
    credentials_file: Option<String>,
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

impl Default for HttpModule {
    fn default() -> Self {
        Self {
            valid_status_codes: Vec::new(),
            valid_http_versions: Vec::new(),
            method: None,
            headers: BTreeMap::new(),
            body: String::new(),
            body_file: None,
            preferred_ip_protocol: IpProtocol::Ip6,
            ip_protocol_fallback: true,
            follow_redirects: true,
            no_follow_redirects: None,
            fail_if_ssl: false,
            fail_if_not_ssl: false,
            fail_if_body_matches_regexp: Vec::new(),
            fail_if_body_not_matches_regexp: Vec::new(),
            fail_if_header_matches: Vec::new(),
            fail_if_header_not_matches: Vec::new(),
            tls_config: TlsSettings::default(),
            basic_auth: None,
            authorization: None,
            bearer_token: None,
            bearer_token_file: None,
            proxy_url: None,
            compression: None,
            body_size_limit: Size(0),
            enable_http2: true,
            enable_http3: false,
            roundtrip: OwnSettings::default(),
            oauth2: None,
            proxy_from_environment: None,
            proxy_connect_header: None,
            no_proxy: None,
            http_headers: None,
            fail_if_body_json_matches_cel: None,
            fail_if_body_json_not_matches_cel: None,
            skip_resolve_phase_with_proxy: None,
        }
    }
}

impl HttpModule {
    pub(crate) fn follows(&self) -> bool {
        self.follow_redirects && !self.no_follow_redirects.unwrap_or(false)
    }

    /// The versions of HTTP that may be negotiated, as parts of a strategy.
    pub(crate) fn http_version(&self) -> Option<&'static str> {
        match (self.enable_http3, self.enable_http2) {
            (true, _) => Some("h3"),
            (false, false) => Some("h1"),
            (false, true) => None,
        }
    }

    /// The request's body.
    pub(crate) fn body(&self) -> std::io::Result<Vec<u8>> {
        match &self.body_file {
            Some(file) => std::fs::read(file),
            None => Ok(self.body.clone().into_bytes()),
        }
    }

    /// The user and password for Basic.
    pub(crate) fn user(&self) -> std::io::Result<Option<(String, String)>> {
        let Some(basic) = &self.basic_auth else {
            return Ok(None);
        };
        let password = kept(basic.password_file.as_ref(), &basic.password)?;
        Ok(Some((basic.username.clone(), password)))
    }

    /// The value of `Authorization` from one of the other settings.
    pub(crate) fn authorization(&self) -> std::io::Result<Option<String>> {
        if let Some(asked) = &self.authorization {
            let credentials = kept(asked.credentials_file.as_ref(), &asked.credentials)?;
            return Ok(Some(format!("{} {credentials}", asked.kind)));
        }
        if self.bearer_token.is_none() && self.bearer_token_file.is_none() {
            return Ok(None);
        }
        let inline = self.bearer_token.clone().unwrap_or_default();
        let token = kept(self.bearer_token_file.as_ref(), &inline)?;
        Ok(Some(format!("Bearer {token}")))
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        let tables = [
            ("oauth2", &self.oauth2),
            ("proxy_connect_header", &self.proxy_connect_header),
            ("no_proxy", &self.no_proxy),
            ("http_headers", &self.http_headers),
            (
                "fail_if_body_json_matches_cel",
                &self.fail_if_body_json_matches_cel,
            ),
            (
                "fail_if_body_json_not_matches_cel",
                &self.fail_if_body_json_not_matches_cel,
            ),
        ];
        for (name, value) in tables {
            if let Some(value) = value {
                reasons.push((name.into(), value.referenced));
            }
        }
        let switches = [
            ("proxy_from_environment", &self.proxy_from_environment),
            (
                "skip_resolve_phase_with_proxy",
                &self.skip_resolve_phase_with_proxy,
            ),
        ];
        for (name, value) in switches {
            if let Some(value) = value.as_ref().filter(|value| value.value) {
                reasons.push((name.into(), value.referenced));
            }
        }
        self.tls_config.unsupported(reasons);
    }
}

/// A secret from a file, which is read for each probe, or from the configuration.
fn kept(file: Option<&String>, inline: &str) -> std::io::Result<String> {
    match file {
        Some(file) => Ok(std::fs::read_to_string(file)?.trim().to_owned()),
        None => Ok(inline.to_owned()),
    }
}

fn bearer() -> String {
    "Bearer".into()
}

fn strategy<'de, D: Deserializer<'de>>(from: D) -> Result<Strategy, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
