//! Fuzzes AES-GCM made for packets: it seals to the same bytes as aws-lc, opens what aws-lc sealed,
//! and neither of them opens changed bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_packet_aead as packet_aead;
use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::quic::{DirectionalKeys, Keys, Version};

const TAG: usize = 16;

/// What a run is made of; the header and the payload follow.
struct Task {
    id: [u8; 20],
    path: u32,
    number: u64,
    /// The length of the header.
    length: usize,
    /// Which byte is changed, and how.
    place: usize,
    change: u8,
}

impl Task {
    fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let (id, data) = data.split_first_chunk()?;
        let (path, data) = data.split_first_chunk()?;
        let (number, data) = data.split_first_chunk()?;
        let ([length, place, place_high, change], data) = data.split_first_chunk()?;
        let task = Self {
            id: *id,
            path: u32::from_be_bytes(*path),
            number: u64::from_be_bytes(*number),
            length: usize::from(*length).min(data.len()),
            place: usize::from(u16::from_be_bytes([*place_high, *place])),
            change: *change,
        };
        Some((task, data))
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((task, data)) = Task::read(data) else {
        return;
    };
    let (header, payload) = data.split_at(task.length);
    for plain in [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384] {
        check(&task, header, payload, plain);
    }
});

fn check(task: &Task, header: &[u8], payload: &[u8], plain: SupportedCipherSuite) {
    let (theirs, own) = (
        keys(plain, &task.id),
        keys(packet_aead::suite(plain), &task.id),
    );
    let mut sealed = seal(&theirs, task, header, payload);
    assert_eq!(seal(&own, task, header, payload), sealed);
    assert_eq!(open(&own, task, header, &sealed).as_deref(), Some(payload));
    let masks = [&theirs, &own].map(|keys| {
        let (mut first, mut number) = (task.change, [0; 4]);
        let sample = &sealed[sealed.len() - TAG..];
        let masked = keys
            .header
            .encrypt_in_place(sample, &mut first, &mut number);
        masked.unwrap();
        (first, number)
    });
    assert_eq!(masks[0], masks[1]);

    let place = task.place % sealed.len();
    sealed[place] ^= task.change;
    let untouched = task.change == 0;
    assert_eq!(open(&theirs, task, header, &sealed).is_some(), untouched);
    assert_eq!(open(&own, task, header, &sealed).is_some(), untouched);
}

/// Keys of both lengths are derived from a connection's id, like those of Initial packets.
fn keys(suite: SupportedCipherSuite, id: &[u8]) -> DirectionalKeys {
    let suite = suite.tls13().unwrap().quic_suite().unwrap();
    Keys::initial(
        Version::V1,
        suite.suite,
        suite.quic,
        id,
        rustls::Side::Client,
    )
    .local
}

fn seal(keys: &DirectionalKeys, task: &Task, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut packet = payload.to_vec();
    let key = &keys.packet;
    let tag = key.encrypt_in_place_for_path(task.path, task.number, header, &mut packet);
    packet.extend_from_slice(tag.unwrap().as_ref());
    packet
}

fn open(keys: &DirectionalKeys, task: &Task, header: &[u8], packet: &[u8]) -> Option<Vec<u8>> {
    let mut packet = packet.to_vec();
    let key = &keys.packet;
    let opened = key.decrypt_in_place_for_path(task.path, task.number, header, &mut packet);
    opened.ok().map(<[u8]>::to_vec)
}
