//! Manages sessions by hand: put, show, list, revoke, import and reseal; and makes tokens for them.
//! Results are values; the command prints them and chooses the exit code.
//!
//! Passwords are stored and never shown; only users' names are. A manager runs on a `LocalSet`,
//! because the store's connection needs one.

mod import;
mod seal;

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_store::{AnyStore, MAX_SID, Page, Record, SharedStore, Store};
use roundtrip_wire::envelope::Envelope;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::config::{self, Config};
use crate::judge::configured;
use crate::judge::credentials::{CredentialsError, Vault};
use crate::{GateError, Secret};
pub use import::Imported;
pub use seal::Resealed;

/// The store, and the keys to its credentials.
pub struct SessionManager {
    store: AnyStore,
    vault: Vault,
}

/// How credentials are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialForm {
    /// Sealed with the key of this name.
    Sealed(String),
    /// The credentials are in base64, which anyone with access to the store can read.
    Plain,
    /// The credentials are in AES-256-CBC, from hyper-auth-proxy.
    Cbc,
    /// A login by a browser, sealed; only gate writes it.
    Login,
}

/// The parts of a session that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub sid: String,
    pub form: CredentialForm,
    pub expires: Option<SystemTime>,
    /// The user's name, or why the credentials cannot be used.
    pub user: Result<String, CredentialsError>,
}

impl SessionManager {
    pub fn open(config: &Config) -> Result<Self, GateError> {
        let place = config::place(&config.session)?;
        if matches!(place, SharedStore::Memory(_)) {
            return Err(GateError::OnlyInMemory);
        }
        Self::with_store(config, place.on_this_thread())
    }

    fn with_store(config: &Config, store: AnyStore) -> Result<Self, GateError> {
        let vault = configured::vault(&config.session)?;
        Ok(Self { store, vault })
    }

    /// Stores a session. `login` is `user:password`. It is sealed, or stored plain if there is no
    /// key and plain ones are accepted.
    pub async fn put(
        &self,
        sid: &str,
        login: &Secret,
        expires: Option<SystemTime>,
    ) -> Result<CredentialForm, GateError> {
        let (record, form) = self.record(sid, login, expires)?;
        self.store.put(sid, &record).await?;
        Ok(form)
    }

    fn record(
        &self,
        sid: &str,
        login: &Secret,
        expires: Option<SystemTime>,
    ) -> Result<(Record, CredentialForm), GateError> {
        check_name(sid)?;
        if expires.is_some_and(|end| end <= SystemTime::now()) {
            return Err(GateError::Past);
        }
        let (stored, form) = self.stored(sid, login)?;
        Ok((Record::new(stored.as_bytes(), expires), form))
    }

    fn stored(
        &self,
        sid: &str,
        login: &Secret,
    ) -> Result<(Zeroizing<String>, CredentialForm), GateError> {
        if let Some(key) = self.vault.seals_with() {
            let sealed = self.vault.seal(sid, login)?;
            return Ok((
                Zeroizing::new(sealed),
                CredentialForm::Sealed(key.to_owned()),
            ));
        }
        if !self.vault.takes_plain() {
            return Err(GateError::NothingStorable);
        }
        let plain = Zeroizing::new(STANDARD.encode(login.line()));
        // Read back as gate will read it.
        let read = self.vault.open(sid, plain.as_bytes());
        read.map_err(|_| GateError::NotALogin)?;
        Ok((plain, CredentialForm::Plain))
    }

    /// Shows a session; `None` if there is no such session.
    pub async fn show(&self, sid: &str) -> Result<Option<SessionInfo>, GateError> {
        let record = self.store.get(sid).await?;
        Ok(record.map(|record| SessionInfo {
            sid: sid.to_owned(),
            form: self.form(&record),
            expires: record.expires,
            user: self.user(sid, &record),
        }))
    }

    fn form(&self, record: &Record) -> CredentialForm {
        if Envelope::is_meant(&record.credentials) {
            let envelope = Envelope::parse(&record.credentials);
            return CredentialForm::Sealed(envelope.map(|e| e.key_id).unwrap_or_default());
        }
        if Vault::is_sealed_text(&record.credentials) {
            CredentialForm::Login
        } else if self.vault.takes_cbc() {
            CredentialForm::Cbc
        } else {
            CredentialForm::Plain
        }
    }

    fn user(&self, sid: &str, record: &Record) -> Result<String, CredentialsError> {
        let login = self.vault.open(sid, &record.credentials)?;
        let user = login.line().split(|byte| *byte == b':').next();
        Ok(String::from_utf8_lossy(user.unwrap_or_default()).into_owned())
    }

    /// Lists only names, a page at a time.
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, GateError> {
        Ok(self.store.list(after, limit).await?)
    }

    /// Revokes a session; returns whether it existed.
    pub async fn revoke(&self, sid: &str) -> Result<bool, GateError> {
        Ok(self.store.revoke(sid).await?)
    }
}

/// Checks that a token can contain this name.
pub(super) fn check_name(sid: &str) -> Result<(), GateError> {
    let good = (1..=MAX_SID).contains(&sid.len()) && !sid.chars().any(char::is_control);
    good.then_some(()).ok_or(GateError::SessionName)
}

/// Whether every further line would fail with the same error.
fn ends_all(error: &GateError) -> bool {
    match error {
        GateError::Store(error) => {
            error.is_outage() || matches!(error, roundtrip_store::StoreError::Refused { .. })
        }
        GateError::Input(_) | GateError::NothingStorable | GateError::NoSealingKey => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
