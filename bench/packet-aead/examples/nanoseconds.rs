//! How many nanoseconds the protection of a packet takes with aws-lc and with this crate, for
//! several sizes of packets.
//!
//! `cargo run --release -p roundtrip-packet-aead --example nanoseconds`; `taskset -c 1` steadies
//! it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use roundtrip_packet_aead as packet_aead;
use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::quic::{DirectionalKeys, Keys, Version};

const SIZES: [usize; 6] = [40, 256, 1200, 1452, 8952, 16_384];
const HEADER: [u8; 13] = [0x40; 13];
const TIMES: u32 = 1000;
const ROUNDS: usize = 200;

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

/// The keys with which a client seals, and its server opens.
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
    let mut packets = [theirs, own].map(|pair| Packet::new(pair, size));
    let mut best = [[f64::MAX; 4]; 2];
    // In turn, so that drift affects both; the fastest round is the one that nothing disturbed.
    for _ in 0..ROUNDS {
        for ((pair, packet), best) in [theirs, own].iter().zip(&mut packets).zip(&mut best) {
            let costs = [
                packet.seal(pair),
                packet.open(pair),
                packet.copy(),
                mask(pair),
            ];
            for (best, cost) in best.iter_mut().zip(costs) {
                *best = best.min(cost);
            }
        }
    }
    let [theirs, own] = best.map(|[seal, open, copy, mask]| [seal, open - copy, mask]);
    println!(
        "{name} {size:>7} {:>14.0} {:>4.0} {:>14.0} {:>4.0} {:>14.1} {:>4.1}",
        theirs[0], own[0], theirs[1], own[1], theirs[2], own[2]
    );
}

/// A packet's payload, in the clear and sealed with its tag, and a place to work in.
struct Packet {
    plain: Vec<u8>,
    sealed: Vec<u8>,
    place: Vec<u8>,
}

impl Packet {
    fn new(pair: &Pair, size: usize) -> Self {
        let plain = vec![0x5a; size];
        let mut sealed = plain.clone();
        let tag = pair.seals.packet.encrypt_in_place(1, &HEADER, &mut sealed);
        sealed.extend_from_slice(tag.as_ref().map_or(&[], AsRef::as_ref));
        Self {
            plain,
            place: sealed.clone(),
            sealed,
        }
    }

    fn seal(&mut self, pair: &Pair) -> f64 {
        time(|number| {
            let key = &pair.seals.packet;
            let tag = key.encrypt_in_place(number, &HEADER, black_box(&mut self.plain));
            black_box(tag.is_ok());
        })
    }

    /// Each time the same packet, which is copied first.
    fn open(&mut self, pair: &Pair) -> f64 {
        let mut all_opened = true;
        let cost = time(|_| {
            self.place.copy_from_slice(black_box(&self.sealed));
            let key = &pair.opens.packet;
            let opened = key.decrypt_in_place(1, &HEADER, black_box(&mut self.place));
            all_opened &= opened.is_ok();
        });
        if all_opened { cost } else { f64::NAN }
    }

    /// What of opening is the copying.
    fn copy(&mut self) -> f64 {
        time(|_| {
            self.place.copy_from_slice(black_box(&self.sealed));
            black_box(&mut self.place);
        })
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
