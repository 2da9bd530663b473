//! One direction of the path between two hosts: how long it takes, how much it carries, what it
//! does to datagrams.

use std::time::Duration;

use roundtrip_quic::Time;

/// Random numbers that are the same in each run. xorshift64*, Marsaglia and Vigna.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }

    pub(crate) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.roll() as u8).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) delay: Duration,
    /// The longest additional delay of a datagram, so that datagrams overtake each other.
    pub(crate) jitter: Duration,
    /// How many of a thousand datagrams are held back and overtaken, and for how long.
    pub(crate) held: (u64, Duration),
    /// How long the next datagram is held back.
    pub(crate) hold_next: Option<Duration>,
    /// How many of a thousand datagrams are lost.
    pub(crate) loss: u64,
    pub(crate) duplicates: u64,
    pub(crate) corrupts: u64,
    /// Bytes a second.
    pub(crate) rate: Option<u64>,
    /// How many bytes may wait if there is a rate; further bytes are lost.
    pub(crate) queue: u64,
    /// When more bytes than this wait, datagrams that can be marked are marked. RFC 3168.
    pub(crate) marks_above: Option<u64>,
    /// The size of the UDP payload.
    pub(crate) largest: usize,
    pub(crate) is_down: bool,
    busy_until: Time,
    pub(crate) counts: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
    pub(crate) largest: usize,
}

impl Link {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            delay,
            jitter: Duration::ZERO,
            held: (0, Duration::ZERO),
            hold_next: None,
            loss: 0,
            duplicates: 0,
            corrupts: 0,
            rate: None,
            queue: 64_000,
            marks_above: None,
            largest: 1472,
            is_down: false,
            busy_until: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// When the datagram arrives: never, once or several times.
    pub(crate) fn carry(
        &mut self,
        now: Time,
        datagram: &mut [u8],
        ecn: &mut u8,
        dice: &mut Dice,
    ) -> Vec<Time> {
        let size = datagram.len();
        self.counts.datagrams += 1;
        self.counts.bytes += size as u64;
        if self.is_down || size > self.largest || dice.happens(self.loss) {
            self.counts.lost += 1;
            return Vec::new();
        }
        self.counts.largest = self.counts.largest.max(size);
        let mut leaves = now;
        if let Some(rate) = self.rate {
            let start = self.busy_until.max(now);
            let waiting = (u128::from(start.0 - now.0) * u128::from(rate) / 1_000_000_000) as u64;
            if waiting + size as u64 > self.queue {
                self.counts.lost += 1;
                return Vec::new();
            }
            if self.marks_above.is_some_and(|bound| waiting > bound) && matches!(*ecn, 1 | 2) {
                *ecn = 3;
                self.counts.marked += 1;
            }
            let takes = (size as u64 + 28) * 1_000_000_000 / rate;
            self.busy_until = Time(start.0 + takes);
            leaves = self.busy_until;
        }
        if dice.happens(self.corrupts) {
            let at = dice.below(size as u64) as usize;
            datagram[at] ^= 1 << dice.below(8);
        }
        if let Some(late) = self.hold_next.take() {
            leaves = leaves.after(late);
        }
        if dice.happens(self.held.0) {
            leaves = leaves.after(self.held.1);
        }
        let copies = 1 + usize::from(dice.happens(self.duplicates));
        (0..copies)
            .map(|_| {
                let jitter = Duration::from_nanos(dice.below(self.jitter.as_nanos() as u64 + 1));
                leaves.after(self.delay + jitter)
            })
            .collect()
    }
}
