//! TLS and its knobs, as openssl, curl and rustls see them.

mod client;
mod early_data;
mod tickets;

use roundtrip_origin::{Certificate, ClientCertificate, Group, Knobs, Origin, TlsVersions};
use rustls::HandshakeKind;

use self::client::TlsClient;
use crate::peers::Peer;

#[test]
fn versions_are_those_of_the_knob() {
    for (versions, with_12, with_13) in [
        (TlsVersions::Tls12, true, false),
        (TlsVersions::Tls13, false, true),
        (TlsVersions::Both, true, true),
    ] {
        let peer = Peer::with(|knobs| knobs.tls.versions = versions);
        let says = |flag: &str, version: &str| {
            let said = peer.s_client(&[flag, "-brief"], b"");
            said.err.contains(&format!("Protocol version: {version}"))
        };
        assert_eq!(says("-tls1_2", "TLSv1.2"), with_12, "{versions:?}");
        assert_eq!(says("-tls1_3", "TLSv1.3"), with_13, "{versions:?}");
    }
}

#[test]
fn a_group_the_client_did_not_guess_costs_a_retry() {
    for (groups, retried) in [
        (vec![Group::Secp384r1], true),
        (vec![Group::X25519], false),
        (vec![], false),
    ] {
        let peer = Peer::with(|knobs| knobs.tls.groups.clone_from(&groups));
        let visit = TlsClient::new(&peer).get("/");
        let kind = if retried {
            HandshakeKind::FullWithHelloRetryRequest
        } else {
            HandshakeKind::Full
        };
        assert_eq!(visit.kind, kind, "{groups:?}");
        assert_eq!(peer.origin.stats().tls_hello_retries, u64::from(retried));
    }
}

#[test]
fn bad_certificates_are_bad_in_their_own_way() {
    // Numbers of X509_V_ERR in openssl/x509_vfy.h.
    for (certificate, results) in [
        (Certificate::Good, &["0"][..]),
        (Certificate::NotYet, &["9"]),
        (Certificate::Expired, &["10"]),
        (Certificate::SelfSigned, &["18"]),
        (Certificate::UnknownIssuer, &["20", "21"]),
        (Certificate::MissingIntermediate, &["20", "21"]),
    ] {
        let peer = Peer::with(|knobs| knobs.tls.certificate = certificate);
        let asked = ["-o", "/dev/null", "-w", "%{ssl_verify_result}"];
        let said = peer.curl(&[&asked[..], &[&peer.https("/")]].concat());
        assert!(
            results.contains(&said.out.as_str()),
            "{certificate:?} {} {}",
            said.out,
            said.err
        );
        assert_eq!(said.code, if results == ["0"] { 0 } else { 60 });
    }
    let peer = Peer::with(|knobs| knobs.tls.certificate = Certificate::WrongName);
    let said = peer.curl(&[&peer.https("/")]);
    assert_eq!(said.code, 60);
    assert!(said.err.contains("subject name"), "{}", said.err);
    assert_eq!(peer.origin.stats().requests, 0);
}

#[test]
fn the_chain_is_as_long_and_as_compressed_as_asked_for() {
    for compress in [false, true] {
        let peer = Peer::with(|knobs| {
            knobs.tls.chain_bytes = 30_000;
            knobs.tls.compress_certificate = compress;
            knobs.tls.staple = 777;
        });
        let visit = TlsClient::new(&peer).get("/");
        assert!(visit.chain >= 30_000, "{}", visit.chain);
        assert_eq!(visit.decompressed, compress);
        assert_eq!(visit.stapled, 777);
    }
}

#[test]
fn client_certificates_are_asked_for_and_checked() {
    for (knob, without, with) in [
        (ClientCertificate::Off, true, true),
        (ClientCertificate::Request, true, true),
        (ClientCertificate::Require, false, true),
    ] {
        let peer = Peer::with(|knobs| knobs.tls.client_certificate = knob);
        let file = peer.file("client.pem").display().to_string();
        for versions in ["1.2", "1.3"] {
            let served = |extra: &[&str]| {
                let url = peer.https("/bytes/1");
                let asked = ["--tls-max", versions, &url];
                peer.curl(&[extra, &asked[..]].concat()).out == "0"
            };
            assert_eq!(served(&[]), without, "{knob:?} {versions}");
            assert_eq!(served(&["--cert", &file]), with, "{knob:?} {versions}");
        }
        let asked = peer.s_client(&[], b"").out;
        let names = asked.contains("Acceptable client certificate CA names");
        assert_eq!(names, knob != ClientCertificate::Off, "{asked}");
    }
    let stranger = Peer::with(|_| {}).file("client.pem");
    assert!(!stranger.exists());
}

#[test]
fn the_authority_is_written_before_anything_listens() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut knobs = Knobs::default();
    knobs.listen.https_port = taken.local_addr().unwrap().port();
    knobs.tls.ca_out = Some(file.clone());
    assert!(Origin::spawn_thread(knobs).is_err());
    assert!(file.exists());
}

#[test]
fn protocols_are_those_of_the_knob() {
    for (names, offered, chosen) in [
        ("h2,http/1.1", "http/1.1,h2", "h2"),
        ("http/1.1,h2", "h2,http/1.1", "http/1.1"),
        ("h2", "h2,http/1.1", "h2"),
        ("none", "h2,http/1.1", "No ALPN negotiated"),
    ] {
        let peer = Peer::with(|knobs| {
            knobs.tls.alpn = names.split(',').map(str::to_owned).collect();
        });
        let said = peer.s_client(&["-alpn", offered], b"").out;
        assert!(said.contains(chosen), "{names}: {said}");
    }
    let peer = Peer::with(|knobs| knobs.tls.alpn = vec!["h2".to_owned()]);
    let refused = peer.s_client(&["-alpn", "http/1.1"], b"");
    assert!(refused.err.contains("alert"), "{}", refused.err);
    assert_eq!(peer.origin.stats().tls_failures, 1);
}
