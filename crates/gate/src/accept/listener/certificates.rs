//! Chooses the certificate for a client, and takes replaced certificates into use.

mod files;
mod self_made;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use roundtrip_wire::x509;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::judge::acme::ActiveAcme;
use crate::{GateError, config};
use files::Files;

/// The certificates, which all threads may read at once.
#[derive(Debug)]
pub(super) struct Certificates {
    /// The choice by name. Only full handshakes read it.
    choice: RwLock<Arc<CertificateChoice>>,
    files: Mutex<Vec<Files>>,
    provider: Arc<CryptoProvider>,
    /// The certificate that clients have to trust, if none was configured.
    self_made: Option<String>,
    /// Certificates of a CA, for names that no file has.
    acme: Option<Arc<ActiveAcme>>,
}

/// The protocol of the CA's challenge. RFC 8737 §6.2.
pub(super) const ACME_PROTOCOL: &[u8] = b"acme-tls/1";

/// The first certificate is used for clients that request none of the names.
#[derive(Debug, Default)]
struct CertificateChoice {
    keys: Vec<Arc<CertifiedKey>>,
    by_name: HashMap<String, usize>,
    /// Indices by the name that follows `*.`.
    by_parent: HashMap<String, usize>,
}

impl Certificates {
    /// Loads the files. Without any, and without a CA, makes a certificate for these addresses.
    pub(super) fn load(
        settings: &[config::CertificateFiles],
        addresses: &[IpAddr],
        provider: Arc<CryptoProvider>,
        acme: Option<Arc<ActiveAcme>>,
    ) -> Result<Self, GateError> {
        let mut keys = Vec::new();
        let mut files = Vec::new();
        for one in settings {
            let (read, key) = Files::load(one, &provider)?;
            files.push(read);
            keys.push(Arc::new(key));
        }
        let mut self_made = None;
        if keys.is_empty() && acme.is_none() {
            let (key, pem) = self_made::issue(addresses, &provider)?;
            keys.push(Arc::new(key));
            self_made = Some(pem);
        }
        Ok(Self {
            choice: RwLock::new(Arc::new(CertificateChoice::new(keys))),
            files: Mutex::new(files),
            provider,
            self_made,
            acme,
        })
    }

    pub(super) fn self_made(&self) -> Option<&str> {
        self.self_made.as_deref()
    }

    /// Whether a name without a certificate is refused, because there is no default certificate.
    pub(super) fn refuses(&self) -> bool {
        self.acme.is_some() && self.choice().keys.is_empty()
    }

    /// Whether a hello has to be refused, because there is no certificate for its name. RFC 6066
    /// §3.
    pub(super) fn must_refuse(&self, name: Option<&str>, alpn: &[String]) -> bool {
        let Some(acme) = self.acme.as_ref().filter(|_| self.refuses()) else {
            return false;
        };
        let is_challenge = matches!(alpn, [only] if only.as_bytes() == ACME_PROTOCOL);
        let refused = !is_challenge && acme.certificate(name).is_none();
        if refused {
            acme.count_refused();
        }
        refused
    }

    /// Checks, about once a second, whether files were replaced, and loads those that are valid.
    /// Returns the loaded files and the errors, once for each change.
    pub(super) fn look(&self) -> Vec<Result<PathBuf, GateError>> {
        let mut all = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = Vec::new();
        let mut keys = self.choice().keys.clone();
        for (files, place) in all.iter_mut().zip(&mut keys) {
            match files.look(&self.provider) {
                None => {}
                Some(Ok(key)) => {
                    *place = Arc::new(key);
                    news.push(Ok(files.chain().to_owned()));
                }
                Some(Err(error)) => news.push(Err(error)),
            }
        }
        if news.iter().any(Result::is_ok) {
            let mut choice = self.choice.write().unwrap_or_else(PoisonError::into_inner);
            *choice = Arc::new(CertificateChoice::new(keys));
        }
        news
    }

    fn choice(&self) -> Arc<CertificateChoice> {
        let choice = self.choice.read().unwrap_or_else(PoisonError::into_inner);
        choice.clone()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let (choice, name) = (self.choice(), hello.server_name());
        let Some(acme) = &self.acme else {
            return choice.choose(name);
        };
        let mut protocols = hello.alpn().into_iter().flatten();
        let is_challenge = protocols.next() == Some(ACME_PROTOCOL) && protocols.next().is_none();
        if acme.uses_alpn() && is_challenge {
            return acme.challenge_certificate(name);
        }
        if choice.has(name) {
            return choice.choose(name);
        }
        acme.certificate(name).or_else(|| choice.choose(name))
    }
}

impl CertificateChoice {
    /// Makes the choice. If two certificates have the same name, the first one is used for it.
    fn new(keys: Vec<Arc<CertifiedKey>>) -> Self {
        let mut choice = Self::default();
        for (place, key) in keys.iter().enumerate() {
            for name in names(key) {
                let name = name.to_ascii_lowercase();
                let (known, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut choice.by_parent, parent.to_owned()),
                    None => (&mut choice.by_name, name),
                };
                known.entry(name).or_insert(place);
            }
        }
        choice.keys = keys;
        choice
    }

    /// A wildcard matches one label (RFC 9525 §6.3). A trailing dot makes no difference, as with
    /// routes.
    fn choose(&self, asked: Option<&str>) -> Option<Arc<CertifiedKey>> {
        self.keys.get(self.place(asked).unwrap_or(0)).cloned()
    }

    /// Whether there is a certificate for this name.
    fn has(&self, asked: Option<&str>) -> bool {
        self.place(asked).is_some()
    }

    fn place(&self, asked: Option<&str>) -> Option<usize> {
        let name = asked.unwrap_or_default().to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        let by_parent = || self.by_parent.get(name.split_once('.')?.1);
        self.by_name.get(name).or_else(by_parent).copied()
    }
}

fn names(key: &CertifiedKey) -> Vec<String> {
    let leaf = key.cert.first();
    let parsed = leaf.and_then(|leaf| x509::Certificate::parse(leaf).ok());
    parsed
        .map(|certificate| certificate.names)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
