//! `[tls]`: certificates that can be read, match their keys and have not expired; tickets and early
//! data that fit together.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use roundtrip_wire::x509;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::CheckReport;
use crate::Secret;
use crate::config::{CertificateFiles, Config, Resumption, SecretFrom};

const DAY: i64 = 24 * 3600;
/// Automatic renewal happens earlier.
const MIN_VALIDITY: i64 = 14 * DAY;
/// The largest certificate file: bundles of all public CAs have a quarter of this size.
const MAX_FILE_SIZE: u64 = 1024 * 1024;
const SEED: usize = 32;

/// The names that the certificates are for.
pub(super) fn check(config: &Config, now: SystemTime, report: &mut CheckReport) -> Vec<String> {
    let tls = &config.tls;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let mut names: Vec<String> = Vec::new();
    for (n, certificate) in tls.certificate.iter().enumerate() {
        let place = format!("tls.certificate[{n}]");
        let Some(read) = pair(&place, certificate, report) else {
            continue;
        };
        dates(&place, &read, now, report);
        for name in read.names {
            if names.contains(&name) {
                let what = format!(
                    "an earlier certificate is for {name}, too, and is the one that clients get"
                );
                report.warn(format!("{place}.chain"), what);
            } else {
                names.push(name);
            }
        }
    }
    settings(config, report);
    names
}

fn settings(config: &Config, report: &mut CheckReport) {
    let tls = &config.tls;
    if tls.early_data && tls.resumption != Resumption::SingleUse {
        let what = "others can repeat early data unless each ticket is accepted only once (RFC 8446 §8.1); \
                    set resumption = \"single-use\"";
        report.error("tls.early_data", what);
    }
    if config.listen.https.is_empty() && (tls.early_data || !tls.certificate.is_empty()) {
        let what = "it has no effect while 'listen.https' is empty";
        report.warn("tls", what);
    }
    if tls.epoch.0.as_secs() < 60 {
        report.error("tls.epoch", "the minimum is one minute");
    }
    if let Some(seed) = &tls.seed {
        report.secret("tls.seed", seed);
        match seed.read() {
            Err(error) => report.error("tls.seed", super::advised(error, seed, SEED)),
            Ok(seed) if crate::judge::credentials::key_bytes(&seed).is_none() => {
                let what = format!("it has to be {SEED} bytes: raw, in base64, or in hex");
                report.error("tls.seed", what);
            }
            Ok(_) => {}
        }
    }
}

/// The server's own certificate, if the chain and its key can be used.
fn pair(
    place: &str,
    pair: &CertificateFiles,
    report: &mut CheckReport,
) -> Option<x509::Certificate> {
    let (chain_place, key_place) = (format!("{place}.chain"), format!("{place}.key"));
    report.path(&chain_place, &pair.chain);
    report.secret(&key_place, &SecretFrom::File(pair.key.clone()));
    let chain = certificates(&pair.chain).map_err(|why| report.error(&chain_place, why));
    let key = private_key(&pair.key).map_err(|why| report.error(&key_place, why));
    let chain = chain.ok()?;
    let first = chain.first().map(|der| x509::Certificate::parse(der));
    let first = match first? {
        Ok(first) => first,
        Err(error) => {
            let path = pair.chain.display();
            report.error(
                &chain_place,
                format!("the first certificate in {path} cannot be read: {error}"),
            );
            return None;
        }
    };
    if first.names.is_empty() {
        let what = "the certificate names no host (subjectAltName), so clients refuse it";
        report.warn(&chain_place, what);
    }
    if let Ok(key) = key
        && let Err(error) = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
    {
        report.error(
            &key_place,
            format!("the key does not fit the certificate: {error}"),
        );
    }
    Some(first)
}

fn dates(place: &str, certificate: &x509::Certificate, now: i64, report: &mut CheckReport) {
    let place = format!("{place}.chain");
    let left = certificate.not_after.saturating_sub(now);
    if left < 0 {
        let what = format!("the certificate expired {}; renew it", ago(-left));
        report.error(&place, what);
    } else if left < MIN_VALIDITY {
        let what = format!("the certificate expires in {}; renew it", span(left));
        report.warn(&place, what);
    }
    let until = certificate.not_before.saturating_sub(now);
    if until > 0 {
        let what = format!("the certificate is valid only in {}", span(until));
        report.error(&place, what);
    }
}

fn ago(seconds: i64) -> String {
    format!("{} ago", span(seconds))
}

fn span(seconds: i64) -> String {
    match (seconds / DAY, seconds / 3600) {
        (0, 0) => "less than an hour".into(),
        (0, 1) => "an hour".into(),
        (0, hours) => format!("{hours} hours"),
        (1, _) => "a day".into(),
        (days, _) => format!("{days} days"),
    }
}

/// All certificates of a PEM file, at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let mut pem = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut pem));
    read.map_err(|error| format!("cannot read {shown}: {error}"))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(format!(
            "{shown} holds no certificate in PEM ('-----BEGIN CERTIFICATE-----')"
        )),
        Err(_) => Err(format!("{shown} is not valid PEM")),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let key = Secret::from_shared_file(path).map_err(|error| error.to_string())?;
    PrivateKeyDer::from_pem_slice(key.expose()).map_err(|_| {
        let shown = path.display();
        format!("{shown} holds no private key in PEM ('-----BEGIN PRIVATE KEY-----')")
    })
}
