//! The difference of the totals, split without overlap: round trips, the path, the server, the
//! client, the resolver, losses. The remainder is a separate part, so that the parts always add up
//! to the whole.

use super::figures::{CONNECT, SideFigures, StageDiff};
use super::reasons::Reasons;
use super::words;

/// The reason for a part of the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContributionKind {
    /// The number of round trips. Each counts as long as the mean of both sides' round trips.
    RoundTrips,
    /// A round trip is longer or shorter, at the mean of both sides' count.
    Path,
    /// The network's time beyond whole round trips: bytes under way, queues, jitter.
    Transit,
    Server,
    Client,
    Resolver,
    Loss,
    /// Time that is due to the server or the path: nothing shows to which of them.
    Unknown,
    Unexplained,
}

impl ContributionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RoundTrips => "round_trips",
            Self::Path => "path",
            Self::Transit => "transit",
            Self::Server => "server",
            Self::Client => "client",
            Self::Resolver => "resolver",
            Self::Loss => "loss",
            Self::Unknown => "unknown",
            Self::Unexplained => "unexplained",
        }
    }

    /// Caused between the two hosts.
    pub fn is_network(self) -> bool {
        matches!(self, Self::RoundTrips | Self::Path | Self::Transit)
    }
}

/// A part of the difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Contribution {
    pub kind: ContributionKind,
    /// The phase, if the part belongs to one.
    pub stage: Option<String>,
    /// B − A: negative where B is faster.
    pub ms: f64,
    /// What was measured on each side: usually milliseconds; for [`ContributionKind::RoundTrips`]
    /// their number, and for [`ContributionKind::Path`] the length of one.
    pub sides: Option<(f64, f64)>,
    /// Continues the sentence "130 ms of it is …".
    pub what: String,
    /// The evidence for this part; may be empty.
    pub why: String,
}

/// The parts, the largest first and the unexplained one last. Parts of zero are left out.
pub(super) fn parts(
    stages: &[StageDiff],
    sides: (&SideFigures, &SideFigures),
    difference: f64,
    reasons: &Reasons<'_>,
) -> Vec<Contribution> {
    let mut parts = Vec::new();
    network(&mut parts, stages, sides, reasons);
    for stage in stages {
        client(&mut parts, stage);
        waits(&mut parts, stage, reasons);
    }
    parts.retain(|part| part.ms != 0.0);
    reasons.name_tasks(&mut parts);
    parts.sort_by(|a, b| b.ms.abs().total_cmp(&a.ms.abs()));
    let explained: f64 = parts.iter().map(|part| part.ms).sum();
    let rest = difference - explained;
    // Reports have three decimals: a smaller rest may be rounding.
    if rest.abs() > 1e-9 {
        parts.push(Contribution {
            kind: ContributionKind::Unexplained,
            stage: None,
            ms: rest,
            sides: None,
            what: "unexplained".into(),
            why: String::new(),
        });
    }
    parts
}

/// kB·RB − kA·RA is split evenly: the difference of the counts at the mean length, and the
/// difference of the lengths at the mean count. Unless both sides have a round trip, nothing can be
/// counted in them.
fn network(
    parts: &mut Vec<Contribution>,
    stages: &[StageDiff],
    sides: (&SideFigures, &SideFigures),
    reasons: &Reasons<'_>,
) {
    let (ra, rb) = match (sides.0.rtt_ms, sides.1.rtt_ms) {
        (Some(a), Some(b)) => (a, b),
        _ => (0.0, 0.0),
    };
    let (mut path, mut transit) = (0.0, (0.0, 0.0));
    for stage in stages {
        let (ka, kb) = stage.round_trips();
        path += f64::midpoint(ka, kb) * (rb - ra);
        parts.push(trips(stage, f64::midpoint(ra, rb), reasons));
        let beyond = (
            stage.a.waited.network - ka * ra,
            stage.b.waited.network - kb * rb,
        );
        if stage.name == "body" {
            let what = "bytes of the body under way";
            parts.push(of(
                ContributionKind::Transit,
                Some(stage),
                beyond,
                what.into(),
            ));
        } else {
            transit = (transit.0 + beyond.0, transit.1 + beyond.1);
        }
    }
    let what = if ra > 0.0 {
        "network time beyond whole round trips"
    } else {
        "network time, which a report without a round trip cannot split"
    };
    parts.push(of(ContributionKind::Transit, None, transit, what.into()));
    let longer = if rb > ra { "longer" } else { "shorter" };
    parts.push(Contribution {
        ms: path,
        what: format!(
            "a {longer} path (a round trip takes {} instead of {})",
            words::ms(rb),
            words::ms(ra)
        ),
        ..of(ContributionKind::Path, None, (ra, rb), String::new())
    });
}

fn trips(stage: &StageDiff, rtt: f64, reasons: &Reasons<'_>) -> Contribution {
    let (ka, kb) = stage.round_trips();
    let more = if kb > ka { "more" } else { "less" };
    let what = format!(
        "{} {more} in {}",
        words::trips((kb - ka).abs()),
        words::stage(&stage.name)
    );
    Contribution {
        ms: (kb - ka) * rtt,
        why: reasons.of_trips(stage),
        ..of(ContributionKind::RoundTrips, Some(stage), (ka, kb), what)
    }
}

/// The client's time; in a handshake, split into before and after it first sent something.
fn client(parts: &mut Vec<Contribution>, stage: &StageDiff) {
    let (a, b) = (stage.a.waited.client, stage.b.waited.client);
    let at = words::stage(&stage.name);
    let secure = matches!(stage.name.as_str(), "tls" | "quic");
    let before = match (stage.a.before, stage.b.before) {
        (Some(a), Some(b)) if secure => Some((a, b)),
        _ => None,
    };
    let Some((before_a, before_b)) = before else {
        let what = if stage.name == "setup" {
            format!("{at}, before anything was asked")
        } else {
            format!("client work in {at}")
        };
        parts.push(of(ContributionKind::Client, Some(stage), (a, b), what));
        return;
    };
    let hello = if stage.name == "tls" {
        "client work before the ClientHello"
    } else {
        "client work before the first datagram"
    };
    let silent = of(
        ContributionKind::Client,
        Some(stage),
        (before_a, before_b),
        hello.into(),
    );
    let rest = format!("client work in the rest of {at}");
    let rest = of(
        ContributionKind::Client,
        Some(stage),
        (a - before_a, b - before_b),
        rest,
    );
    parts.extend([silent, rest]);
}

fn waits(parts: &mut Vec<Contribution>, stage: &StageDiff, reasons: &Reasons<'_>) {
    let (a, b) = stage.waited();
    let at = match stage.name.as_str() {
        "first_byte" => "before the first byte".to_owned(),
        name @ CONNECT => format!("while {}", words::stage(name)),
        name => format!("in {}", words::stage(name)),
    };
    let server = of(
        ContributionKind::Server,
        Some(stage),
        (a.server, b.server),
        format!("server time {at}"),
    );
    let resolver = of(
        ContributionKind::Resolver,
        Some(stage),
        (a.resolver, b.resolver),
        "waiting for the name server".into(),
    );
    let loss = Contribution {
        why: reasons.of_loss(),
        ..of(
            ContributionKind::Loss,
            Some(stage),
            (a.loss, b.loss),
            format!("waiting for what got lost or did not answer, {at}"),
        )
    };
    let unknown = of(
        ContributionKind::Unknown,
        Some(stage),
        (a.unknown, b.unknown),
        format!("the server or the path {at} (nothing shows which)"),
    );
    parts.extend([server, resolver, loss, unknown]);
}

fn of(
    kind: ContributionKind,
    stage: Option<&StageDiff>,
    sides: (f64, f64),
    what: String,
) -> Contribution {
    Contribution {
        kind,
        stage: stage.map(|stage| stage.name.clone()),
        ms: sides.1 - sides.0,
        sides: Some(sides),
        what,
        why: String::new(),
    }
}
