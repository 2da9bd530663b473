//! What rustls sees of the suites: the same keys, limits, masks and packets as those of aws-lc.

use rustls::crypto::aws_lc_rs::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, Keys, Version};
use rustls::{Side, SupportedCipherSuite};

use super::super::{provider, suite};
use super::{Dice, cpu};

fn algorithm(suite: SupportedCipherSuite) -> &'static dyn Algorithm {
    suite.tls13().unwrap().quic.unwrap()
}

fn client_keys(suite: SupportedCipherSuite, id: &[u8]) -> Keys {
    let suite = suite.tls13().unwrap().quic_suite().unwrap();
    Keys::initial(Version::V1, suite.suite, suite.quic, id, Side::Client)
}

#[test]
fn the_suites_are_the_same_but_for_quic() {
    let plain = rustls::crypto::aws_lc_rs::default_provider();
    let made = provider();
    assert_eq!(made.cipher_suites, plain.cipher_suites);
    if cpu().is_none() {
        return;
    }
    let address = |suite| std::ptr::from_ref(algorithm(suite)).cast::<()>();
    for original in [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384] {
        let own = suite(original);
        assert_ne!(address(own), address(original), "{own:?}");
        assert_eq!(
            algorithm(own).aead_key_len(),
            algorithm(original).aead_key_len()
        );
        let (own, original) = (client_keys(own, b"id"), client_keys(original, b"id"));
        let (own, original) = (own.local, original.local);
        assert_eq!(own.packet.tag_len(), original.packet.tag_len());
        assert_eq!(
            own.packet.confidentiality_limit(),
            original.packet.confidentiality_limit()
        );
        assert_eq!(
            own.packet.integrity_limit(),
            original.packet.integrity_limit()
        );
        assert_eq!(own.header.sample_len(), original.header.sample_len());
    }
    let chacha = TLS13_CHACHA20_POLY1305_SHA256;
    assert_eq!(address(suite(chacha)), address(chacha));
}

#[test]
fn packets_are_opened_by_the_other() {
    let mut dice = Dice(7);
    for original in [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384] {
        for (seals, opens) in [(suite(original), original), (original, suite(original))] {
            let seals = client_keys(seals, b"another").local;
            let suite = opens.tls13().unwrap().quic_suite().unwrap();
            let opens = Keys::initial(
                Version::V1,
                suite.suite,
                suite.quic,
                b"another",
                Side::Server,
            );
            let (plain, header, number) = (dice.bytes(1400), dice.bytes(12), dice.roll());
            let mut packet = plain.clone();
            let tag = seals.packet.encrypt_in_place(number, &header, &mut packet);
            packet.extend_from_slice(tag.unwrap().as_ref());
            let key = &opens.remote.packet;
            let opened = key.decrypt_in_place(number, &header, &mut packet).unwrap();
            assert_eq!(opened, plain);
            assert!(key.decrypt_in_place(number, &header, &mut [0; 15]).is_err());
        }
    }
}

/// Paths of multipath QUIC are part of the nonce.
#[test]
fn paths_have_nonces_of_their_own() {
    let key = || (AeadKey::from([5; 32]), Iv::from([6; 12]));
    let [own, original] = [suite(TLS13_AES_256_GCM_SHA384), TLS13_AES_256_GCM_SHA384]
        .map(|suite| algorithm(suite).packet_key(key().0, key().1));
    for path in [0, 1, 0x8000_0001] {
        let mut data = [7; 50];
        let tag = own
            .encrypt_in_place_for_path(path, 8, &[9], &mut data)
            .unwrap();
        let packet = [&data[..], tag.as_ref()].concat();
        let opened = |path| {
            let mut packet = packet.clone();
            let opened = original.decrypt_in_place_for_path(path, 8, &[9], &mut packet);
            opened.is_ok_and(|data| *data == [7; 50])
        };
        assert!(opened(path) && !opened(path ^ 2));
        let mut again = packet.clone();
        assert!(
            own.decrypt_in_place_for_path(path, 8, &[9], &mut again)
                .is_ok()
        );
    }
}

#[test]
fn headers_get_the_same_mask() {
    let mut dice = Dice(8);
    for original in [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384] {
        let own = client_keys(suite(original), b"headers").local.header;
        let theirs = client_keys(original, b"headers").local.header;
        for _ in 0..500 {
            let (sample, first) = (dice.bytes(16), dice.roll() as u8);
            let length = 1 + dice.below(4);
            let number = dice.bytes(length);
            let masked = |removes: bool, key: &dyn rustls::quic::HeaderProtectionKey| {
                let (mut first, mut number) = (first, number.clone());
                let done = if removes {
                    key.decrypt_in_place(&sample, &mut first, &mut number)
                } else {
                    key.encrypt_in_place(&sample, &mut first, &mut number)
                };
                done.map(|()| (first, number)).unwrap()
            };
            for removes in [false, true] {
                assert_eq!(masked(removes, &*own), masked(removes, &*theirs));
            }
        }
        for (sample, number) in [(15, 4), (17, 4), (16, 5)] {
            let (mut first, mut number) = (0x43, vec![1; number]);
            let done = own.encrypt_in_place(&vec![0; sample], &mut first, &mut number);
            assert!(done.is_err());
            assert!(first == 0x43 && number.iter().all(|byte| *byte == 1));
        }
    }
}
