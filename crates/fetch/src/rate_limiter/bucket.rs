//! The token bucket of one origin, as a value: when the next query may be sent, and how complaints
//! change that.
//!
//! Tokens are added at a rate, up to a burst. A complaint halves the rate and pauses the origin;
//! every answer without a complaint adds a hundredth of the allowed rate. Two complaints within a
//! minute show what the server allows: near that rate, answers add much less, so that the server is
//! asked almost as often as it allows, without provoking complaints. The caller passes the time. No
//! value of it makes the bucket too generous: a state from the future was written by a wrong clock.

use std::time::Duration;

use crate::memory::Stamp;
use crate::memory::limits::NUMBERS;

/// The billionths in one token: in this unit, even a rate of one a day, or a fraction of that, is
/// an integer.
const TOKEN: u64 = 1_000_000_000;
/// The longest pause, even if a server asks for more.
pub const MAX_PAUSE: Duration = Duration::from_hours(24);
/// The first pause without `Retry-After`; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_DOUBLINGS: u32 = 6;
/// A state further in the future than this was written by a wrong clock.
const SKEW: Duration = Duration::from_secs(10);
/// The full rate, the smallest part of it that always remains, and the part that an answer
/// restores; in millionths.
const WHOLE: u64 = 1_000_000;
const MIN_PART: u64 = WHOLE / 64;
const STEP: u64 = WHOLE / 100;
/// Near the rate at which the server complained before, an answer restores this part of it.
const SMALL_STEPS: u64 = 16_384;
/// The time within which a second complaint counts as one about the rate.
const REPEATED_WITHIN: Duration = Duration::from_mins(1);
const HOUR: u64 = 60 * 60 * 1000;
/// The number of hours that are counted separately: at least a day and the current hour.
const HOURS: u64 = 28;
const A_DAY: u64 = 25;

/// The rate and burst that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The rate in billionths of a token per second.
    rate: u64,
    /// The burst in tokens.
    burst: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// The level in billionths of a token at the time `at`.
    level: u64,
    at: Stamp,
    /// The part of the limit's rate that the server accepts, in millionths; a part, because limits
    /// differ between processes.
    part: u64,
    /// The part at which the server complained repeatedly; 0 if it did not.
    wall: u64,
    paused_until: Stamp,
    /// The number of complaints in a row.
    complaints: u32,
    /// The time when the rate was last halved. Complaints about queries sent before then do not
    /// halve it again.
    halved_at: Stamp,
    /// The number of personal data sets that were requested in each hour.
    personal: [u16; HOURS as usize],
    /// The last hour that is counted, in hours since 1970.
    hour: u64,
}

/// Whether a query may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The query may be sent now, and its token has been taken.
    Now,
    /// When the next token is available.
    At(Stamp),
    /// When the pause after a complaint ends.
    Paused(Stamp),
    /// The allowed number of personal data sets has been asked for.
    Spent { quota: u16, until: Stamp },
}

impl Limit {
    /// Makes a limit of `count` in `span`. The burst is the tokens of two seconds, but at least
    /// one.
    pub fn new(count: f64, span: Duration) -> Self {
        let a_second = count / span.as_secs_f64().max(0.001);
        Self {
            rate: ((a_second * TOKEN as f64) as u64).clamp(1, 1_000_000 * TOKEN),
            burst: ((2.0 * a_second) as u64).clamp(1, 1_000_000),
        }
    }

    pub fn a_second(&self) -> f64 {
        self.rate as f64 / TOKEN as f64
    }

    pub fn burst(&self) -> u64 {
        self.burst
    }
}

impl Bucket {
    /// The state of an origin that has not been asked for a long time.
    pub fn full(limit: Option<&Limit>, now: Stamp) -> Self {
        let mut bucket = Self::empty(now);
        bucket.level = limit.map_or(0, |limit| limit.burst * TOKEN);
        bucket
    }

    /// The state of an origin whose history is unknown.
    pub fn empty(now: Stamp) -> Self {
        Self {
            level: 0,
            at: now,
            part: WHOLE,
            wall: 0,
            paused_until: Stamp(0),
            complaints: 0,
            halved_at: Stamp(0),
            personal: [0; HOURS as usize],
            hour: now.0 / HOUR,
        }
    }

    /// Takes a token. If `quota` is given, also counts one personal data set towards it.
    pub fn take(&mut self, limit: Option<&Limit>, quota: Option<u16>, now: Stamp) -> Take {
        self.settle(limit, now);
        if self.paused_until > now {
            return Take::Paused(self.paused_until);
        }
        if let Some(quota) = quota.filter(|quota| self.personal_sets(now) >= u32::from(*quota)) {
            let until = self.oldest_is_over(now);
            return Take::Spent { quota, until };
        }
        if let Some(limit) = limit {
            let Some(left) = self.level.checked_sub(TOKEN) else {
                let missing = u128::from(TOKEN - self.level) * 1000;
                let wait = missing.div_ceil(self.rate(limit));
                let wait = u64::try_from(wait).unwrap_or(u64::MAX);
                return Take::At(Stamp(now.0.saturating_add(wait)));
            };
            self.level = left;
        }
        if quota.is_some() {
            let count = &mut self.personal[(self.hour % HOURS) as usize];
            *count = count.saturating_add(1);
        }
        Take::Now
    }

    /// Records an answer without a complaint.
    pub fn content(&mut self) {
        self.complaints = 0;
        let near = self.wall / 10 * 9..self.wall / 10 * 11;
        let step = if near.contains(&self.part) {
            (self.wall / SMALL_STEPS).max(1)
        } else {
            STEP
        };
        self.part = self.part.saturating_add(step).min(WHOLE);
        if self.part >= near.end || self.part == WHOLE {
            self.wall = 0;
        }
    }

    /// Whether [`Bucket::content`] would change nothing.
    pub fn is_content(&self) -> bool {
        self.complaints == 0 && self.part == WHOLE
    }

    /// Records a complaint about a query sent at `asked_at`, with the wait that the server named,
    /// if any. Returns the end of the pause. `jitter`, from 0 to 1, spreads clients that were
    /// refused together.
    pub fn complain(
        &mut self,
        limit: Option<&Limit>,
        now: Stamp,
        asked_at: Stamp,
        pause: Option<Duration>,
        jitter: f64,
    ) -> Stamp {
        self.settle(limit, now);
        // Queries sent before the rate was halved say nothing about the new rate.
        if asked_at > self.halved_at || self.halved_at == Stamp(0) {
            self.complaints = self.complaints.saturating_add(1);
            if self.halved_at != Stamp(0) && now.since(self.halved_at) < REPEATED_WITHIN {
                self.wall = self.part;
            }
            self.halved_at = now;
            self.part = (self.part / 2).max(MIN_PART);
        }
        self.level = self.level.min(TOKEN);
        let doublings = self.complaints.saturating_sub(1).min(MAX_DOUBLINGS);
        let own = FIRST_PAUSE * (1 << doublings);
        let pause = match pause {
            // A server that complains and says "now" cannot mean it.
            Some(pause) => pause.clamp(FIRST_PAUSE, MAX_PAUSE),
            None => own.mul_f64(0.5 + jitter.clamp(0.0, 1.0)),
        };
        self.paused_until = self.paused_until.max(now.plus(pause));
        self.paused_until
    }

    /// The values as files store them.
    pub fn numbers(&self) -> [u64; NUMBERS] {
        let mut numbers = [0; NUMBERS];
        let fields = [
            self.level,
            self.at.0,
            self.part,
            self.paused_until.0,
            u64::from(self.complaints),
            self.halved_at.0,
            self.hour,
        ];
        let packed = self.personal.chunks(4).map(|four| {
            let add = |sum: u64, count: &u16| sum << 16 | u64::from(*count);
            four.iter().fold(0, add)
        });
        let fields = fields.into_iter().chain(packed).chain([self.wall]);
        for (place, number) in numbers.iter_mut().zip(fields) {
            *place = number;
        }
        numbers
    }

    /// Reads the values of a file. Impossible values are changed to possible ones that never allow
    /// more than the limit.
    pub fn from_numbers(numbers: &[u64; NUMBERS], limit: Option<&Limit>, now: Stamp) -> Self {
        let [
            level,
            at,
            part,
            paused,
            complaints,
            halved,
            hour,
            packed @ ..,
        ] = numbers;
        let mut personal = [0; HOURS as usize];
        for (place, count) in personal.iter_mut().enumerate() {
            let four = packed.get(place / 4).copied().unwrap_or_default();
            *count = (four >> (48 - 16 * (place % 4))) as u16;
        }
        let mut bucket = Self {
            level: *level,
            at: Stamp(*at),
            part: *part,
            wall: packed.get(HOURS as usize / 4).copied().unwrap_or_default(),
            paused_until: Stamp(*paused),
            complaints: u32::try_from(*complaints).unwrap_or(u32::MAX),
            halved_at: Stamp(*halved),
            personal,
            hour: *hour,
        };
        bucket.settle(limit, now);
        bucket
    }

    /// Brings the state up to `now`, and back from an impossible future.
    fn settle(&mut self, limit: Option<&Limit>, now: Stamp) {
        // Small differences between clocks must not add tokens twice for the same time; a larger
        // one means that the clock was set.
        if self.at > now.plus(SKEW) {
            self.at = now;
        }
        self.halved_at = self.halved_at.min(now);
        self.paused_until = self.paused_until.min(now.plus(MAX_PAUSE));
        self.part = self.part.clamp(MIN_PART, WHOLE);
        self.wall = self.wall.min(WHOLE);
        if let Some(limit) = limit {
            // No tokens are added during a pause.
            let from = self.at.max(self.paused_until);
            let flow = now.since(from).as_millis() * self.rate(limit) / 1000;
            let flow = u64::try_from(flow).unwrap_or(u64::MAX);
            self.level = self.level.saturating_add(flow).min(limit.burst * TOKEN);
            // A fraction too small to count stays in `at` and counts later.
            if flow > 0 {
                self.at = self.at.max(now);
            }
        } else {
            self.at = self.at.max(now);
        }
        if self.hour != now.0 / HOUR {
            self.begin_hour(now.0 / HOUR);
        }
    }

    /// The current rate in billionths of a token per second; never 0.
    fn rate(&self, limit: &Limit) -> u128 {
        (u128::from(limit.rate) * u128::from(self.part) / u128::from(WHOLE)).max(1)
    }

    fn begin_hour(&mut self, now: u64) {
        let (before, last) = (self.personal, self.hour);
        // The hours since the last one. Counts from the future stay, with their age.
        let passed = now.saturating_sub(last);
        self.hour = now;
        self.personal = [0; HOURS as usize];
        for ago in 0..HOURS.saturating_sub(passed) {
            let (from, to) = (last.wrapping_sub(ago), now.wrapping_sub(ago + passed));
            self.personal[(to % HOURS) as usize] = before[(from % HOURS) as usize];
        }
    }

    /// The sum over the last 24 hours and the hour before them, because nothing shows which part of
    /// that hour counts.
    fn personal_sets(&self, now: Stamp) -> u32 {
        let hours = counted_hours(now);
        hours
            .map(|hour| u32::from(self.personal[(hour % HOURS) as usize]))
            .sum()
    }

    fn oldest_is_over(&self, now: Stamp) -> Stamp {
        let oldest = counted_hours(now).find(|hour| self.personal[(hour % HOURS) as usize] > 0);
        let over = oldest.unwrap_or(now.0 / HOUR) + A_DAY;
        Stamp(over.saturating_mul(HOUR))
    }
}

fn counted_hours(now: Stamp) -> impl Iterator<Item = u64> {
    let hour = now.0 / HOUR;
    (hour + 1).saturating_sub(A_DAY)..=hour
}

#[cfg(test)]
mod tests;
