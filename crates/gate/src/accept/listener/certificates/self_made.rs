//! A self-signed certificate for trying gate out; a new one is made at each start.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::GateError;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const DAY: Duration = Duration::from_hours(24);
const LIFETIME_DAYS: u32 = 397;

/// Returns the certificate also in PEM, for clients that should trust it.
pub(super) fn issue(
    addresses: &[IpAddr],
    provider: &Arc<CryptoProvider>,
) -> Result<(CertifiedKey, String), GateError> {
    let made = certificate(addresses).map_err(|e| GateError::SelfMade(e.to_string()))?;
    let (certificate, key) = made;
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = CertifiedKey::from_der(vec![certificate.der().clone()], der, provider)
        .map_err(|e| GateError::SelfMade(e.to_string()))?;
    Ok((key, certificate.pem()))
}

fn certificate(addresses: &[IpAddr]) -> Result<(rcgen::Certificate, KeyPair), rcgen::Error> {
    let mut names: Vec<String> = LOOPBACK.iter().map(|name| (*name).to_owned()).collect();
    for address in addresses.iter().filter(|a| !a.is_unspecified()) {
        let name = address.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "roundtrip gate");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = date_time_ymd(1970, 1, 1) + since.unwrap_or_default();
    params.not_before = now - DAY;
    params.not_after = now + DAY * LIFETIME_DAYS;
    Ok((params.self_signed(&key)?, key))
}
