//! Checks whether gate could start: reports all errors of a configuration, not only the first, and
//! settings that are probably not intended. Each table has a file; `reach` also asks the store and
//! the servers. It changes nothing.

mod acme;
mod admin;
mod authz;
mod listen;
mod login;
mod position;
mod reach;
mod record;
mod route;
mod session;
mod tls;
mod token;
mod upstream;

use std::fmt::Display;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use crate::Secret;
use crate::config::{Config, SecretFrom};
pub use reach::reach;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Gate would not start, or would refuse every request.
    Error,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFinding {
    pub severity: Severity,
    /// The key, as in `tls.certificate[0].key`; lists count from 0.
    pub place: String,
    /// The line of the key in the file, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    pub what: String,
}

/// The findings, and the HTTPS records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    pub findings: Vec<ConfigFinding>,
    /// Lines for a zone file (RFC 9460), for clients to use HTTP/3 at once.
    pub https_records: Vec<String>,
}

impl CheckReport {
    pub fn passes(&self) -> bool {
        let is_error = |finding: &ConfigFinding| finding.severity == Severity::Error;
        !self.findings.iter().any(is_error)
    }

    fn error(&mut self, place: impl Into<String>, what: impl Display) {
        self.add(Severity::Error, place.into(), &what);
    }

    fn warn(&mut self, place: impl Into<String>, what: impl Display) {
        self.add(Severity::Warning, place.into(), &what);
    }

    fn add(&mut self, severity: Severity, place: String, what: &dyn Display) {
        self.findings.push(ConfigFinding {
            severity,
            place,
            line: None,
            column: None,
            what: what.to_string(),
        });
    }

    /// A relative path depends on the directory of the start.
    fn path(&mut self, place: &str, path: &Path) {
        if path.is_relative() {
            let path = path.display();
            let what = format!(
                "'{path}' is relative to the directory in which gate is started; begin it with '/'"
            );
            self.warn(place, what);
        }
    }

    /// A file with a secret; whether it can be read is checked elsewhere.
    fn secret(&mut self, place: &str, from: &SecretFrom) {
        let SecretFrom::File(path) = from else {
            return;
        };
        self.path(place, path);
        if Secret::is_shared(path) {
            let path = path.display();
            let what = format!(
                "its group may read {path}; unless this is intended, run: chmod 600 {path}"
            );
            self.warn(place, what);
        }
    }

    /// CA certificates in PEM.
    fn authority(&mut self, place: &str, path: &Path) {
        self.path(place, path);
        if let Err(why) = tls::certificates(path) {
            self.error(place, why);
        }
    }
}

/// Checks everything except the network.
pub fn check(config: &Config, now: SystemTime) -> CheckReport {
    let mut report = CheckReport::default();
    listen::check(config, &mut report);
    let names = tls::check(config, now, &mut report);
    token::check(config, &mut report);
    session::check(config, &mut report);
    upstream::check(config, &mut report);
    route::check(config, &mut report);
    login::check(config, &mut report);
    acme::check(config, &mut report);
    authz::check(config, &mut report);
    admin::check(config, &mut report);
    if report.passes() {
        report.https_records = record::https(&config.listen, &names);
    }
    report
}

/// Warns if others may write the file: anybody who may write it chooses the backends and the keys.
pub fn file(path: &Path, report: &mut CheckReport) {
    let Ok(facts) = path.metadata() else {
        return;
    };
    let (mode, shown) = (facts.permissions().mode(), path.display());
    let place = shown.to_string();
    if mode & 0o002 != 0 {
        let what = format!("every user may write it; run: chmod o-w {shown}");
        report.error(place, what);
    } else if mode & 0o020 != 0 {
        let what =
            format!("its group may write it; unless this is intended, run: chmod g-w {shown}");
        report.warn(place, what);
    }
}

/// The error as text. If the secret does not exist yet, the text names the command that makes it.
fn advised(error: impl Display, from: &SecretFrom, bytes: usize) -> String {
    match from {
        SecretFrom::File(path) if !path.exists() => {
            let path = path.display();
            format!(
                "{error}; make one: (umask 077; openssl rand -base64 {bytes} | tr -d '\\n' > {path})"
            )
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
