//! Numbers and names as both the text and the page show them.

use roundtrip_model::Summary;
use roundtrip_report::{clean, ms};

use crate::{Contribution, ContributionKind, Priced, ProbeDiff};

/// A part with a smaller share of the difference gets no separate line, unless all parts are
/// requested.
const MIN_SHARE: f64 = 0.01;

/// Splits the parts into those with a separate line, and the smaller ones, which share one line.
pub(crate) fn by_size(diff: &ProbeDiff, all: bool) -> (Vec<&Contribution>, Vec<&Contribution>) {
    let least = MIN_SHARE * diff.difference.ms.abs();
    let always = |kind| {
        matches!(
            kind,
            ContributionKind::RoundTrips | ContributionKind::Unexplained
        )
    };
    diff.parts
        .iter()
        .partition(|part| all || part.ms.abs() >= least || always(part.kind))
}

/// How many decimals the numbers of one comparison have, so that they line up.
#[derive(Clone, Copy)]
pub(crate) struct Decimals(usize);

impl Decimals {
    pub(crate) fn from_diff(diff: &ProbeDiff) -> Self {
        let (a, b) = (&diff.figures.0.total, &diff.figures.1.total);
        Self(match a.median.max(b.median) {
            whole if whole < 20.0 => 3,
            whole if whole < 1000.0 => 2,
            _ => 1,
        })
    }

    pub(crate) fn plain(self, value: f64) -> String {
        format!("{value:.*}", self.0)
    }

    /// A number as text; empty for a phase that a side does not have.
    pub(crate) fn maybe(self, value: Option<f64>) -> String {
        value.map_or("none".into(), |value| self.plain(value))
    }

    pub(crate) fn signed(self, by: f64) -> String {
        let shown = self.plain(by.abs());
        if !shown.contains(|c: char| ('1'..='9').contains(&c)) {
            return shown;
        }
        format!("{}{shown}", if by < 0.0 { '-' } else { '+' })
    }
}

/// A count; a mean or a median need not be whole.
pub(crate) fn number(count: f64) -> String {
    let shown = format!("{count:.1}");
    shown
        .strip_suffix(".0")
        .map_or_else(|| shown.clone(), str::to_owned)
}

pub(crate) fn trips(count: f64) -> String {
    let count = number(count);
    let unit = if count == "1" {
        "round trip"
    } else {
        "round trips"
    };
    format!("{count} {unit}")
}

/// Describes the number of results, and their spread.
pub(crate) fn spread(total: &Summary) -> String {
    match total.n {
        1 => "one result".into(),
        n => format!("median of {n}, {} to {} ms", ms(total.min), ms(total.max)),
    }
}

/// A phase's title, as waterfalls have it.
pub(crate) fn title(name: &str) -> String {
    let known = match name {
        "setup" => "client set-up",
        "name" => "name lookup",
        "tcp" => "TCP connect",
        "proxy" => "proxy tunnel",
        "tls" => "TLS handshake",
        "quic" => "QUIC handshake",
        "request" => "request sent",
        "first_byte" => "first byte",
        "body" => "body",
        "connect" => "connecting",
        other => return clean(other),
    };
    known.to_owned()
}

/// The cost of a finding on one side. If it did not occur in all runs, the text also says in how
/// many.
pub(crate) fn price(side: Option<&Priced>) -> String {
    match side {
        None => "none".into(),
        Some(p) if p.runs.0 == p.runs.1 => ms(p.ms),
        Some(p) => format!("{} in {} of {} runs", ms(p.ms), p.runs.0, p.runs.1),
    }
}
