//! Draws a case: one fault, two that can be combined, or none; a path, and a way to ask.

use std::time::Duration;

use roundtrip_model::{Http, Memory, Random, Security, Strategy};
use roundtrip_origin::Knobs;

use super::entry::{self, FaultEntry, FirstAddress};
use super::{FaultsError, foreign, healthy, names, peer};
use crate::experiment::span;

/// Round-trip times in ms: within a building, within a country, across the world.
const ROUND_TRIPS_MS: [f64; 3] = [0.5, 20.0, 150.0];
/// On paths with a round trip of at most this many milliseconds, some causes cost too little to be
/// named.
const SHORT_PATH: f64 = 1.0;
/// Body sizes in bytes; all fit a server's initial window.
const SIZES: [usize; 6] = [0, 10, 1_000, 5_000, 9_000, 12_000];
const UPLOADS: [usize; 4] = [0, 0, 500, 8_000];
const HEALTHY_STRATEGIES: [&str; 20] = [
    "auto",
    "h1+clear",
    "h2+clear",
    "h1+tls1.3",
    "h1+tls1.3-pq",
    "h2+tls1.3",
    "h3",
    "h1+tls1.2+resume",
    "h1+tls1.3+resume",
    "h2+tls1.3+resume",
    "h3+resume",
    "h1+tls1.3+0rtt",
    "h2+tls1.3+0rtt",
    "h3+0rtt",
    "h1+clear+tfo",
    "h1+tls1.3+tfo-pq",
    "h1+clear+reuse",
    "h1+tls1.2+reuse",
    "h2+tls1.3+reuse",
    "h3+reuse",
];
/// The percentage of healthy cases, and of cases with two faults.
const HEALTHY_PERCENT: usize = 20;
const PAIR_PERCENT: usize = 25;
pub(super) const HEALTHY: &str = "none";
const ONLY_HEALTHY: &str = "healthy";

/// An exchange, and the findings that it must have.
#[derive(Debug)]
pub(super) struct FaultCase {
    pub(super) rtt_ms: f64,
    pub(super) strategy: Strategy,
    pub(super) words: Vec<String>,
    pub(super) knobs: Knobs,
    pub(super) setting: ExchangeSetting,
    /// Settings of the kernel at either end.
    pub(super) client_sysctls: Vec<String>,
    pub(super) server_sysctls: Vec<String>,
    /// Findings that a healthy exchange may have, because the path has that property.
    pub(super) allowed: Vec<&'static str>,
    /// The injected causes with their milliseconds, the most costly first.
    costs: Vec<(String, f64)>,
    /// The milliseconds by which the kernel's timers may change the costs.
    pub(super) slack: f64,
}

/// The exchange's settings, and the server's.
#[derive(Debug)]
pub(super) struct ExchangeSetting {
    pub(super) place: String,
    pub(super) hello_delay: Duration,
    pub(super) cold: bool,
    pub(super) runs: u32,
    pub(super) pause: Duration,
    /// Whether the first of several hops is judged, instead of the last.
    pub(super) first_hop: bool,
    pub(super) first: Option<FirstAddress>,
    pub(super) method: Option<String>,
    pub(super) expect: bool,
    /// Sizes of a cookie and of a body, in bytes.
    pub(super) cookie: usize,
    pub(super) body: usize,
    pub(super) names: Option<names::NameServerFault>,
    pub(super) peer: Option<peer::PeerKind>,
    pub(super) late: Duration,
    /// How long the client's thread does not run when the answer is due.
    pub(super) stopped: Duration,
    /// How long the first write of the body takes.
    pub(super) output: Duration,
    /// The server, if it is not ours.
    pub(super) server: Option<foreign::ForeignKind>,
}

impl FaultCase {
    /// The round trip and the other properties of the path. A named network has its own round trip.
    pub(super) fn path(&self) -> String {
        let said = self.words.join(" ");
        if said.starts_with("preset=") {
            return said;
        }
        format!("{} ms {said}", self.rtt_ms).trim_end().into()
    }

    pub(super) fn costs(&self) -> &[(String, f64)] {
        &self.costs
    }

    pub(super) fn name(&self) -> String {
        if self.costs.is_empty() {
            return HEALTHY.into();
        }
        let causes: Vec<&str> = self.costs.iter().map(|(cause, _)| cause.as_str()).collect();
        causes.join(" + ")
    }
}

/// The set that cases are drawn from.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    entries: Vec<&'a FaultEntry>,
    healthy_percent: usize,
    pair_percent: usize,
}

impl<'a> Choice<'a> {
    /// Draws from all entries and from healthy exchanges, or only from the named ones: causes, and
    /// `healthy`.
    pub(super) fn new(only: &[String], entries: &'a [FaultEntry]) -> Result<Self, FaultsError> {
        let is_known = |word: &&String| {
            *word == ONLY_HEALTHY || entries.iter().any(|entry| entry.cause == **word)
        };
        if let Some(unknown) = only.iter().find(|word| !is_known(word)) {
            let mut causes: Vec<&str> = entries.iter().map(|entry| entry.cause.as_str()).collect();
            causes.sort_unstable();
            causes.dedup();
            return Err(FaultsError::Unknown(unknown.clone(), causes.join(", ")));
        }
        let is_chosen = |entry: &&FaultEntry| only.is_empty() || only.contains(&entry.cause);
        let is_possible = |entry: &&FaultEntry| entry.is_possible();
        let chosen = entries.iter().filter(is_chosen).filter(is_possible);
        let chosen: Vec<&FaultEntry> = chosen.collect();
        let healthy_percent = match only.iter().any(|word| word == ONLY_HEALTHY) {
            _ if chosen.is_empty() => 100,
            false if !only.is_empty() => 0,
            _ => HEALTHY_PERCENT,
        };
        Ok(Self {
            entries: chosen,
            healthy_percent,
            pair_percent: if only.is_empty() { PAIR_PERCENT } else { 0 },
        })
    }

    /// Whether no chosen entry can be drawn on a short path.
    fn needs_far(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry.far)
    }
}

pub(super) fn case(
    choice: &Choice<'_>,
    number: usize,
    random: &mut Random,
) -> Result<FaultCase, FaultsError> {
    let rtt_ms = ROUND_TRIPS_MS
        .get(number % ROUND_TRIPS_MS.len())
        .copied()
        .unwrap_or(20.0);
    let rtt_ms = if choice.needs_far() && rtt_ms <= SHORT_PATH {
        20.0
    } else {
        rtt_ms
    };
    let fits = |entry: &&FaultEntry| !entry.far || rtt_ms > SHORT_PATH;
    let entries: Vec<&FaultEntry> = choice.entries.iter().copied().filter(fits).collect();
    let kind = random.below(100);
    let chosen: Vec<&FaultEntry> = if kind < choice.healthy_percent {
        Vec::new()
    } else if kind < choice.healthy_percent + choice.pair_percent {
        pair(&entries, random)
    } else {
        let one = entries.get(random.below(entries.len()));
        one.copied().into_iter().collect()
    };
    let strategy = strategy(&chosen, random)?;
    build(&chosen, strategy, rtt_ms, random)
}

/// Two faults that can be combined; one if no pair is found by chance.
fn pair<'a>(entries: &[&'a FaultEntry], random: &mut Random) -> Vec<&'a FaultEntry> {
    let first = entries.get(random.below(entries.len())).copied();
    let others: Vec<&FaultEntry> = entries
        .iter()
        .copied()
        .filter(|other| first.is_some_and(|first| go_together(first, other)))
        .collect();
    let second = others.get(random.below(others.len())).copied();
    first.into_iter().chain(second).collect()
}

/// Whether two faults can be combined: at least one strategy suits both, and they change different
/// settings.
fn go_together(a: &FaultEntry, b: &FaultEntry) -> bool {
    let (ours, theirs) = (a.settings(), b.settings());
    // Causes of the same family exclude each other: there is one cookie, one chain.
    let family = |entry: &FaultEntry| entry.cause.split('-').take(2).collect::<String>();
    let excludes = |a: &FaultEntry, b: &FaultEntry| a.alone || a.not_with.contains(&b.cause);
    family(a) != family(b)
        && !excludes(a, b)
        && !excludes(b, a)
        && a.strategies.iter().any(|word| b.strategies.contains(word))
        && !ours.is_empty()
        && !ours.iter().any(|screw| theirs.contains(screw))
}

fn strategy(chosen: &[&FaultEntry], random: &mut Random) -> Result<Strategy, FaultsError> {
    let suits = |word: &&String| chosen.iter().all(|entry| entry.strategies.contains(word));
    let words: Vec<&str> = match chosen.first() {
        Some(first) => first
            .strategies
            .iter()
            .filter(suits)
            .map(String::as_str)
            .collect(),
        None => HEALTHY_STRATEGIES.to_vec(),
    };
    let word = words
        .get(random.below(words.len()))
        .copied()
        .unwrap_or("h1+tls1.3");
    word.parse()
        .map_err(|_| FaultsError::Entry(format!("'{word}' is not a strategy")))
}

fn build(
    chosen: &[&FaultEntry],
    strategy: Strategy,
    rtt_ms: f64,
    random: &mut Random,
) -> Result<FaultCase, FaultsError> {
    let mut setting = ExchangeSetting::plain(chosen.is_empty(), random);
    setting.fit_first_window(strategy);
    let (mut knobs, mut words) = (Vec::new(), Vec::new());
    let (mut client_sysctls, mut server_sysctls) = (Vec::new(), Vec::new());
    let mut costs = Vec::new();
    let slack = chosen.iter().map(|entry| entry.slack).fold(0.0, f64::max);
    for entry in chosen {
        let amount = entry.amount.map_or(0, |[least, most]| {
            least + random.below((most.saturating_sub(least) + 1) as usize) as u64
        });
        let fill = |text: &String| text.replace("@amount@", &amount.to_string());
        knobs.extend(entry.knobs.iter().map(fill));
        words.extend(entry.path.iter().map(fill));
        client_sysctls.extend(entry.client_sysctl.iter().map(fill));
        server_sysctls.extend(entry.server_sysctl.iter().map(fill));
        setting.change(entry, fill)?;
        let all = entry.costs()?.into_iter();
        costs.extend(all.map(|(cause, cost)| (cause, cost.ms(amount, rtt_ms))));
    }
    costs.sort_by(|a: &(String, f64), b| b.1.total_cmp(&a.1));
    // A healthy exchange with early data also has accepted early data.
    if strategy.memory == Memory::EarlyData
        && !knobs.iter().any(|knob| knob.starts_with("early-data"))
    {
        knobs.push("early-data=on".into());
    }
    // Requests that must not be repeated must not be early data.
    if strategy.memory == Memory::EarlyData {
        setting.body = 0;
    }
    let mut allowed = Vec::new();
    if chosen.is_empty() {
        setting.keep_small(strategy);
        server_sysctls.push(healthy::congestion_control(random));
        (words, allowed) = healthy::path(random);
        // The slowest network needs longer for it than a client waits.
        let large = healthy::body(random).filter(|_| !words.iter().any(|w| w.contains("dial-up")));
        if let Some((place, also)) = large {
            setting.place = place;
            allowed.extend(also);
        }
        setting.server = healthy::server(strategy, random);
        if setting.server.is_some() {
            setting.body = 0;
            // Tickets fill some of the first window, and a record holds the whole body.
            if matches!(setting.place.as_str(), "/bytes/9000" | "/bytes/12000") {
                setting.place = "/bytes/5000".into();
            }
        }
        let pause = healthy::pause(random);
        if strategy.reuse && !pause.is_zero() {
            (setting.runs, setting.pause) = (2, pause);
        }
    }
    debug_assert!(strategy.security != Security::Clear || setting.hello_delay.is_zero());
    Ok(FaultCase {
        rtt_ms,
        strategy,
        words,
        knobs: entry::knobs(&knobs)?,
        setting,
        client_sysctls,
        server_sysctls,
        allowed,
        costs,
        slack,
    })
}

impl ExchangeSetting {
    /// Requests a body of random size; a healthy exchange may send one as well.
    fn plain(is_healthy: bool, random: &mut Random) -> Self {
        let draw = |sizes: &[usize], random: &mut Random| {
            sizes.get(random.below(sizes.len())).copied().unwrap_or(0)
        };
        let size = draw(&SIZES, random);
        let upload = draw(&UPLOADS, random);
        Self {
            place: format!("/bytes/{size}"),
            hello_delay: Duration::ZERO,
            cold: false,
            runs: 1,
            pause: Duration::ZERO,
            first_hop: false,
            first: None,
            method: None,
            expect: false,
            cookie: 0,
            body: if is_healthy { upload } else { 0 },
            names: None,
            peer: None,
            late: Duration::ZERO,
            stopped: Duration::ZERO,
            output: Duration::ZERO,
            server: None,
        }
    }

    /// Limits the request's size, because with fast open an exchange is not healthy if its request
    /// does not fit into the SYN.
    fn keep_small(&mut self, strategy: Strategy) {
        if strategy.fast_open {
            self.body = self.body.min(500);
        }
    }

    /// Keeps the body small: an initial window has ten segments or datagrams (RFC 6928 §2, RFC 9002
    /// §7.2), of which HTTP/2 needs some before its answer, and QUIC some for an unfinished
    /// handshake.
    fn fit_first_window(&mut self, strategy: Strategy) {
        let large = matches!(self.place.as_str(), "/bytes/9000" | "/bytes/12000");
        if large && strategy.http != Http::H1 {
            self.place = "/bytes/5000".into();
        }
    }

    fn change(
        &mut self,
        entry: &FaultEntry,
        fill: impl Fn(&String) -> String,
    ) -> Result<(), FaultsError> {
        let time = |said: &Option<String>, or: Duration| {
            let said = said.as_ref().map(&fill);
            said.map_or(Ok(or), |said| {
                span(&said)
                    .ok_or_else(|| FaultsError::Entry(format!("'{said}' is not a valid duration")))
            })
        };
        let number = |said: &Option<String>, or: usize| {
            let said = said.as_ref().map(&fill);
            said.map_or(Ok(or), |said| {
                said.parse()
                    .map_err(|_| FaultsError::Entry(format!("'{said}' is not a number of bytes")))
            })
        };
        self.hello_delay = time(&entry.hello_delay, self.hello_delay)?;
        self.pause = time(&entry.pause, self.pause)?;
        self.late = time(&entry.late, self.late)?;
        self.stopped = time(&entry.stopped, self.stopped)?;
        self.output = time(&entry.output, self.output)?;
        self.cookie = number(&entry.cookie, self.cookie)?;
        self.body = number(&entry.body, self.body)?;
        self.cold |= entry.cold;
        self.first_hop |= entry.first_hop;
        self.expect |= entry.expect;
        self.runs = self.runs.max(entry.runs.unwrap_or(1));
        self.first = entry.first.or(self.first);
        self.names = entry.names.or(self.names);
        self.peer = entry.peer.or(self.peer);
        self.server = entry.server.or(self.server);
        if let Some(said) = &entry.place {
            self.place = fill(said);
        }
        if let Some(said) = &entry.method {
            self.method = Some(said.clone());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seed: u64) -> Vec<String> {
        let entries = entry::all().unwrap();
        let choice = Choice::new(&[], &entries).unwrap();
        let mut random = Random::seeded(seed);
        let draw = |number| case(&choice, number, &mut random).unwrap().name();
        (0..600).map(draw).collect()
    }

    #[test]
    fn every_cause_is_drawn_some_are_pairs_and_some_are_healthy() {
        // One seed can leave out one of a hundred causes.
        let many: Vec<String> = (1..4).flat_map(names).collect();
        for entry in entry::all().unwrap() {
            if !entry.is_possible() {
                continue;
            }
            let drawn = many
                .iter()
                .filter(|name| name.contains(&entry.cause))
                .count();
            assert!(drawn > 0, "{}", entry.cause);
        }
        let all = names(1);
        let pairs = all.iter().filter(|name| name.contains(" + ")).count();
        let healthy = all.iter().filter(|name| *name == HEALTHY).count();
        assert!(
            (60..180).contains(&pairs) && (60..180).contains(&healthy),
            "{pairs} {healthy}"
        );
    }

    #[test]
    fn only_what_is_chosen_is_drawn() {
        let entries = entry::all().unwrap();
        let drawn = |only: &[&str]| -> Vec<String> {
            let only: Vec<String> = only.iter().map(|&word| word.into()).collect();
            let choice = Choice::new(&only, &entries).unwrap();
            let mut random = Random::seeded(1);
            let mut draw = |number| case(&choice, number, &mut random).unwrap().name();
            (0..100).map(&mut draw).collect()
        };
        assert!(drawn(&["healthy"]).iter().all(|name| name == HEALTHY));
        assert!(drawn(&["syn-lost"]).iter().all(|name| name == "syn-lost"));
        // It is not drawn on the shortest path, where it costs nothing.
        let far = drawn(&["receive-window"]);
        assert!(far.iter().all(|name| name == "receive-window"), "{far:?}");
        let both = drawn(&["healthy", "redirect"]);
        assert!(both.iter().any(|name| name == HEALTHY) && both.iter().any(|n| n == "redirect"));
        let unknown = Choice::new(&["rain".into()], &entries).unwrap_err();
        assert!(unknown.to_string().contains("'rain'"), "{unknown}");
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(names(3), names(3));
        assert_ne!(names(3), names(4));
    }
}
