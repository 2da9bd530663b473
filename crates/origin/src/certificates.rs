//! The origin's own certificate authority, and the chains that it issues: valid ones, and one of
//! each invalid kind. Keys are ECDSA P-256, generated for each origin. `tls` uses them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::{Certificate, OriginError, TlsKnobs};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const DAY: i64 = 86_400;
/// The object identifier of padding in certificates. It is under iso.org.dod.internet.experimental,
/// so nothing interprets it.
const PADDING_OID: [u64; 6] = [1, 3, 6, 1, 3, 4242];

pub(crate) struct IssuedCertificates {
    /// The certificate that a client must trust.
    pub(crate) ca_pem: String,
    pub(crate) ca: CertificateDer<'static>,
    /// The server's chain, leaf first.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// A client certificate and its key, in one PEM file.
    pub(crate) client_pem: String,
}

impl IssuedCertificates {
    pub(crate) fn issue(knobs: &TlsKnobs) -> Result<Self, OriginError> {
        let root = SigningAuthority::root("roundtrip origin root")?;
        let intermediate = root.subordinate("roundtrip origin intermediate")?;
        let client = issue_client(&intermediate)?;

        let key = KeyPair::generate()?;
        let chain = chain(knobs, &intermediate, &key)?;
        Ok(Self {
            ca_pem: root.certificate.pem(),
            ca: root.certificate.der().clone(),
            chain,
            key: PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
            client_pem: client,
        })
    }
}

struct SigningAuthority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl SigningAuthority {
    fn root(name: &str) -> Result<Self, rcgen::Error> {
        let (params, key) = (authority_params(name), KeyPair::generate()?);
        Ok(Self {
            certificate: params.self_signed(&key)?,
            issuer: Issuer::new(params, key),
        })
    }

    fn subordinate(&self, name: &str) -> Result<Self, rcgen::Error> {
        let (params, key) = (authority_params(name), KeyPair::generate()?);
        Ok(Self {
            certificate: params.signed_by(&key, &self.issuer)?,
            issuer: Issuer::new(params, key),
        })
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.use_authority_key_identifier_extension = true;
    valid_for(&mut params, -DAY, 3650 * DAY);
    params
}

/// The leaf and its issuers, as `knobs.certificate` requires, padded to `knobs.chain_bytes`.
fn chain(
    knobs: &TlsKnobs,
    intermediate: &SigningAuthority,
    key: &KeyPair,
) -> Result<Vec<CertificateDer<'static>>, rcgen::Error> {
    let mut params = leaf_params(knobs)?;
    let stranger = match knobs.certificate {
        Certificate::UnknownIssuer => {
            let unknown = SigningAuthority::root("an authority nobody trusts")?;
            Some(unknown.subordinate("roundtrip origin intermediate")?)
        }
        _ => None,
    };
    let signer = stranger.as_ref().unwrap_or(intermediate);
    let sign = |params: &CertificateParams| match knobs.certificate {
        Certificate::SelfSigned => params.self_signed(key),
        _ => params.signed_by(key, &signer.issuer),
    };
    let mut rest = match knobs.certificate {
        Certificate::SelfSigned | Certificate::MissingIntermediate => Vec::new(),
        _ => vec![signer.certificate.der().clone()],
    };

    let mut leaf = sign(&params)?.der().clone();
    let size = rest.iter().chain([&leaf]).map(|der| der.len()).sum();
    let missing = (knobs.chain_bytes as usize).saturating_sub(size);
    if missing > 0 {
        params.custom_extensions.push(padding(missing));
        leaf = sign(&params)?.der().clone();
    }
    rest.insert(0, leaf);
    Ok(rest)
}

fn leaf_params(knobs: &TlsKnobs) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = match knobs.certificate {
        Certificate::WrongName => vec!["wrong-name.invalid".to_owned()],
        _ => LOOPBACK
            .iter()
            .map(|name| (*name).to_owned())
            .chain(knobs.names.iter().cloned())
            .collect(),
    };
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "roundtrip origin");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    match knobs.certificate {
        Certificate::Expired => valid_for(&mut params, -90 * DAY, -DAY),
        Certificate::NotYet => valid_for(&mut params, DAY, 90 * DAY),
        _ => valid_for(&mut params, -DAY, 90 * DAY),
    }
    Ok(params)
}

/// A client certificate from the authority that the server accepts, with its issuer and its key.
fn issue_client(issuer: &SigningAuthority) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "roundtrip client");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    valid_for(&mut params, -DAY, 90 * DAY);
    let certificate = params.signed_by(&key, &issuer.issuer)?;
    Ok(certificate.pem() + &issuer.certificate.pem() + &key.serialize_pem())
}

fn valid_for(params: &mut CertificateParams, from_now: i64, until: i64) {
    let epoch = date_time_ymd(1970, 1, 1);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs().cast_signed());
    let at = |offset: i64| epoch + Duration::from_secs(now.saturating_add(offset).max(0) as u64);
    params.not_before = at(from_now);
    params.not_after = at(until);
}

/// An extension of about `size` bytes that does not compress, like keys and signatures.
fn padding(size: usize) -> CustomExtension {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    });
    // The value of an extension is DER itself (RFC 5280, section 4.1): an OCTET STRING with a
    // two-byte length.
    let mut der = vec![0x04, 0x82, (size >> 8) as u8, size as u8];
    der.extend(noise.take(size));
    CustomExtension::from_oid_content(&PADDING_OID, der)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(knobs: &TlsKnobs) -> usize {
        let issued = IssuedCertificates::issue(knobs).unwrap();
        issued.chain.iter().map(|der| der.len()).sum()
    }

    #[test]
    fn the_chain_is_padded_to_the_size_asked_for() {
        let plain = size(&TlsKnobs::default());
        assert!((500..2_500).contains(&plain), "{plain}");
        for asked in [4_000_u32, 20_000, 60_000] {
            let padded = size(&TlsKnobs {
                chain_bytes: asked,
                ..TlsKnobs::default()
            });
            let asked = asked as usize;
            assert!((asked..asked + 64).contains(&padded), "{padded}");
        }
    }

    #[test]
    fn the_knob_chooses_the_certificate() {
        let count = |certificate| {
            let knobs = TlsKnobs {
                certificate,
                ..TlsKnobs::default()
            };
            IssuedCertificates::issue(&knobs).unwrap().chain.len()
        };
        assert_eq!(count(Certificate::Good), 2);
        assert_eq!(count(Certificate::UnknownIssuer), 2);
        assert_eq!(count(Certificate::SelfSigned), 1);
        assert_eq!(count(Certificate::MissingIntermediate), 1);
    }

    #[test]
    fn a_name_that_cannot_be_written_is_an_error() {
        let knobs = TlsKnobs {
            names: vec!["ümlaut".to_owned()],
            ..TlsKnobs::default()
        };
        assert!(IssuedCertificates::issue(&knobs).is_err());
    }
}
