//! A server whose certificate is a CA certificate.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs::default_provider;

use super::*;

/// A certificate as `openssl req -x509` makes it: self-signed, and marked as a CA.
fn homemade(until: i32) -> rcgen::Certificate {
    let mut params = CertificateParams::new(["home.example".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap()
}

fn verify(
    shown: &rcgen::Certificate,
    trusted: &rcgen::Certificate,
    name: &str,
) -> Result<(), Error> {
    let roots = Roots::Pem(trusted.pem());
    let verifier = RecordingVerifier::new(roots, default_provider().into()).unwrap();
    let name = ServerName::try_from(name).unwrap();
    let outcome = verifier.verify_server_cert(shown.der(), &[], &name, &[], UnixTime::now());
    let refused = outcome.is_err();
    let observation = verifier.take_observation();
    assert_eq!(observation.verdict.is_some(), refused);
    outcome.map(drop)
}

#[test]
fn a_ca_certificate_that_the_user_named_is_accepted_for_a_server() {
    let good = homemade(2999);
    assert_eq!(verify(&good, &good, "home.example"), Ok(()));
}

#[test]
fn its_name_dates_and_bytes_are_still_checked() {
    let (good, other, old) = (homemade(2999), homemade(2999), homemade(2001));
    let reason = |result| match result {
        Err(Error::InvalidCertificate(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let name = reason(verify(&good, &good, "else.example"));
    assert!(matches!(
        name,
        CertificateError::NotValidForNameContext { .. }
    ));
    let dates = reason(verify(&old, &old, "home.example"));
    assert!(matches!(dates, CertificateError::ExpiredContext { .. }));
    assert!(is_an_authoritys(&reason(verify(
        &other,
        &good,
        "home.example"
    ))));
}

/// A verdict is used again only for the same chain, name and roots, and while the certificates are
/// valid.
#[test]
fn a_remembered_verdict_is_for_the_same_chain_alone() {
    const DAY: u64 = 86_400;
    let folder = tempfile::tempdir().unwrap();
    let issuer = homemade_issuer();
    let (leaf, end) = (issued(&issuer, 2001), 11_323 * DAY);
    let other = issued(&issuer, 2001);
    let files = ["a.pem", "b.pem"].map(|name| folder.path().join(name));
    for file in &files {
        std::fs::write(file, issuer.pem()).unwrap();
    }
    let verify = |file: &std::path::Path, leaf: &rcgen::Certificate, name: &str, at: u64| {
        let roots = Roots::File(file.to_owned());
        let verifier = RecordingVerifier::new(roots, default_provider().into()).unwrap();
        verifier.remember();
        let inner = verifier.inner().unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(at));
        let presented = Presented::new(leaf.der(), &[], &name).unwrap();
        let known = presented.is_verified(&inner.roots, now);
        let outcome = verifier.verify_server_cert(leaf.der(), &[], &name, &[], now);
        (known, outcome.is_ok())
    };
    let (first, second) = (&files[0], &files[1]);
    let before = end - 10;
    assert_eq!(verify(first, &leaf, "home.example", before), (false, true));
    assert_eq!(verify(first, &leaf, "home.example", before), (true, true));
    assert_eq!(
        verify(first, &leaf, "home.example", before - 1),
        (false, true)
    );
    assert_eq!(verify(first, &leaf, "home.example", before), (true, true));
    assert_eq!(verify(first, &leaf, "else.example", before), (false, false));
    assert_eq!(verify(first, &other, "home.example", before), (false, true));
    assert_eq!(verify(second, &leaf, "home.example", before), (false, true));
    assert_eq!(
        verify(second, &leaf, "home.example", end + 1),
        (false, false)
    );
}

fn homemade_issuer() -> rcgen::CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    rcgen::CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issued(issuer: &rcgen::CertifiedIssuer<'static, KeyPair>, until: i32) -> rcgen::Certificate {
    let mut params = CertificateParams::new(["home.example".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    params
        .signed_by(&KeyPair::generate().unwrap(), issuer)
        .unwrap()
}
