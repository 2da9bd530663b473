//! A fleet in virtual time: a thousand replicas whose clocks differ, epochs that pass, and a seed
//! that is replaced by restarting one replica after another. Everything follows from a number, so a
//! failure repeats. `bench/fleet --seeds N` plays more of them.

use std::sync::atomic::{AtomicU64, Ordering};

use roundtrip_model::Random;

use super::*;

const REPLICAS: u64 = 1000;
const EPOCH: u64 = 3600;
/// Clocks are wrong by at most half an epoch.
const MAX_SKEW: u64 = EPOCH / 2;
/// The seed is replaced within this time.
const ROLLOUT: u64 = 2 * EPOCH;
const BEGIN: u64 = 500_000 * EPOCH;
/// Tickets that are given out and presented in each fleet.
const TICKETS: usize = 60;

struct Replica {
    /// The time that the replica's clock shows.
    hand: Arc<AtomicU64>,
    skew: i64,
    restarts: u64,
    /// The replica's tickets with the old seed, and with the new one.
    tickets: [Tickets; 2],
}

impl Replica {
    fn new(random: &mut Random, seeds: &[Arc<Seed>; 2]) -> Self {
        let hand = Arc::new(AtomicU64::new(BEGIN));
        let skew = draw(random, 2 * MAX_SKEW + 1).cast_signed() - MAX_SKEW.cast_signed();
        let tickets = seeds.each_ref().map(|seed| {
            let hand = hand.clone();
            let clock = move || UNIX_EPOCH + Duration::from_secs(hand.load(Ordering::Relaxed));
            Tickets::new(seed.clone(), Duration::from_secs(EPOCH), Arc::new(clock))
        });
        Self {
            hand,
            skew,
            restarts: BEGIN + draw(random, ROLLOUT),
            tickets,
        }
    }

    fn generation(&self, at: u64) -> usize {
        usize::from(at >= self.restarts)
    }

    fn at(&self, time: u64) -> &Tickets {
        let shown = time.saturating_add_signed(self.skew);
        self.hand.store(shown, Ordering::Relaxed);
        &self.tickets[self.generation(time)]
    }
}

fn draw(random: &mut Random, below: u64) -> u64 {
    random.next_u64() % below
}

/// The guarantee: a ticket opens at every replica with the same seed for an epoch less the clocks'
/// difference, and at none after two epochs plus that difference. No replica opens tickets of
/// another seed.
///
/// Returns how many tickets another replica opened, and refused.
fn play(number: u64) -> [u64; 2] {
    let mut random = Random::seeded(number);
    let seeds = [1, 2].map(|byte| Arc::new(Seed::new(&[byte; 32])));
    let made = (0..REPLICAS).map(|_| Replica::new(&mut random, &seeds));
    let fleet: Vec<Replica> = made.collect();
    let any = |random: &mut Random| &fleet[random.below(fleet.len())];
    let mut by_others = [0, 0];
    for _ in 0..TICKETS {
        let (giver, begin) = (any(&mut random), BEGIN + draw(&mut random, 2 * ROLLOUT));
        let ticket = giver.at(begin).encrypt(b"session").unwrap();
        for _ in 0..4 {
            let (taker, age) = (any(&mut random), draw(&mut random, 4 * EPOCH));
            let end = begin + age;
            let opens = taker.at(end).decrypt(&ticket).is_some();
            let same = giver.generation(begin) == taker.generation(end);
            let apart = taker.skew - giver.skew;
            let told = format!("{number}: {age} s, clocks {apart} s, the same seed: {same}");
            assert!(same || !opens, "{told}");
            let distance = age.cast_signed() + apart;
            let must = same && (0..=EPOCH.cast_signed()).contains(&distance);
            let must_not = distance >= 2 * EPOCH.cast_signed();
            assert!(opens || !must, "{told}");
            assert!(!opens || !must_not, "{told}");
            if !std::ptr::eq(giver, taker) {
                by_others[usize::from(!opens)] += 1;
            }
        }
    }
    assert!(by_others[0] > 0);
    // After the rollout, all have the same keys again.
    let later = BEGIN + ROLLOUT + draw(&mut random, EPOCH);
    let ticket = fleet[0].at(later).encrypt(b"session").unwrap();
    let is_close = |replica: &&Replica| (replica.skew - fleet[0].skew).unsigned_abs() < EPOCH;
    for replica in fleet.iter().filter(is_close) {
        assert!(replica.at(later).decrypt(&ticket).is_some(), "{number}");
    }
    by_others
}

#[test]
fn a_thousand_replicas_open_each_others_tickets_while_clocks_differ_and_the_seed_is_replaced() {
    let seeds = std::env::var("ROUNDTRIP_SEEDS");
    let seeds = seeds.map_or(4, |text| text.parse().unwrap());
    let mut sum = [0, 0];
    for [opened, refused] in (0..seeds).map(play) {
        sum = [sum[0] + opened, sum[1] + refused];
    }
    let [opened, refused] = sum;
    println!("{seeds} seeds: other replicas opened {opened} tickets, and refused {refused}");
}
