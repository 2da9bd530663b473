//! The `tcp` table of a module.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{Location, Spanned};

use super::http::IpProtocol;
use super::scalar::Pattern;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TcpModule {
    pub(crate) preferred_ip_protocol: IpProtocol,
    pub(crate) ip_protocol_fallback: bool,
    pub(crate) query_response: Vec<TcpStep>,
    source_ip_address: Option<Spanned<IgnoredAny>>,
    /// Whether TLS begins at once.
    pub(crate) tls: bool,
    pub(crate) tls_config: TlsSettings,
}

/// One step of a conversation: it waits for a line, then sends one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpStep {
    pub(crate) expect: Option<Pattern>,
    #[serde(default)]
    pub(crate) send: String,
    /// Whether TLS begins after this step.
    #[serde(default)]
    pub(crate) starttls: bool,
    labels: Option<Spanned<IgnoredAny>>,
    expect_bytes: Option<Spanned<IgnoredAny>>,
}

impl Default for TcpModule {
    fn default() -> Self {
        Self {
            preferred_ip_protocol: IpProtocol::Ip6,
            ip_protocol_fallback: true,
            query_response: Vec::new(),
            source_ip_address: None,
            tls: false,
            tls_config: TlsSettings::default(),
        }
    }
}

impl TcpModule {
    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        if let Some(address) = &self.source_ip_address {
            reasons.push(("source_ip_address".into(), address.referenced));
        }
        self.tls_config.unsupported(reasons);
        for step in &self.query_response {
            for (name, value) in [
                ("labels", &step.labels),
                ("expect_bytes", &step.expect_bytes),
            ] {
                if let Some(value) = value {
                    reasons.push((name.into(), value.referenced));
                }
            }
        }
    }
}
