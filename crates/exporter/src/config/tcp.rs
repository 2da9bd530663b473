//! The tables `tcp` and `unix` of a module.

use std::net::IpAddr;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::http::IpProtocol;
use super::octets::Octets;
use super::pattern::Pattern;
use super::scalar::or_default;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TcpModule {
    #[serde(deserialize_with = "or_default")]
    pub(crate) preferred_ip_protocol: IpProtocol,
    ip_protocol_fallback: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) query_response: Vec<TcpStep>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) source_ip_address: SourceAddress,
    /// Whether TLS begins at once.
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls_config: TlsSettings,
}

/// The table `unix`, which has a part of the settings of `tcp`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UnixTable {
    #[serde(deserialize_with = "or_default")]
    query_response: Vec<TcpStep>,
    #[serde(deserialize_with = "or_default")]
    tls: bool,
    #[serde(deserialize_with = "or_default")]
    tls_config: TlsSettings,
}

/// One step of a conversation: it waits for a line or for bytes, then sends a line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TcpStep {
    pub(crate) expect: Option<Pattern>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) expect_bytes: Octets,
    /// The label values of `probe_expect_info`, made from the matched line.
    #[serde(deserialize_with = "or_default")]
    pub(crate) labels: Vec<Label>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) send: Octets,
    /// Whether TLS begins after this step.
    #[serde(deserialize_with = "or_default")]
    pub(crate) starttls: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Label {
    pub(crate) name: Spanned<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) value: String,
}

/// The address that a probe is sent from, if the module sets one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SourceAddress(pub(crate) Option<IpAddr>);

impl From<UnixTable> for TcpModule {
    fn from(table: UnixTable) -> Self {
        Self {
            query_response: table.query_response,
            tls: table.tls,
            tls_config: table.tls_config,
            ..Self::default()
        }
    }
}

impl TcpModule {
    pub(crate) fn falls_back(&self) -> bool {
        self.ip_protocol_fallback.unwrap_or(true)
    }

    /// Describes settings of the table that contradict each other, if there are any.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let both = |step: &TcpStep| step.expect.is_some() && !step.expect_bytes.0.is_empty();
        if self.query_response.iter().any(both) {
            return Some("expect and expect_bytes exclude each other");
        }
        self.tls_config.mistake()
    }

    /// As `mistake`, for a Unix socket, whose path is no name that a certificate could have.
    pub(super) fn mistake_over_unix(&self) -> Option<&'static str> {
        let is_secured = self.tls || self.query_response.iter().any(|step| step.starttls);
        if is_secured && self.tls_config.is_verified() && self.tls_config.name().is_none() {
            return Some("TLS over a Unix socket needs server_name or insecure_skip_verify");
        }
        self.mistake()
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        self.tls_config.unsupported(reasons);
        let labels = self.query_response.iter().flat_map(|step| &step.labels);
        for label in labels.filter(|label| !is_label(&label.name.value)) {
            reasons.push((format!("label {}", label.name.value), label.name.referenced));
        }
    }
}

impl<'de> Deserialize<'de> for SourceAddress {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        let wrong = |_| serde::de::Error::custom(format!("'{text}' is not an IP address"));
        text.parse()
            .map(|address| Self(Some(address)))
            .map_err(wrong)
    }
}

/// The names that Prometheus admits for labels.
fn is_label(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(word) && name.starts_with(|c: char| !c.is_ascii_digit())
}
