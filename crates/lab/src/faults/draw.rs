//! Drawing a case: one fault, two that go together, or none; on which path, asked how.

use std::time::Duration;

use roundtrip_model::{Memory, Random, Security, Strategy};
use roundtrip_origin::Knobs;

use super::FaultsError;
use super::entry::{self, Entry};
use crate::experiment::span;

/// Round trips in ms: within a building, within a country, across the world.
const PATHS: [f64; 3] = [0.5, 20.0, 150.0];
const SIZES: [usize; 4] = [0, 10, 1_000, 9_000];
const HEALTHY_STRATEGIES: [&str; 9] = [
    "h1+clear",
    "h1+tls1.3",
    "h2+tls1.3",
    "h3",
    "h1+tls1.3+resume",
    "h1+tls1.2+resume",
    "h2+tls1.3+0rtt",
    "h1+clear+tfo",
    "h2+tls1.3+reuse",
];
/// How many of a hundred cases are healthy, and how many have two faults.
const HEALTHY_PERCENT: usize = 20;
const PAIR_PERCENT: usize = 25;
pub(super) const HEALTHY: &str = "none";

/// An exchange to be had, and what must be found in it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) rtt_ms: f64,
    pub(super) strategy: Strategy,
    pub(super) words: Vec<String>,
    pub(super) knobs: Knobs,
    pub(super) place: String,
    pub(super) hello_delay: Duration,
    pub(super) cold: bool,
    pub(super) runs: u32,
    pub(super) dead_first: bool,
    /// Cause and milliseconds, the most costly first.
    costs: Vec<(String, f64)>,
}

impl Case {
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

pub(super) fn case(
    entries: &[Entry],
    number: usize,
    random: &mut Random,
) -> Result<Case, FaultsError> {
    let rtt_ms = PATHS.get(number % PATHS.len()).copied().unwrap_or(20.0);
    let kind = random.below(100);
    let chosen: Vec<&Entry> = if kind < HEALTHY_PERCENT {
        Vec::new()
    } else if kind < HEALTHY_PERCENT + PAIR_PERCENT {
        pair(entries, random)
    } else {
        entries
            .get(random.below(entries.len()))
            .into_iter()
            .collect()
    };
    let strategy = strategy(&chosen, random)?;
    build(&chosen, strategy, rtt_ms, random)
}

/// Two that can be put into one exchange; one, when chance finds no two.
fn pair<'a>(entries: &'a [Entry], random: &mut Random) -> Vec<&'a Entry> {
    let first = entries.get(random.below(entries.len()));
    let others: Vec<&Entry> = entries
        .iter()
        .filter(|other| first.is_some_and(|first| go_together(first, other)))
        .collect();
    let second = others.get(random.below(others.len())).copied();
    first.into_iter().chain(second).collect()
}

/// Whether neither spoils the other: some way to ask suits both, and they turn different screws.
fn go_together(a: &Entry, b: &Entry) -> bool {
    let screws = |entry: &Entry| {
        let names = |said: &[String]| -> Vec<String> {
            let name = |text: &String| text.split('=').next().unwrap_or_default().to_owned();
            said.iter().map(name).collect()
        };
        let mut all = names(&entry.knobs);
        all.extend(names(&entry.path));
        all.extend(entry.place.as_ref().map(|_| "place".to_owned()));
        all.extend(entry.hello_delay.as_ref().map(|_| "hello".to_owned()));
        all.extend(entry.cold.then(|| "cold".to_owned()));
        all.extend(entry.runs.map(|_| "runs".to_owned()));
        all.extend(entry.dead_first.then(|| "dead".to_owned()));
        all
    };
    let (ours, theirs) = (screws(a), screws(b));
    // One family's causes exclude each other: there is one cookie, one chain.
    let family = |entry: &Entry| entry.cause.split('-').take(2).collect::<String>();
    family(a) != family(b)
        && a.strategies.iter().any(|word| b.strategies.contains(word))
        && !ours.is_empty()
        && !ours.iter().any(|screw| theirs.contains(screw))
}

fn strategy(chosen: &[&Entry], random: &mut Random) -> Result<Strategy, FaultsError> {
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
        .map_err(|_| FaultsError::Entry(format!("'{word}' is no strategy")))
}

fn build(
    chosen: &[&Entry],
    strategy: Strategy,
    rtt_ms: f64,
    random: &mut Random,
) -> Result<Case, FaultsError> {
    let size = SIZES.get(random.below(SIZES.len())).copied().unwrap_or(10);
    let (mut knobs, mut words) = (Vec::new(), Vec::new());
    let mut place = format!("/bytes/{size}");
    let (mut hello, mut costs) = (Duration::ZERO, Vec::new());
    for entry in chosen {
        let amount = entry.amount.map_or(0, |[least, most]| {
            least + random.below((most.saturating_sub(least) + 1) as usize) as u64
        });
        let fill = |text: &String| text.replace("@amount@", &amount.to_string());
        knobs.extend(entry.knobs.iter().map(fill));
        words.extend(entry.path.iter().map(fill));
        if let Some(said) = &entry.place {
            place = fill(said);
        }
        if let Some(said) = &entry.hello_delay {
            hello = span(&fill(said))
                .ok_or_else(|| FaultsError::Entry(format!("'{said}' is no time")))?;
        }
        costs.push((entry.cause.clone(), entry.cost()?.ms(amount, rtt_ms)));
    }
    costs.sort_by(|a: &(String, f64), b| b.1.total_cmp(&a.1));
    // Early data that is accepted is what a healthy exchange with it has.
    if strategy.memory == Memory::EarlyData
        && !knobs.iter().any(|knob| knob.starts_with("early-data"))
    {
        knobs.push("early-data=on".into());
    }
    debug_assert!(strategy.security != Security::Clear || hello.is_zero());
    Ok(Case {
        rtt_ms,
        strategy,
        words,
        knobs: entry::knobs(&knobs)?,
        place,
        hello_delay: hello,
        cold: chosen.iter().any(|entry| entry.cold),
        runs: chosen
            .iter()
            .filter_map(|entry| entry.runs)
            .max()
            .unwrap_or(1),
        dead_first: chosen.iter().any(|entry| entry.dead_first),
        costs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seed: u64) -> Vec<String> {
        let entries = entry::all().unwrap();
        let mut random = Random::seeded(seed);
        let draw = |number| case(&entries, number, &mut random).unwrap().name();
        (0..300).map(draw).collect()
    }

    #[test]
    fn every_cause_is_drawn_some_are_pairs_and_some_are_healthy() {
        let all = names(1);
        for entry in entry::all().unwrap() {
            let drawn = all
                .iter()
                .filter(|name| name.contains(&entry.cause))
                .count();
            assert!(drawn > 0, "{}", entry.cause);
        }
        let pairs = all.iter().filter(|name| name.contains(" + ")).count();
        let healthy = all.iter().filter(|name| *name == HEALTHY).count();
        assert!(
            (30..90).contains(&pairs) && (30..90).contains(&healthy),
            "{pairs} {healthy}"
        );
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(names(3), names(3));
        assert_ne!(names(3), names(4));
    }
}
