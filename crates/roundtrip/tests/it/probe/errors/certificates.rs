//! Handshakes that fail because of what the server shows, or because both sides disagree.

use roundtrip_origin::{Certificate, TlsVersions};

use super::{advice, assert_failure, message};
use crate::probe::peer::Site;

const KINDS: [(Certificate, &str, &str); 6] = [
    (Certificate::Expired, "certificate-expired", "expired"),
    (
        Certificate::NotYet,
        "certificate-not-yet-valid",
        "not valid yet",
    ),
    (
        Certificate::WrongName,
        "certificate-wrong-name",
        "is for wrong-name.invalid, not for localhost",
    ),
    (
        Certificate::UnknownIssuer,
        "certificate-unknown-issuer",
        "issuer is not trusted",
    ),
    (
        Certificate::SelfSigned,
        "certificate-unknown-issuer",
        "self-signed",
    ),
    (
        Certificate::MissingIntermediate,
        "certificate-unknown-issuer",
        "issuer is not trusted",
    ),
];

#[test]
fn a_bad_certificate_is_refused_and_shown() {
    for (certificate, kind, words) in KINDS {
        let site = Site::with(|knobs| knobs.tls.certificate = certificate);
        for (version, phase) in [
            ("--http1.1", "tls"),
            ("--http2", "tls"),
            ("--tls1.2", "tls"),
            ("--http3", "quic"),
        ] {
            let report = site.report(&[version, &site.https("/")]);
            assert_failure(&report, kind, phase);
            assert!(message(&report).contains(words), "{}", message(&report));
            let shown = report.at("/tls/chain/certificates").as_array().unwrap();
            assert!(!shown.is_empty());
            if phase == "quic" {
                for way in ["/quic/datagrams_sent", "/quic/datagrams_received"] {
                    assert!(report.at(way).as_u64().unwrap() > 0, "{way}");
                }
                let local = report.at("/quic/local").as_str().unwrap();
                assert!(local.starts_with("127.0.0.1:"), "{local}");
            }
        }
    }
}

#[test]
fn without_verification_it_is_used_and_said() {
    for (certificate, ..) in KINDS {
        let site = Site::with(|knobs| knobs.tls.certificate = certificate);
        let report = site.report(&["-k", &site.https("/")]);
        report.assert_status(200);
        assert_ne!(report.at("/tls/verify_result"), 0, "{certificate:?}");
    }
}

#[test]
fn a_version_that_the_server_lacks_is_an_alert() {
    for (versions, flag) in [
        (TlsVersions::Tls12, "--tls1.3"),
        (TlsVersions::Tls13, "--tls1.2"),
    ] {
        let site = Site::with(|knobs| knobs.tls.versions = versions);
        let report = site.report(&[flag, &site.https("/")]);
        assert_failure(&report, "tls-alert", "tls");
        assert!(
            message(&report).contains("protocol_version (70)"),
            "{}",
            message(&report)
        );
        assert!(advice(&report).contains(flag), "{}", advice(&report));
    }
}

#[test]
fn a_protocol_that_the_server_lacks_is_refused() {
    for (alpn, flag) in [("http/1.1", "--http2"), ("h2", "--http1.1")] {
        let site = Site::with(|knobs| knobs.tls.alpn = vec![alpn.into()]);
        let report = site.report(&[flag, &site.https("/")]);
        assert_failure(&report, "alpn-refused", "tls");
        assert!(message(&report).contains("no_application_protocol (120)"));
    }
    // A server without ALPN selects nothing, so nobody may speak HTTP/2 to it.
    let site = Site::with(|knobs| knobs.tls.alpn = vec!["none".into()]);
    let report = site.report(&["--http2", &site.https("/")]);
    assert_eq!(report.at("/failure/kind"), "alpn-refused");
    assert!(message(&report).contains("h2"), "{}", message(&report));
    site.report(&["--http1.1", &site.https("/")])
        .assert_status(200);
}
