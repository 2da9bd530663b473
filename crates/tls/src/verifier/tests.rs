//! A server whose certificate is a CA certificate.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs::default_provider;

use super::*;

/// As `openssl req -x509` makes it: self-signed, and a CA certificate.
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
