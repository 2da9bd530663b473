//! Credentials of a module: in the file, or in files that are read for each probe.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::http::unsupported_proxy;
use super::scalar::or_default;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BasicAuth {
    username: Option<String>,
    username_file: Option<String>,
    password: Option<String>,
    password_file: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Authorization {
    #[serde(rename = "type")]
    kind: Option<String>,
    credentials: Option<String>,
    credentials_file: Option<String>,
}

/// The values of a header field, from three sources.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FieldValues {
    #[serde(deserialize_with = "or_default")]
    values: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    secrets: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    files: Vec<String>,
}

/// A token for the client itself. RFC 6749 §4.4.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OAuth2 {
    pub(crate) client_id: Option<String>,
    client_secret: Option<String>,
    client_secret_file: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) scopes: Vec<String>,
    pub(crate) token_url: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) endpoint_params: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls_config: TlsSettings,
    pub(crate) proxy_url: Option<Spanned<String>>,
}

impl BasicAuth {
    pub(crate) fn read(&self) -> io::Result<(String, String)> {
        Ok((
            kept(self.username.as_ref(), self.username_file.as_ref())?,
            kept(self.password.as_ref(), self.password_file.as_ref())?,
        ))
    }

    pub(super) fn mistake(&self) -> Option<&'static str> {
        if are_both(self.username.as_ref(), self.username_file.as_ref()) {
            Some("basic_auth has both username and username_file")
        } else if are_both(self.password.as_ref(), self.password_file.as_ref()) {
            Some("basic_auth has both password and password_file")
        } else {
            None
        }
    }
}

impl Authorization {
    /// The value of `Authorization`.
    pub(crate) fn read(&self) -> io::Result<String> {
        let kind = self.kind.as_deref().map(str::trim).unwrap_or_default();
        let kind = if kind.is_empty() { "Bearer" } else { kind };
        let credentials = kept(self.credentials.as_ref(), self.credentials_file.as_ref())?;
        Ok(format!("{kind} {credentials}"))
    }

    pub(super) fn mistake(&self) -> Option<&'static str> {
        let kind = self.kind.as_deref().map(str::trim).unwrap_or_default();
        if are_both(self.credentials.as_ref(), self.credentials_file.as_ref()) {
            Some("authorization has both credentials and credentials_file")
        } else if kind.eq_ignore_ascii_case("basic") {
            Some("authorization does not support the type Basic; use basic_auth")
        } else {
            None
        }
    }
}

impl FieldValues {
    pub(crate) fn read(&self) -> io::Result<Vec<String>> {
        let mut all = [self.values.as_slice(), &self.secrets].concat();
        for file in &self.files {
            all.push(from_file(file)?);
        }
        Ok(all)
    }
}

impl OAuth2 {
    pub(crate) fn secret(&self) -> io::Result<String> {
        kept(
            self.client_secret.as_ref(),
            self.client_secret_file.as_ref(),
        )
    }

    pub(super) fn mistake(&self) -> Option<&'static str> {
        if self.client_id.as_deref().unwrap_or_default().is_empty() {
            Some("oauth2 needs client_id")
        } else if self.token_url.as_deref().unwrap_or_default().is_empty() {
            Some("oauth2 needs token_url")
        } else if are_both(
            self.client_secret.as_ref(),
            self.client_secret_file.as_ref(),
        ) {
            Some("oauth2 has both client_secret and client_secret_file")
        } else {
            self.tls_config.mistake()
        }
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        reasons.extend(unsupported_proxy(self.proxy_url.as_ref()));
        self.tls_config.unsupported(reasons);
    }
}

/// Whether both settings have a value.
pub(super) fn are_both(one: Option<&String>, other: Option<&String>) -> bool {
    let has = |setting: Option<&String>| setting.is_some_and(|value| !value.is_empty());
    has(one) && has(other)
}

/// A value from the configuration, or from a file.
pub(super) fn kept(inline: Option<&String>, file: Option<&String>) -> io::Result<String> {
    match file.filter(|file| !file.is_empty()) {
        Some(file) => from_file(file),
        None => Ok(inline.cloned().unwrap_or_default()),
    }
}

fn from_file(file: &str) -> io::Result<String> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?;
    Ok(text.trim().to_owned())
}
