//! Warns of certificates that are about to expire, while gate runs and not only at its start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_wire::x509;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::config::Config;

const DAY: i64 = 24 * 3600;
/// A line is written when this many days are left.
const DAYS: [i64; 4] = [14, 7, 3, 1];
/// The largest number of bytes that are read of a chain's file.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// The stage that was reported for each certificate.
#[derive(Debug, Default)]
pub(crate) struct Expiry(BTreeMap<PathBuf, Stage>);

/// The number of [`DAYS`] that have been reached; one more if the certificate has expired.
type Stage = usize;

impl Expiry {
    /// Begins with the current state, which the checks at the start have already reported.
    pub(crate) fn begin(config: &Config, now: SystemTime) -> Self {
        let mut expiry = Self::default();
        expiry.look(config, now, &mut |_| {});
        expiry
    }

    pub(crate) fn look(&mut self, config: &Config, now: SystemTime, tell: &mut dyn FnMut(String)) {
        let before = std::mem::take(&mut self.0);
        for certificate in &config.tls.certificate {
            let path = &certificate.chain;
            let Some(left) = left(path, now) else {
                continue;
            };
            let stage = stage(left);
            // A renewed certificate starts again.
            if stage > before.get(path).copied().unwrap_or(0) {
                tell(line(path, left));
            }
            self.0.insert(path.clone(), stage);
        }
    }
}

fn stage(left: i64) -> Stage {
    let passed = DAYS.iter().filter(|days| left <= **days * DAY).count();
    passed + usize::from(left <= 0)
}

fn line(path: &Path, left: i64) -> String {
    let path = path.display();
    match left {
        ..=0 => format!("the certificate in {path} has expired: clients refuse it; renew it"),
        1..DAY => format!("the certificate in {path} expires in less than a day; renew it"),
        _ => {
            let days = (left + DAY - 1) / DAY;
            format!("the certificate in {path} expires in {days} days; renew it")
        }
    }
}

/// The seconds until the first certificate expires.
fn left(path: &Path, now: SystemTime) -> Option<i64> {
    let facts = std::fs::metadata(path).ok()?;
    if facts.len() > MAX_FILE_SIZE {
        return None;
    }
    let der = CertificateDer::from_pem_file(path).ok()?;
    let certificate = x509::Certificate::parse(&der).ok()?;
    let now = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(certificate.not_after - i64::try_from(now).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_once_each() {
        let told = [20, 14, 13, 7, 3, 2, 1, 0].map(|days| stage(days * DAY));
        assert_eq!(told, [0, 1, 1, 2, 3, 3, 4, 5]);
        assert_eq!(stage(-1), 5);
    }

    #[test]
    fn a_certificate_is_told_of_as_its_days_run_out_and_anew_once_renewed() {
        use std::time::Duration;
        let folder = tempfile::tempdir().unwrap();
        let chain = folder.path().join("chain.pem");
        let made = rcgen::generate_simple_self_signed(vec!["a.example".into()]).unwrap();
        std::fs::write(&chain, made.cert.pem()).unwrap();
        let ends = x509::Certificate::parse(made.cert.der()).unwrap().not_after;
        let at = |days: i64| UNIX_EPOCH + Duration::from_secs((ends - days * DAY) as u64);
        let text = format!(
            "[[tls.certificate]]\nchain = \"{0}\"\nkey = \"{0}\"",
            chain.display()
        );
        let config = Config::parse(&text, "test").unwrap();
        let mut expiry = Expiry::begin(&config, at(12));
        let mut lines = Vec::new();
        for days in [11, 7, 6, 1, 0, -3] {
            expiry.look(&config, at(days), &mut |line| lines.push((days, line)));
        }
        let days: Vec<i64> = lines.iter().map(|(days, _)| *days).collect();
        assert_eq!(days, [7, 1, 0], "{lines:?}");
        assert!(lines.iter().all(|(_, line)| line.contains("chain.pem")));
        // This looks as if the certificate had been renewed.
        expiry.look(&config, at(60), &mut |line| panic!("{line}"));
        let mut again = 0;
        expiry.look(&config, at(14), &mut |_| again += 1);
        assert_eq!(again, 1);
    }
}
