//! Certificates and their keys: the request for one (RFC 2986), the certificate that the CA issues,
//! and the one that answers TLS-ALPN-01 (RFC 8737 §3).

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use roundtrip_wire::x509;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use super::AcmeError;

/// The largest chain, in bytes of PEM; a document with it fits into what the store may seal.
pub(super) const MAX_CHAIN: usize = 32 * 1024;
const MAX_CHAIN_LENGTH: usize = 8;

/// A new key, and the request for its certificate.
pub(super) struct CertificateRequest {
    /// PKCS #8.
    pub(super) key: Zeroizing<Vec<u8>>,
    pub(super) der: Vec<u8>,
}

/// The contents of a chain. Times are in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) begins: i64,
    pub(super) ends: i64,
}

impl CertificateRequest {
    pub(super) fn new(name: &str) -> Result<Self, AcmeError> {
        let (key, params) = parts(name)?;
        let request = params.serialize_request(&key);
        Ok(Self {
            der: request.map_err(|_| AcmeError::Cryptography)?.der().to_vec(),
            key: Zeroizing::new(key.serialize_der()),
        })
    }
}

/// The certificate and its validity, if the chain in PEM is for this name and this key.
pub(super) fn certified(
    name: &str,
    chain: &str,
    pkcs8: &[u8],
    provider: &CryptoProvider,
) -> Result<(CertifiedKey, Validity), AcmeError> {
    let wrong = |why: &str| AcmeError::Certificate(why.to_owned());
    if chain.len() > MAX_CHAIN {
        return Err(wrong("it is too long"));
    }
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes())
        .take(MAX_CHAIN_LENGTH + 1)
        .collect();
    let read = read.map_err(|_| wrong("it is not PEM"))?;
    let leaf = read.first().ok_or_else(|| wrong("there is none"))?;
    if read.len() > MAX_CHAIN_LENGTH {
        return Err(wrong("its chain is too long"));
    }
    let leaf = x509::Certificate::parse(leaf).map_err(|_| wrong("it is not X.509"))?;
    if !leaf
        .names
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
    {
        return Err(wrong("it is for another name"));
    }
    let validity = Validity {
        begins: leaf.not_before,
        ends: leaf.not_after,
    };
    if validity.ends <= validity.begins {
        return Err(wrong("it is never valid"));
    }
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
    let key = CertifiedKey::from_der(read, der, provider);
    let key = key.map_err(|_| wrong("it is for another key"))?;
    Ok((key, validity))
}

/// The self-signed certificate that answers a challenge.
pub(super) fn challenge_certificate(
    name: &str,
    authorization: &str,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, AcmeError> {
    let (key, mut params) = parts(name)?;
    let hash = digest(&SHA256, authorization.as_bytes());
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(hash.as_ref())];
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = rcgen::date_time_ymd(1970, 1, 1) + since.unwrap_or_default();
    let hour = std::time::Duration::from_hours(1);
    (params.not_before, params.not_after) = (now - hour, now + 24 * hour);
    let made = params
        .self_signed(&key)
        .map_err(|_| AcmeError::Cryptography)?;
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = provider.key_provider.load_private_key(der);
    let key = key.map_err(|_| AcmeError::Cryptography)?;
    // Not `from_der`, which refuses unknown critical extensions.
    Ok(CertifiedKey::new(vec![made.der().clone()], key))
}

fn parts(name: &str) -> Result<(KeyPair, CertificateParams), AcmeError> {
    let failed = |_| AcmeError::Cryptography;
    let mut params = CertificateParams::new([name.to_owned()]).map_err(failed)?;
    // The name is in the extension; CAs ignore or refuse others.
    params.distinguished_name = DistinguishedName::new();
    Ok((KeyPair::generate().map_err(failed)?, params))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustls::crypto::aws_lc_rs::default_provider;

    use super::*;

    fn self_signed(name: &str) -> (String, Vec<u8>) {
        let (key, params) = parts(name).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_der())
    }

    /// What OpenSSL prints about some DER.
    fn printed(command: &[&str], der: &[u8]) -> String {
        use std::io::Write;
        let mut child = Command::new("openssl")
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(der).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_request_has_the_name_as_openssl_reads_it_and_a_valid_signature() {
        let request = CertificateRequest::new("app.example").unwrap();
        let arguments = ["req", "-inform", "DER", "-noout", "-text", "-verify"];
        let text = printed(&arguments, &request.der);
        assert!(
            text.contains("DNS:app.example") && text.contains("prime256v1"),
            "{text}"
        );
        assert!(!text.contains("CN"), "{text}");
    }

    #[test]
    fn a_challenge_is_answered_by_its_critical_hash() {
        let made = challenge_certificate("app.example", "token.print", &default_provider());
        let made = made.unwrap();
        let text = printed(
            &["x509", "-inform", "DER", "-noout", "-text"],
            &made.cert[0],
        );
        assert!(text.contains("DNS:app.example"), "{text}");
        // OCTET STRING of 32 bytes, as OpenSSL shows an extension that it does not know.
        let hash = digest(&SHA256, b"token.print");
        let begins: Vec<u8> = [&[4, 32], hash.as_ref()].concat();
        assert!(made.cert[0].windows(34).any(|window| window == begins));
        assert!(text.contains("1.3.6.1.5.5.7.1.31: critical"), "{text}");
    }

    #[test]
    fn a_chain_is_taken_only_for_its_name_and_its_key() {
        let provider = default_provider();
        let (chain, key) = self_signed("a.example");
        let (_, validity) = certified("A.example", &chain, &key, &provider).unwrap();
        assert!(validity.begins < validity.ends);
        let (_, other) = self_signed("a.example");
        for (name, chain, key) in [
            ("b.example", chain.as_str(), &key),
            ("a.example", chain.as_str(), &other),
            ("a.example", "", &key),
            (
                "a.example",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                &key,
            ),
            (
                "a.example",
                chain.repeat(MAX_CHAIN_LENGTH + 1).as_str(),
                &key,
            ),
            ("a.example", &" ".repeat(MAX_CHAIN + 1), &key),
        ] {
            assert!(
                certified(name, chain, key, &provider).is_err(),
                "{name} {}",
                chain.len()
            );
        }
    }
}
