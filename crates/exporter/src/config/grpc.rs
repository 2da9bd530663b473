//! The `grpc` table of a module.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Location;

use super::http::IpProtocol;
use super::scalar::or_default;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GrpcModule {
    /// The service to ask about; empty for the server as a whole.
    #[serde(deserialize_with = "or_default")]
    pub(crate) service: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls_config: TlsSettings,
    #[serde(deserialize_with = "or_default")]
    pub(crate) preferred_ip_protocol: IpProtocol,
    ip_protocol_fallback: Option<bool>,
    /// Further fields of the request.
    #[serde(deserialize_with = "or_default")]
    metadata: BTreeMap<String, Vec<String>>,
}

impl GrpcModule {
    pub(crate) fn falls_back(&self) -> bool {
        self.ip_protocol_fallback.unwrap_or(true)
    }

    pub(crate) fn metadata(&self) -> impl Iterator<Item = (String, String)> {
        let of = |(name, values): (&String, &Vec<String>)| {
            let name = name.to_ascii_lowercase();
            let pairs = values.iter();
            let pairs: Vec<_> = pairs.map(|value| (name.clone(), value.clone())).collect();
            pairs
        };
        self.metadata.iter().flat_map(of)
    }

    pub(super) fn mistake(&self) -> Option<&'static str> {
        self.tls_config.mistake()
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        self.tls_config.unsupported(reasons);
    }
}
