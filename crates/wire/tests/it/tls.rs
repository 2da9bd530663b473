//! Hellos recorded from real peers, read as an observer of the wire would.

use roundtrip_wire::tls::{
    CertificateCompression, ClientHello, ContentKind, Group, HandshakeKind, Handshakes, KeyShare,
    Records, ServerHello, Version, clear_handshake, server_key_exchange_group,
};

macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!("../data/", $name, ".bin"))
    };
}

fn client_hellos(stream: &[u8]) -> Vec<ClientHello> {
    let bytes = clear_handshake(stream).unwrap();
    Handshakes::new(&bytes)
        .filter(|message| message.kind == HandshakeKind::CLIENT_HELLO)
        .map(|message| ClientHello::parse(message.body).unwrap())
        .collect()
}

fn server_hellos(stream: &[u8]) -> Vec<ServerHello> {
    let bytes = clear_handshake(stream).unwrap();
    Handshakes::new(&bytes)
        .filter(|message| message.kind == HandshakeKind::SERVER_HELLO)
        .map(|message| ServerHello::parse(message.body).unwrap())
        .collect()
}

#[test]
fn a_full_tls13_handshake() {
    let offers = client_hellos(recorded!("tls13-client"));
    let [offer] = offers.as_slice() else {
        panic!("{offers:?}")
    };
    assert_eq!(offer.server_name.as_deref(), Some("example.test"));
    assert_eq!(offer.alpn, ["h2", "http/1.1"]);
    assert_eq!(offer.versions[..2], [Version::TLS13, Version::TLS12]);
    assert_eq!(
        offer.key_shares,
        [KeyShare {
            group: Group::X25519,
            bytes: 32
        }]
    );
    assert_eq!(offer.groups[..2], [Group::X25519, Group(0x17)]);
    assert_eq!(
        offer.cipher_suites[0].name(),
        Some("TLS_AES_256_GCM_SHA384")
    );
    assert_eq!((offer.session_ticket, offer.offers_psk()), (Some(0), false));
    assert!(offer.status_request && !offer.early_data && offer.quic_parameters.is_none());

    let answers = server_hellos(recorded!("tls13-server"));
    let [answer] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    assert_eq!(answer.version.to_string(), "TLSv1.3");
    assert_eq!(answer.cipher_suite.name(), Some("TLS_AES_256_GCM_SHA384"));
    assert_eq!(answer.group, Some(Group::X25519));
    assert!(!answer.is_retry && answer.echoes_session_id(offer) && !answer.resumes(offer));

    let kinds: Vec<_> = Records::new(recorded!("tls13-server"))
        .map(|record| record.unwrap().kind)
        .collect();
    assert_eq!(
        kinds[..3],
        [
            ContentKind::Handshake,
            ContentKind::ChangeCipherSpec,
            ContentKind::ApplicationData
        ]
    );
}

#[test]
fn a_hello_retry_request_and_what_follows_it() {
    let answers = server_hellos(recorded!("tls13-retry-server"));
    let retried: Vec<_> = answers.iter().map(|a| (a.is_retry, a.group)).collect();
    assert_eq!(
        retried,
        [(true, Some(Group(0x18))), (false, Some(Group(0x18)))]
    );

    let offers = client_hellos(recorded!("tls13-retry-client"));
    let shares: Vec<_> = offers.iter().map(|o| o.key_shares[0]).collect();
    assert_eq!(
        shares,
        [
            KeyShare {
                group: Group::X25519,
                bytes: 32
            },
            KeyShare {
                group: Group(0x18),
                bytes: 97
            }
        ]
    );
}

#[test]
fn a_full_tls12_handshake() {
    let answers = server_hellos(recorded!("tls12-server"));
    let offers = client_hellos(recorded!("tls12-client"));
    let (answer, offer) = (&answers[0], &offers[0]);
    assert_eq!(
        (offer.versions.as_slice(), offer.key_shares.len()),
        (&[Version::TLS12][..], 0)
    );
    assert_eq!(
        (answer.version, answer.alpn.as_deref()),
        (Version::TLS12, Some("http/1.1"))
    );
    assert_eq!(
        answer.cipher_suite.name(),
        Some("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
    );
    assert!(answer.session_ticket && answer.extended_master_secret && !answer.resumes(offer));

    let bytes = clear_handshake(recorded!("tls12-server")).unwrap();
    let messages: Vec<_> = Handshakes::new(&bytes).collect();
    let kinds: Vec<_> = messages.iter().map(|m| m.kind.to_string()).collect();
    assert_eq!(
        kinds,
        [
            "ServerHello",
            "Certificate",
            "ServerKeyExchange",
            "ServerHelloDone",
            "NewSessionTicket"
        ]
    );
    assert_eq!(
        server_key_exchange_group(messages[2].body),
        Some(Group::X25519)
    );
}

#[test]
fn resumption_in_both_versions() {
    let offers = client_hellos(recorded!("tls13-early-client"));
    let answers = server_hellos(recorded!("tls13-early-server"));
    assert_eq!((offers[0].psk_identities, offers[0].early_data), (1, true));
    assert_eq!(answers[0].psk, Some(0));
    assert!(answers[0].resumes(&offers[0]));

    let offers = client_hellos(recorded!("tls12-resumed-client"));
    let answers = server_hellos(recorded!("tls12-resumed-server"));
    assert!(offers[0].session_ticket.is_some_and(|bytes| bytes > 100));
    assert!(answers[0].resumes(&offers[0]));
}

#[test]
fn a_post_quantum_offer_is_large() {
    let offers = client_hellos(recorded!("post-quantum-client"));
    let offer = &offers[0];
    assert_eq!(
        offer.key_shares[0],
        KeyShare {
            group: Group::X25519_MLKEM768,
            bytes: 1216
        }
    );
    assert!(offer.key_shares[0].group.is_post_quantum());
    assert!(offer.length > 1216 && offer.length + 5 == recorded!("post-quantum-client").len());
}

/// A hello with one extension of each kind that the recordings lack, and GREASE in every permitted
/// place.
#[test]
fn grease_is_left_out_and_rare_extensions_are_seen() {
    let extensions = [
        &[0x0a, 0x0a, 0, 0][..],
        &[0, 10, 0, 6, 0, 4, 0x1a, 0x1a, 0x11, 0xec],
        &[0, 16, 0, 8, 0, 6, 2, 0x2a, 0x2a, 2, b'h', b'2'],
        &[0, 27, 0, 7, 6, 0x3a, 0x3a, 0, 2, 0, 9],
        &[0, 43, 0, 5, 4, 0x4a, 0x4a, 3, 4],
        &[0, 44, 0, 3, 0, 1, 7],
        &[0, 51, 0, 7, 0, 5, 0x5a, 0x5a, 0, 1, 0],
        &[0xfe, 0x0d, 0, 0],
    ]
    .concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0, 0, 4, 0x6a, 0x6a, 0x13, 1, 1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let hello = ClientHello::parse(&body).unwrap();
    assert_eq!(
        (hello.cipher_suites.len(), hello.groups.as_slice()),
        (1, &[Group::X25519_MLKEM768][..])
    );
    assert_eq!(
        (hello.alpn, hello.versions),
        (vec!["h2".to_owned()], vec![Version::TLS13])
    );
    assert!(hello.key_shares.is_empty() && hello.cookie && hello.encrypted_client_hello);
    let names: Vec<_> = hello
        .certificate_compression
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["brotli", "0x0009"]);
    assert_eq!(CertificateCompression(1).name(), Some("zlib"));

    let twice = [&body[..43], &[0, 8], &[0, 23, 0, 0].repeat(2)].concat();
    assert!(ClientHello::parse(&twice).is_err());
    assert!(ClientHello::parse(&body[..body.len() - 1]).is_err());
    let bare = ClientHello::parse(&body[..43]).unwrap();
    assert_eq!(bare.versions, [Version::TLS12]);
}
