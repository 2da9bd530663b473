//! Certificates made with OpenSSL, read as OpenSSL reads them.

use roundtrip_wire::x509::Certificate;

const EC: &[u8] = include_bytes!("../data/ec-p256.der");
const RSA: &[u8] = include_bytes!("../data/rsa-2048.der");
const ED25519: &[u8] = include_bytes!("../data/ed25519.der");

#[test]
fn a_server_certificate() {
    let certificate = Certificate::parse(EC).unwrap();
    assert_eq!(certificate.subject.to_string(), "example.test");
    assert_eq!(
        certificate.subject.full(),
        "C=DE, O=Example GmbH, CN=example.test"
    );
    assert_eq!(
        certificate.names,
        ["example.test", "*.example.test", "192.0.2.7", "2001:db8::7"]
    );
    assert_eq!(
        (certificate.not_before, certificate.not_after),
        (1_795_241_568, 2_110_601_568)
    );
    assert_eq!(
        (certificate.key.as_str(), certificate.signature.as_str()),
        ("ECDSA P-256", "ecdsa-with-SHA256")
    );
    assert_eq!(certificate.serial, "8f01020304");
    assert!(certificate.is_self_issued());
}

#[test]
fn names_fall_back_to_what_there_is() {
    let root = Certificate::parse(RSA).unwrap();
    assert_eq!(root.subject.to_string(), "Example Authority");
    assert_eq!(
        (root.key.as_str(), root.signature.as_str()),
        ("RSA 2048", "sha384WithRSAEncryption")
    );
    assert_eq!(root.serial, "1ce580035b57f7382ed06a975c29047bb82c826b");

    let leaf = Certificate::parse(ED25519).unwrap();
    assert_eq!(leaf.subject.to_string(), "DC=test, OU=Nobody");
    assert_eq!(leaf.issuer, root.subject);
    assert_eq!(
        (leaf.key.as_str(), leaf.signature.as_str()),
        ("Ed25519", "sha256WithRSAEncryption")
    );
    // After 2049 the time is written in its longer form.
    assert_eq!(leaf.not_after, 3_523_241_568);
    assert!(leaf.names.is_empty() && !leaf.is_self_issued());
}

#[test]
fn a_certificate_cut_anywhere_is_refused() {
    for certificate in [EC, RSA, ED25519] {
        for length in 0..certificate.len() {
            assert!(
                Certificate::parse(&certificate[..length]).is_err(),
                "{length}"
            );
        }
        let longer = [certificate, &[0]].concat();
        assert!(Certificate::parse(&longer).is_err());
    }
}
