//! `tls_config` of blackbox_exporter.

use std::path::PathBuf;

use roundtrip_tls::{Identity, Roots};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{Location, Spanned};

use super::scalar::or_default;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TlsSettings {
    #[serde(deserialize_with = "or_default")]
    insecure_skip_verify: bool,
    ca_file: Option<PathBuf>,
    ca: Option<String>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    server_name: Option<String>,
    min_version: Option<Spanned<String>>,
    max_version: Option<Spanned<String>>,
    cert: Option<Spanned<IgnoredAny>>,
    key: Option<Spanned<IgnoredAny>>,
}

impl TlsSettings {
    pub(crate) fn roots(&self) -> Roots {
        let file = self
            .ca_file
            .as_ref()
            .filter(|file| !file.as_os_str().is_empty());
        match (file, &self.ca) {
            _ if self.insecure_skip_verify => Roots::Anything,
            (Some(file), _) => Roots::File(file.clone()),
            (None, Some(pem)) => Roots::Pem(pem.clone()),
            (None, None) => Roots::System,
        }
    }

    pub(crate) fn identity(&self) -> Option<Identity> {
        let set = |file: &&PathBuf| !file.as_os_str().is_empty();
        let certificate = self.cert_file.as_ref().filter(set)?;
        Some(Identity {
            certificate: certificate.clone(),
            key: self.key_file.as_ref().filter(set).cloned(),
        })
    }

    /// The name to verify instead of the target's.
    pub(crate) fn name(&self) -> Option<&str> {
        self.server_name.as_deref().filter(|name| !name.is_empty())
    }

    pub(crate) fn is_verified(&self) -> bool {
        !self.insecure_skip_verify
    }

    /// The only version that is allowed, if both limits name it.
    pub(crate) fn only_version(&self) -> Option<&str> {
        let (least, most) = (
            bound(self.min_version.as_ref()),
            bound(self.max_version.as_ref()),
        );
        match (least, most) {
            (Some("TLS13"), _) => Some("tls1.3"),
            (_, Some("TLS12")) => Some("tls1.2"),
            _ => None,
        }
    }

    /// Describes settings of the table that contradict each other, if there are any.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        let is =
            |bound: &Option<Spanned<String>>, word| bound.as_ref().is_some_and(|b| b.value == word);
        if self.ca_file.is_some() && self.ca.is_some() {
            Some("tls_config has both ca_file and ca")
        } else if self.cert_file.is_some() != self.key_file.is_some() {
            Some("tls_config needs both cert_file and key_file")
        } else if is(&self.min_version, "TLS13") && is(&self.max_version, "TLS12") {
            Some("min_version is above max_version")
        } else {
            None
        }
    }

    pub(crate) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        for (name, bound) in [
            ("min_version", &self.min_version),
            ("max_version", &self.max_version),
        ] {
            let Some(bound) = bound else { continue };
            let fits = match name {
                // Older versions are never offered, so this allows nothing that is not wanted.
                "min_version" => ["TLS10", "TLS11", "TLS12", "TLS13"].as_slice(),
                _ => ["TLS12", "TLS13"].as_slice(),
            };
            if !fits.contains(&bound.value.as_str()) {
                reasons.push((format!("{name}: {}", bound.value), bound.referenced));
            }
        }
        for (name, value) in [("cert", &self.cert), ("key", &self.key)] {
            if let Some(value) = value {
                let advice = format!("{name} (write it to a file, and name that: {name}_file)");
                reasons.push((advice, value.referenced));
            }
        }
    }
}

fn bound(version: Option<&Spanned<String>>) -> Option<&str> {
    version.map(|version| version.value.as_str())
}
