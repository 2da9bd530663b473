//! `[session]`: a store that can be opened, and keys for its credentials.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::CheckReport;
use crate::config::meaning::{StoreKind, redis};
use crate::config::{Config, Resumption};
use crate::judge::credentials::Vault;

/// Bytes of a key for AES-256.
const SEALING: usize = 32;

pub(super) fn check(config: &Config, report: &mut CheckReport) {
    let session = &config.session;
    let wanted = config.route.iter().any(|route| route.auth);
    match StoreKind::parse(&session.store) {
        StoreKind::Memory if wanted => {
            let what = "sessions in memory end with gate, and 'gate session put' cannot add any; \
                        set store = \"redb:/path/of/a/file\" or a Redis";
            report.warn("session.store", what);
        }
        StoreKind::Memory => {}
        StoreKind::File(path) => file(path, report),
        StoreKind::Redis => {
            if let Err(error) = redis(session) {
                report.error("session.store", error);
            }
            let several = ["+cluster:", "+sentinel:"];
            let several = several.iter().any(|kind| session.store.contains(kind));
            let single_use = config.tls.resumption == Resumption::SingleUse;
            if session.prefix.is_empty() && several && single_use {
                let what = "with an empty prefix, the servers tell every thread of each TLS session that is \
                            stored, which strangers can cause; give the sessions a prefix, as in \
                            \"session:\", and write them under it";
                report.warn("session.prefix", what);
            }
        }
    }
    if let (StoreKind::Memory | StoreKind::File(_), Some(_)) =
        (StoreKind::parse(&session.store), &session.password)
    {
        report.warn("session.password", "only Redis uses a password");
    }
    let sentinel = session.store.contains("+sentinel:");
    if !sentinel && (session.sentinel.password.is_some() || !session.sentinel.user.is_empty()) {
        let what = "it has no effect: the store is not behind sentinels";
        report.warn("session.sentinel", what);
    }
    if let Some(ca) = &session.tls.ca {
        report.authority("session.tls.ca", ca);
    }
    if session.remembered == 0 {
        let what = "with 0 each request would ask the store; the minimum is 1";
        report.error("session.remembered", what);
    }
    seals(config, report);
}

fn file(path: &Path, report: &mut CheckReport) {
    const PLACE: &str = "session.store";
    if path.as_os_str().is_empty() {
        return report.error(
            PLACE,
            "it names no file; write it like \"redb:/path/of/a/file\"",
        );
    }
    report.path(PLACE, path);
    let shown = path.display();
    match path.metadata() {
        Ok(facts) if !facts.is_file() => report.error(PLACE, format!("{shown} is not a file")),
        Ok(facts) => {
            if facts.permissions().mode() & 0o077 != 0 {
                let what = format!("other users may open {shown}; run 'chmod 600' on it");
                report.error(PLACE, what);
            }
            // Opened, but not changed.
            if let Err(error) = OpenOptions::new().read(true).write(true).open(path) {
                report.error(PLACE, format!("cannot write to {shown}: {error}"));
            }
        }
        Err(_) => directory(path, report),
    }
}

/// The file is created at the first start, if its directory exists.
fn directory(path: &Path, report: &mut CheckReport) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let shown = parent.display();
    match parent.metadata() {
        Ok(facts) if facts.is_dir() => {
            let asked = rustix::fs::access(parent, rustix::fs::Access::WRITE_OK);
            if let Err(error) = asked {
                let what = format!("cannot create a file in {shown}: {error}");
                report.error("session.store", what);
            }
        }
        Ok(_) => report.error("session.store", format!("{shown} is not a directory")),
        Err(error) => {
            let what = format!("the directory {shown} is needed: {error}");
            report.error("session.store", what);
        }
    }
}

fn seals(config: &Config, report: &mut CheckReport) {
    let session = &config.session;
    let mut vault = Vault::default();
    for (n, key) in session.seal.iter().enumerate() {
        let place = format!("session.seal[{n}]");
        report.secret(&format!("{place}.from"), &key.from);
        match key.from.read() {
            Ok(secret) => {
                if let Err(error) = vault.add_key(&key.id, &secret) {
                    report.error(place, error);
                }
            }
            Err(error) => {
                let what = super::advised(error, &key.from, SEALING);
                report.error(format!("{place}.from"), what);
            }
        }
    }
    if let Some(password) = &session.password {
        report.secret("session.password", password);
    }
    if let Some(cbc) = &session.cbc {
        report.secret("session.cbc.from", &cbc.from);
        match cbc.from.read() {
            Ok(secret) => {
                if let Err(error) = vault.read_cbc(&secret) {
                    report.error("session.cbc.from", error);
                }
            }
            Err(error) => report.error("session.cbc.from", error),
        }
        let what = "anybody who can write to the store can change credentials without a MAC; reseal them, \
                    then remove this key";
        report.warn("session.cbc", what);
    }
    if !session.plain && session.seal.is_empty() && session.cbc.is_none() {
        let what = "credentials must be sealed, and there is no key; add a [[session.seal]]";
        report.error("session.plain", what);
    }
}
