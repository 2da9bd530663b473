//! What a packet's protection costs: aws-lc's beside this crate's, in nanoseconds for each of several sizes.
//!
//! `cargo run --release -p roundtrip-quic --features packet-aead --example packet_aead`; `taskset -c 1` steadies it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use roundtrip_quic::packet_aead;
use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::quic::{DirectionalKeys, Keys, Version};

const SIZES: [usize; 6] = [40, 256, 1200, 1452, 8952, 16_384];
const HEADER: [u8; 13] = [0x40; 13];
const TIMES: u32 = 10_000;
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    if !packet_aead::is_supported() {
        eprintln!(
            "this processor has no AVX-512 with VAES and VPCLMULQDQ: there is nothing to compare"
        );
        return ExitCode::FAILURE;
    }
    println!("cipher   bytes   seal: aws-lc  own   open: aws-lc  own   mask: aws-lc  own   (ns)");
    for (name, plain) in [
        ("aes128", TLS13_AES_128_GCM_SHA256),
        ("aes256", TLS13_AES_256_GCM_SHA384),
    ] {
        let pairs = keys(plain).zip(keys(packet_aead::suite(plain)));
        let Some((theirs, own)) = pairs else {
            eprintln!("{name} has no keys for QUIC");
            return ExitCode::FAILURE;
        };
        for size in SIZES {
            compare(name, size, &theirs, &own);
        }
    }
    ExitCode::SUCCESS
}

/// What a client seals with, and its server opens.
struct Pair {
    seals: DirectionalKeys,
    opens: DirectionalKeys,
}

fn keys(suite: SupportedCipherSuite) -> Option<Pair> {
    let suite = suite.tls13()?.quic_suite()?;
    let side = |side| Keys::initial(Version::V1, suite.suite, suite.quic, &[7; 8], side);
    Some(Pair {
        seals: side(rustls::Side::Client).local,
        opens: side(rustls::Side::Server).remote,
    })
}

fn compare(name: &str, size: usize, theirs: &Pair, own: &Pair) {
    let mut best = [[f64::MAX; 2]; 3];
    // In turn, so that what drifts befalls both; the best of the rounds is the one that nothing disturbed.
    for _ in 0..ROUNDS {
        for (which, pair) in [theirs, own].into_iter().enumerate() {
            let costs = [seal(pair, size), open(pair, size), mask(pair)];
            for (best, cost) in best.iter_mut().zip(costs) {
                best[which] = best[which].min(cost);
            }
        }
    }
    let [seal, open, mask] = best;
    println!(
        "{name} {size:>7} {:>14.0} {:>4.0} {:>14.0} {:>4.0} {:>14.1} {:>4.1}",
        seal[0], seal[1], open[0], open[1], mask[0], mask[1]
    );
}

fn seal(pair: &Pair, size: usize) -> f64 {
    let mut payload = vec![0x5a; size];
    time(|number| {
        let key = &pair.seals.packet;
        let tag = key.encrypt_in_place(number, &HEADER, black_box(&mut payload));
        black_box(tag.is_ok());
    })
}

/// Each time the same packet, which is copied first: the copying is measured alone, and taken off.
fn open(pair: &Pair, size: usize) -> f64 {
    let mut packet = vec![0x5a; size];
    let Ok(tag) = pair.seals.packet.encrypt_in_place(1, &HEADER, &mut packet) else {
        return f64::NAN;
    };
    packet.extend_from_slice(tag.as_ref());
    let mut place = packet.clone();
    let mut all_opened = true;
    let whole = time(|_| {
        place.copy_from_slice(black_box(&packet));
        let key = &pair.opens.packet;
        let opened = key.decrypt_in_place(1, &HEADER, black_box(&mut place));
        all_opened &= opened.is_ok();
    });
    let copying = time(|_| {
        place.copy_from_slice(black_box(&packet));
        black_box(&mut place);
    });
    if all_opened {
        whole - copying
    } else {
        f64::NAN
    }
}

fn mask(pair: &Pair) -> f64 {
    let (mut first, mut number) = (0x41, [0; 4]);
    time(|sample| {
        let sample = u128::from(sample).to_ne_bytes();
        let key = &pair.seals.header;
        let masked = key.encrypt_in_place(&sample, black_box(&mut first), &mut number);
        black_box(masked.is_ok());
    })
}

/// Nanoseconds for one.
fn time(mut work: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for number in 0..u64::from(TIMES) {
        work(number);
    }
    start.elapsed().as_nanos() as f64 / f64::from(TIMES)
}
