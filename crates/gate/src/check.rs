//! Whether a start would succeed: all that is wrong with a configuration, not only the first thing, and what is likely not
//! meant. Each table has a file; `reach` also asks the store and the servers. Nothing is changed by it.

mod admin;
mod listen;
mod reach;
mod record;
mod route;
mod session;
mod tls;
mod token;
mod upstream;

use std::fmt::Display;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use crate::config::Config;
pub use reach::reach;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Gate would not start, or would refuse everybody.
    Error,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// The key, as in `tls.certificate[0].key`; lists count from 0.
    pub place: String,
    pub what: String,
}

/// All that was found, and what a name server may say for gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// Lines for a zone file (RFC 9460): clients that ask for them come by HTTP/3 at once.
    pub https_records: Vec<String>,
}

impl Report {
    pub fn passes(&self) -> bool {
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        !self.findings.iter().any(is_error)
    }

    fn error(&mut self, place: impl Into<String>, what: impl Display) {
        self.add(Severity::Error, place.into(), &what);
    }

    fn warn(&mut self, place: impl Into<String>, what: impl Display) {
        self.add(Severity::Warning, place.into(), &what);
    }

    fn add(&mut self, severity: Severity, place: String, what: &dyn Display) {
        self.findings.push(Finding {
            severity,
            place,
            what: what.to_string(),
        });
    }

    /// What a start finds depends on where it happens.
    fn path(&mut self, place: &str, path: &Path) {
        if path.is_relative() {
            let path = path.display();
            let what = format!("'{path}' is looked for where gate is started; begin it with '/'");
            self.warn(place, what);
        }
    }

    /// Certificates in PEM that vouch for somebody.
    fn authority(&mut self, place: &str, path: &Path) {
        self.path(place, path);
        if let Err(why) = tls::certificates(path) {
            self.error(place, why);
        }
    }
}

/// Looks at everything but the network.
pub fn check(config: &Config, now: SystemTime) -> Report {
    let mut report = Report::default();
    listen::check(config, &mut report);
    let names = tls::check(config, now, &mut report);
    token::check(config, &mut report);
    session::check(config, &mut report);
    upstream::check(config, &mut report);
    route::check(config, &mut report);
    admin::check(config, &mut report);
    report.https_records = record::https(&config.listen, &names);
    report
}

#[cfg(test)]
mod tests;
