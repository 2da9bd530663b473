//! Time without evidence for any cause: its places, the party that was waited for, and how to find
//! the cause.

use roundtrip_model::{Exchange, PhaseName, Unexplained, Waited};

use crate::numbers::{bytes, ms};
use crate::party::Party;

/// The smallest share of the unexplained time that gets its own entry.
const MIN_SHARE: f64 = 0.25;

/// The unexplained time, such as `30.2 ms`, and its places, the largest first; `None` if it is less
/// than the usual variation of paths and hosts.
pub(crate) fn told(exchange: &Exchange) -> Option<String> {
    let whole = exchange.unexplained_worth_reporting()?;
    let places: Vec<String> = largest_places(exchange).map(place).collect();
    Some(match places.as_slice() {
        [] => format!("{} ms", ms(whole)),
        places => format!("{} ms: {}", ms(whole), places.join("; ")),
    })
}

/// How to find the cause of the largest part.
pub(crate) fn advice(exchange: &Exchange) -> Option<&'static str> {
    exchange.unexplained_worth_reporting()?;
    largest_places(exchange).next().map(advice_for)
}

/// The places that have a large part of the unexplained time.
fn largest_places(exchange: &Exchange) -> impl Iterator<Item = &Unexplained> {
    let least = MIN_SHARE * exchange.unexplained;
    let places = exchange.unexplained_at.iter();
    places.filter(move |place| place.waited.sum() >= least)
}

/// `82.0 ms in the body, after 4000 bytes, waiting for the server`.
fn place(at: &Unexplained) -> String {
    let party = party(&at.waited);
    let after = at
        .after_bytes
        .filter(|_| party != Party::Client)
        .map_or(String::new(), |n| format!(", after {}", bytes(n)));
    let whom = whom(party);
    format!(
        "{} ms {}{after}, {whom}",
        ms(at.waited.sum()),
        within(at.phase)
    )
}

fn within(phase: PhaseName) -> String {
    match phase {
        PhaseName::Request => "while the request was sent".to_owned(),
        PhaseName::FirstByte => "before the first byte".to_owned(),
        phase => format!("in the {}", phase.title()),
    }
}

/// The place of the largest part in several exchanges.
pub(crate) fn most<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> Option<String> {
    let mut sums: Vec<(PhaseName, Waited)> = Vec::new();
    for at in exchanges.flat_map(|e| &e.unexplained_at) {
        match sums.iter_mut().find(|(phase, _)| *phase == at.phase) {
            Some((_, sum)) => *sum = sum.plus(at.waited),
            None => sums.push((at.phase, at.waited)),
        }
    }
    let most = |a: &&(PhaseName, Waited), b: &&(PhaseName, Waited)| a.1.sum().total_cmp(&b.1.sum());
    let (phase, waited) = sums.iter().max_by(most)?;
    Some(format!("{}, {}", within(*phase), whom(party(waited))))
}

fn whom(party: Party) -> String {
    match party {
        Party::Loss => "until a timeout".to_owned(),
        Party::Client => "in this program or its machine".to_owned(),
        Party::Unknown => "waiting for the server or the path".to_owned(),
        party => format!("waiting for the {}", party.name()),
    }
}

/// The party with the largest part of the wait.
fn party(waited: &Waited) -> Party {
    let most = |a: &Party, b: &Party| a.share(waited).total_cmp(&b.share(waited));
    Party::BY_WEIGHT
        .into_iter()
        .max_by(most)
        .unwrap_or(Party::Network)
}

pub(crate) fn advice_for(at: &Unexplained) -> &'static str {
    match (party(&at.waited), at.phase) {
        (Party::Client, _) => {
            "measure on a machine with a free processor; strace -f -r -p PID shows where a program waits"
        }
        (Party::Resolver, _) => {
            "query the name server directly (dig NAME), and measure again (-c 10)"
        }
        (Party::Server, PhaseName::Body) => {
            "examine how the server writes the body (pauses between writes, slow queries); compare with a static file of the same size"
        }
        (Party::Server | Party::Unknown, _) => {
            "measure again (-c 10): delays in the server recur each time; let it report its time in Server-Timing"
        }
        (Party::Network | Party::Loss, _) => {
            "measure again (-c 10), check the path (mtr -c 100 HOST), and record the packets (tcpdump -w FILE port 443)"
        }
    }
}
