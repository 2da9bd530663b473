//! Digests of the files that a configuration names, so that a reload notices a secret that was
//! replaced in its file. Keys of tokens, JWK Sets and `authz.secret` are read at each reload, and
//! certificates are watched: they are not here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};

use crate::config::{Config, SecretFrom};

/// One digest for each file; `None` for a file that cannot be read.
type Digests = Vec<Option<[u8; 32]>>;

pub(super) struct Contents {
    pub(super) store: Digests,
    /// The keys that seal.
    pub(super) keys: Digests,
    pub(super) login: Digests,
    pub(super) acme: Digests,
    pub(super) seed: Digests,
    /// The digests of each upstream's files, by its name.
    pub(super) upstream: BTreeMap<String, Digests>,
}

impl Contents {
    /// Must be called before the files are read for use: then a file that is replaced meanwhile
    /// counts as changed at the next reload.
    pub(super) fn read(config: &Config) -> Self {
        let session = &config.session;
        let (login, acme) = (config.login.as_ref(), config.acme.as_ref());
        let account = acme.and_then(|acme| acme.external_account.as_ref());
        let keys = session.seal.iter().map(|key| &key.from);
        let keys = keys.chain(session.cbc.iter().map(|cbc| &cbc.from));
        let upstream = config.upstream.iter();
        Self {
            store: digests([
                secret(session.password.as_ref()),
                secret(session.sentinel.password.as_ref()),
                session.tls.ca.as_ref(),
            ]),
            keys: digests(keys.map(|key| secret(Some(key)))),
            login: digests([
                secret(login.and_then(|login| login.client_secret.as_ref())),
                login.and_then(|login| login.ca.as_ref()),
            ]),
            acme: digests([
                secret(account.map(|account| &account.key)),
                acme.and_then(|acme| acme.ca.as_ref()),
            ]),
            seed: digests([secret(config.tls.seed.as_ref())]),
            upstream: upstream
                .map(|(name, upstream)| (name.clone(), digests([upstream.ca.as_ref()])))
                .collect(),
        }
    }
}

/// The file of a secret. The environment does not change while gate runs.
fn secret(from: Option<&SecretFrom>) -> Option<&PathBuf> {
    match from? {
        SecretFrom::File(path) => Some(path),
        SecretFrom::Env(_) => None,
    }
}

fn digests<'a>(files: impl IntoIterator<Item = Option<&'a PathBuf>>) -> Digests {
    files.into_iter().flatten().map(|path| of(path)).collect()
}

fn of(path: &Path) -> Option<[u8; 32]> {
    let bytes = zeroize::Zeroizing::new(std::fs::read(path).ok()?);
    digest(&SHA256, &bytes).as_ref().try_into().ok()
}
