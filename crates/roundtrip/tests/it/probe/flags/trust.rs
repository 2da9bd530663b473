//! Certificates: which ones the client trusts, and which one it shows.

use roundtrip_origin::ClientCertificate;

use crate::probe::peer::{Authority, Site};
use crate::probe::report::report;

#[test]
fn only_the_named_authority_is_trusted() {
    let site = Site::start();
    let known = site.report(&[&site.https("/")]);
    known.assert_status(200);
    assert_eq!(known.at("/tls/client_certificate_asked"), false);
    let other = site.write("other.pem", Authority::issue(&["localhost"]).ca);
    let stranger = report(&["--cacert", &other, &site.https("/")]);
    assert_eq!(stranger.at("/failure/kind"), "certificate-unknown-issuer");
    assert_eq!(stranger.code, 1);
    let anything = report(&["-k", &site.https("/")]);
    anything.assert_status(200);
    assert_eq!(anything.at("/tls/verify_result"), 20);
}

#[test]
fn a_certificate_of_ours_is_shown_when_asked_for() {
    let site = Site::with(|knobs| knobs.tls.client_certificate = ClientCertificate::Require);
    let pem = std::fs::read_to_string(site.file("client.pem")).unwrap();
    let place = pem.find("-----BEGIN PRIVATE KEY").unwrap();
    let certificate = site.write("certificate.pem", &pem[..place]);
    let key = site.write("key.pem", &pem[place..]);
    for version in ["--http1.1", "--http2", "--tls1.2", "--http3"] {
        let both = site.path("client.pem");
        let url = site.https("/");
        let one = site.report(&[version, "--cert", &both, &url]);
        one.assert_status(200);
        assert_eq!(one.at("/tls/client_certificate_asked"), true, "{version}");
        site.report(&[version, "-E", &certificate, "--key", &key, &url])
            .assert_status(200);
    }
}

#[test]
fn a_missing_certificate_is_named_whatever_carries_the_alert() {
    let site = Site::with(|knobs| knobs.tls.client_certificate = ClientCertificate::Require);
    for version in ["--http1.1", "--http2", "--tls1.2", "--http3"] {
        let report = site.report(&[version, &site.https("/")]);
        assert_eq!(report.code, 1);
        assert_eq!(
            report.at("/failure/kind"),
            "tls-alert",
            "{version}: {}",
            report.at("/failure")
        );
        let message = report.at("/failure/message").as_str().unwrap();
        assert!(
            message.contains("certificate_required"),
            "{version}: {message}"
        );
        let advice = report.at("/failure/advice").as_str().unwrap();
        assert!(advice.contains("--cert"), "{version}: {advice}");
    }
}
