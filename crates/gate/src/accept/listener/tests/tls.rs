//! TLS over TCP: protocols, certificates, tickets of both kinds, early data.

use std::sync::atomic::Ordering;

use roundtrip_tls::{Client, Offer, Roots};

use super::scene::{Scene, Setting, offer, run, s_client};
use crate::config::{self, Resumption, Span, Tls};

#[test]
fn both_protocols_and_both_versions_are_spoken() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let client = scene.client();
        for (alpn, tls13, expected) in [
            (vec!["h2", "http/1.1"], true, "h2=true version=TLSv1_3"),
            (vec!["http/1.1"], true, "h2=false version=TLSv1_3"),
            (vec![], false, "h2=false version=TLSv1_2"),
        ] {
            let offer = Offer {
                alpn,
                tls13,
                resume: false,
                ..offer()
            };
            let said = scene.ask(&client, &offer).await;
            assert!(said.contains(expected), "{said}");
            assert!(
                said.contains("resumed=false accepted=false early=false"),
                "{said}"
            );
        }
    });
}

#[test]
fn the_handshake_is_post_quantum_and_its_certificate_compressed() {
    run(async {
        let scene = Scene::start(&Setting::default());
        let mut stream = scene.connect(&scene.client(), &offer()).await;
        stream.handshake().await.unwrap();
        let tls = stream.connection();
        let group = tls.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(group, rustls::NamedGroup::X25519MLKEM768);
        drop(tokio::io::AsyncWriteExt::shutdown(&mut stream).await);
        let facts = stream.facts().get().unwrap().clone();
        assert_eq!(facts.chain.unwrap().compressed, Some("zlib"));
    });
}

#[test]
fn tickets_are_good_at_every_process_with_the_seed_for_two_epochs() {
    run(async {
        let setting = || Setting {
            tls: Tls {
                epoch: Span::seconds(3600),
                ..Tls::default()
            },
            ..Setting::default()
        };
        let one = Scene::start(&setting());
        let other = Scene::start(&setting());
        let stranger = Scene::start(&Setting {
            seed: 8,
            ..setting()
        });
        let client = one.client();
        let resumed = |said: String| said.contains("resumed=true");
        assert!(!resumed(one.ask(&client, &offer()).await));
        assert!(resumed(one.ask(&client, &offer()).await));
        // Its own certificate does not matter: a resumed handshake shows none.
        assert!(resumed(other.ask(&client, &offer()).await));
        let hour = |hours: u64| {
            let now = 1_000_000_000 + hours * 3600;
            one.now.store(now, Ordering::Relaxed);
        };
        hour(1);
        assert!(resumed(one.ask(&client, &offer()).await));
        hour(3);
        assert!(!resumed(one.ask(&client, &offer()).await));
        // The client refuses an unknown certificate, so the server showed one and did not accept
        // the ticket.
        let mut stream = stranger.connect(&client, &offer()).await;
        assert!(stream.handshake().await.is_err());
    });
}

#[test]
fn without_resumption_no_tickets_are_given() {
    run(async {
        let scene = Scene::start(&Setting {
            tls: Tls {
                resumption: Resumption::Off,
                ..Tls::default()
            },
            ..Setting::default()
        });
        let client = scene.client();
        for _ in 0..2 {
            let said = scene.ask(&client, &offer()).await;
            assert!(said.contains("resumed=false"), "{said}");
        }
        assert_eq!(client.tickets(false).received(), 0);
    });
}

#[test]
fn openssl_resumes_with_either_version() {
    run(async {
        let scene = Scene::start(&Setting::default());
        for version in ["-tls1_3", "-tls1_2"] {
            let session = scene.ca().with_extension(version);
            let path = session.to_str().unwrap();
            let first = s_client(&scene, &[version, "-sess_out", path], "ask\n").await;
            assert!(first.contains("resumed=false"), "{first}");
            let second = s_client(&scene, &[version, "-sess_in", path], "ask\n").await;
            assert!(second.contains("resumed=true"), "{second}");
        }
    });
}

#[test]
fn a_replaced_certificate_is_shown_to_the_next_client() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let setting = config::CertificateFiles {
            chain: folder.path().join("chain.pem"),
            key: folder.path().join("key.pem"),
        };
        let write = || {
            let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
            std::fs::write(&setting.chain, made.cert.pem()).unwrap();
            std::fs::write(&setting.key, made.signing_key.serialize_pem()).unwrap();
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&setting.key, private).unwrap();
        };
        write();
        let scene = Scene::start(&Setting {
            tls: Tls {
                certificate: vec![setting.clone()],
                ..Tls::default()
            },
            ..Setting::default()
        });
        // Each client trusts only the certificate that is in the file at the time.
        let client = || Client::new(Roots::File(setting.chain.clone()), None).unwrap();
        scene.ask(&client(), &offer()).await;
        write();
        let mut early = scene.connect(&client(), &offer()).await;
        assert!(early.handshake().await.is_err(), "it is still the old one");
        assert!(scene.side.look().is_empty());
        assert!(scene.side.look()[0].is_ok());
        scene.ask(&client(), &offer()).await;
    });
}
