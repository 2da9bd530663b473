//! The cost of a packet. Run it optimised: `cargo test --release -p roundtrip-quic --lib cost --
//! --ignored --nocapture`.

use std::collections::VecDeque;
use std::fs;
use std::time::Instant;

use super::*;
use crate::DatagramSize;

const PACKETS: u64 = 20_000_000;
const BURST: u64 = 44;

/// Sends bulk data with `in_flight` packets in flight, acknowledged `at_once` at a time; one in
/// `loss` never arrives. Returns the nanoseconds for each packet.
fn measure(in_flight: u64, at_once: u64, loss: Option<u64>) -> f64 {
    let config = Transport {
        datagram: DatagramSize::Fixed(1472),
        ..Transport::default()
    };
    let mut recovery = Recovery::new(Time::ZERO, &config, Mtu::new(config.datagram, REMOTE), 7);
    let mut feedback = Feedback::default();
    let mut items = Vec::new();
    let mut now = Time(1);
    let mut offset = 0;
    let mut arrived: VecDeque<RangeInclusive<u64>> = VecDeque::new();
    let mut flight: VecDeque<u64> = VecDeque::with_capacity(1 << 16);
    let mut sent = 0;
    let mut settled = 0;
    let begun = Clock::start();
    while sent < PACKETS {
        now = now.after(Duration::from_micros(50));
        recovery.begin_burst(now);
        std::hint::black_box(recovery.allowance(now, 1472, 64));
        for _ in 0..BURST {
            let number = recovery.next_number(Space::Data);
            let chunk = Chunk {
                slot: 3,
                offset,
                length: 1443,
                fin: false,
            };
            offset += 1443;
            recovery.on_sent(Space::Data, number, 1472, Some(chunk), &mut items, true);
            flight.push_back(number);
        }
        recovery.end_burst();
        sent += BURST;
        while flight.len() as u64 > in_flight {
            for number in flight.drain(..at_once as usize) {
                if loss.is_some_and(|n| number % n == 0) {
                    continue;
                }
                match arrived.front_mut() {
                    Some(range) if range.end() + 1 == number => *range = *range.start()..=number,
                    _ => arrived.push_front(number..=number),
                }
            }
            arrived.truncate(16);
            let ranges = arrived.iter().cloned();
            let context = AckContext {
                now,
                space: Space::Data,
                delay: Duration::ZERO,
                progress: CONFIRMED,
            };
            recovery
                .on_ranges(&context, ranges, None, &mut feedback)
                .unwrap();
            settled += feedback.acked_packets + feedback.lost_packets;
            feedback.clear();
            std::hint::black_box(recovery.deadline(CONFIRMED));
        }
    }
    let nanos = begun.nanos();
    assert!(settled + in_flight + 2 * at_once + BURST > sent);
    nanos / sent as f64
}

/// This thread's processor time, if the system reports it: it does not include other work on the
/// machine.
struct Clock(Instant, Option<u64>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), Self::used())
    }

    fn nanos(&self) -> f64 {
        match (self.1, Self::used()) {
            (Some(before), Some(after)) => (after - before) as f64,
            _ => self.0.elapsed().as_nanos() as f64,
        }
    }

    fn used() -> Option<u64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }
}

#[test]
#[ignore = "a measurement, for an optimised build"]
fn cost_of_a_packet() {
    for (in_flight, at_once, loss) in [
        (500, 2, None),
        (500, 10, None),
        (500, 32, None),
        (500, 64, None),
        (8000, 64, None),
        (500, 32, Some(100)),
        (8000, 32, Some(100)),
    ] {
        let nanos = measure(in_flight, at_once, loss);
        println!("{in_flight} in flight, {at_once} an ACK, loss {loss:?}: {nanos:.2} ns a packet");
    }
}
