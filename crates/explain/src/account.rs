//! Accounts for the time of an exchange: every cause states its cost, the ledger grants it, and a
//! granted cost that is large enough becomes a finding. The rest of the time is classified too:
//! irreducible, cost of the path, too small to name, and unexplained.

use roundtrip_model::{Exchange, Finding, PhaseName, Task, Unexplained, Waited, Withdrawn};

use crate::causes::least_lateness;
use crate::contradiction::contradiction;
use crate::ledger::{Granted, Ledger};
use crate::{Case, WaitPart, causes};

/// Smaller amounts, in milliseconds or as a share of the whole, are not named unless they are a
/// whole round trip.
const MIN_MS: f64 = 1.0;
const MIN_SHARE: f64 = 0.02;

/// The causes that leave open whether the server or the path was the reason.
pub(crate) const UNDECIDED: [&str; 2] = ["late-answer", "late-body"];
/// The phases in which an answer may be late although no cause claims the delay.
const OF_ANSWERS: [PhaseName; 3] = [PhaseName::Tls, PhaseName::Quic, PhaseName::FirstByte];

/// The parts of an exchange's time, in milliseconds. The parts sum to `whole`, and none is
/// negative.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    pub whole: f64,
    /// The causes that the exchange proves, the most costly first. No millisecond is claimed twice.
    pub findings: Vec<Finding>,
    /// The causes that other facts contradict.
    pub withdrawn: Vec<Withdrawn>,
    /// One round trip, the server's time and the name lookup, where no finding claims them.
    pub irreducible: f64,
    /// One round trip for connecting, and one for the handshake.
    pub way: f64,
    /// Bytes in transit: transmission time at the rate of the line.
    pub carried: f64,
    /// Time that has a reason but is too small to name, such as the client's own work.
    pub minor: f64,
    /// Time without evidence for any cause.
    pub unexplained: f64,
    /// The phases with unexplained time, the largest share first.
    pub unexplained_at: Vec<Unexplained>,
    /// The parts of the waits for the server that may also be due to the path, by phase.
    pub undecided: Vec<(PhaseName, f64)>,
}

/// The causes that an exchange proves, the most costly first.
pub fn findings(exchange: &Exchange) -> Vec<Finding> {
    account(exchange).findings
}

/// Asks every cause, and accounts for the whole time.
pub fn account(exchange: &Exchange) -> Account {
    let case = Case::new(exchange);
    let http = exchange.http.as_ref();
    let server = http.and_then(|http| http.header("server"));
    let server = String::from_utf8_lossy(server.unwrap_or_default());
    let mut ledger = Ledger::new(&case);
    let (mut findings, mut withdrawn, mut unnamed) = (Vec::new(), Vec::new(), 0.0);
    let mut undecided = Vec::new();
    for cause in causes::all() {
        let Some(mut cost) = (cause.signature)(&case) else {
            continue;
        };
        let ms: f64 = cost.claims.iter().map(|c| c.ms).sum();
        if let Some(why) = contradiction(&case, cause, &mut cost) {
            // Several causes may attribute the same time to the server.
            if ms >= MIN_MS && withdrawn.iter().all(|w: &Withdrawn| w.why != why) {
                let id = cause.id;
                withdrawn.push(Withdrawn { id, ms, why });
            }
            continue;
        }
        let server_s = |ledger: &Ledger, name| ledger.left(name, WaitPart::Server);
        let before = case
            .phase_names()
            .into_iter()
            .map(|n| (n, server_s(&ledger, n)));
        let before: Vec<(PhaseName, f64)> = before.collect();
        let granted = ledger.grant(&cost);
        if UNDECIDED.contains(&cause.id) {
            let claimed = before
                .into_iter()
                .map(|(n, ms)| (n, ms - server_s(&ledger, n)));
            undecided.extend(claimed.filter(|(_, ms)| *ms > 0.0));
        }
        if weighs(&case, granted) {
            findings.push(Finding {
                id: cause.id,
                ms: granted.ms,
                round_trips: granted.round_trips,
                evidence: cost.evidence,
                remedy: cause.remedy.to_owned(),
                settings: cause.settings_for(&server),
            });
        } else {
            unnamed += granted.ms;
        }
    }
    findings.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let rest = Remainder::new(&case, &ledger);
    undecided.extend(rest.undecided);
    let mut left = case.total - findings.iter().map(|f| f.ms).sum::<f64>();
    let mut take = |wanted: f64| {
        let taken = wanted.min(left).max(0.0);
        left -= taken;
        taken
    };
    Account {
        whole: case.total,
        irreducible: take(rest.irreducible),
        way: take(rest.way),
        carried: take(rest.carried),
        minor: take(rest.minor + unnamed),
        unexplained: left.max(0.0),
        unexplained_at: rest.without,
        undecided,
        findings,
        withdrawn,
    }
}

fn weighs(case: &Case<'_>, granted: Granted) -> bool {
    // Within phases, too, half a round trip is the limit between an answer and a coincidence.
    let whole_trips = case.is_measurable()
        && granted.round_trips > 0
        && case
            .rtt
            .is_some_and(|r| granted.ms >= 0.5 * r * f64::from(granted.round_trips));
    whole_trips || (granted.ms >= MIN_MS && granted.ms >= MIN_SHARE * case.total)
}

/// The time that no finding claimed, by reason.
#[derive(Default)]
struct Remainder {
    irreducible: f64,
    way: f64,
    carried: f64,
    minor: f64,
    without: Vec<Unexplained>,
    undecided: Vec<(PhaseName, f64)>,
}

impl Remainder {
    fn new(case: &Case<'_>, ledger: &Ledger) -> Self {
        let mut rest = Self::default();
        for name in case.phase_names() {
            rest.add(case, ledger, name);
        }
        rest.without
            .sort_by(|a, b| b.waited.sum().total_cmp(&a.waited.sum()));
        rest
    }

    fn add(&mut self, case: &Case<'_>, ledger: &Ledger, name: PhaseName) {
        let left = |part| ledger.left(name, part);
        let trip = left(WaitPart::Network).min(case.rtt.unwrap_or(f64::INFINITY));
        let client = left(WaitPart::Client).min(case.worked(name, &Task::ALL));
        let (mut network, mut server, mut resolver) = (0.0, 0.0, 0.0);
        match name {
            PhaseName::Name => resolver = left(WaitPart::Resolver),
            // The server's usual work needs no reason. A longer wait that no cause claims does need
            // one: the path may vary so much that nothing shows which party caused it.
            PhaseName::FirstByte => {
                network = trip;
                server = left(WaitPart::Server);
                if case.rtt.is_some() && server >= least_lateness(case) {
                    server = 0.0;
                }
            }
            PhaseName::Tcp | PhaseName::Tls | PhaseName::Quic => network = trip,
            // An echo makes its round trip in the body phase; other exchanges make it before.
            PhaseName::Body if case.exchange.echo.is_some() => {
                (network, server) = (left(WaitPart::Network), left(WaitPart::Server));
            }
            // Bytes need time in transit, but a stall that no cause claims is not transmission
            // time.
            PhaseName::Body => {
                let stalls = f64::from(ledger.trips_left(name)) * case.rtt.unwrap_or(0.0);
                network = (left(WaitPart::Network) - stalls).max(0.0);
                if case.is_event_stream() {
                    server = left(WaitPart::Server);
                }
            }
            PhaseName::Request => network = left(WaitPart::Network),
            PhaseName::Setup | PhaseName::Proxy => {}
        }
        match name {
            PhaseName::Tcp | PhaseName::Tls | PhaseName::Quic => self.way += network,
            PhaseName::Body if case.exchange.echo.is_none() => {
                self.carried += network;
                self.irreducible += server;
            }
            PhaseName::Request => self.carried += network,
            _ => self.irreducible += network + server + resolver,
        }
        self.minor += client;
        let late = left(WaitPart::Server) - server;
        let is_undecided = OF_ANSWERS.contains(&name) && late >= least_lateness(case);
        let unknown = if is_undecided { late } else { 0.0 };
        if is_undecided {
            self.undecided.push((name, late));
        }
        let waited = Waited {
            network: left(WaitPart::Network) - network,
            server: late - unknown,
            client: left(WaitPart::Client) - client,
            resolver: left(WaitPart::Resolver) - resolver,
            loss: left(WaitPart::Loss),
            unknown,
        };
        if waited.sum() >= MIN_MS {
            self.without.push(Unexplained {
                phase: name,
                waited,
                after_bytes: case.before_silence(name),
            });
        }
    }
}
