//! A run: the hops of one transfer, from the requested URL to the last redirect that was followed.

use roundtrip_model::{Event, Exchange, Failure, Phase, PhaseName, Waited};

use crate::party;

/// The shortest wait in milliseconds; a refused connection on the same machine takes less.
const MIN_WAIT_MS: f64 = 1.0;

/// The exchanges of one run, in order. Each hop's timeline begins at zero; a run puts them one
/// after the other.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub hops: &'a [Exchange],
}

/// Splits a list of exchanges into runs: a new one begins where the hop count decreases or the run
/// number changes.
pub fn runs(exchanges: &[Exchange]) -> impl Iterator<Item = Run<'_>> {
    exchanges
        .chunk_by(|a, b| a.run == b.run && b.hop > a.hop)
        .map(|hops| Run { hops })
}

impl<'a> Run<'a> {
    /// The last hop, which has the result of the run.
    pub fn last(&self) -> Option<&'a Exchange> {
        self.hops.last()
    }

    /// The requested URL.
    pub fn url(&self) -> &'a str {
        self.hops.first().map_or("", |e| e.url.as_str())
    }

    pub fn ok(&self) -> bool {
        self.failure().is_none()
    }

    pub fn failure(&self) -> Option<&'a Failure> {
        self.hops.iter().find_map(|e| e.failure.as_ref())
    }

    pub fn total_ms(&self) -> f64 {
        self.hops.iter().map(total_ms).sum()
    }

    /// The start of the hop with this index.
    pub(crate) fn offset_ms(&self, hop: usize) -> f64 {
        self.hops.iter().take(hop).map(total_ms).sum()
    }

    /// The time to the first byte of the last response.
    pub fn first_byte_ms(&self) -> Option<f64> {
        let last = self.hops.len().checked_sub(1)?;
        let first = self.last()?.timeline.first(|e| *e == Event::FirstByte)?;
        Some(self.offset_ms(last) + first.as_millis())
    }

    pub fn round_trips(&self) -> u32 {
        self.hops.iter().map(Exchange::round_trips).sum()
    }

    pub fn waited(&self) -> Waited {
        let phases: Vec<Phase> = self.hops.iter().flat_map(Exchange::phases).collect();
        party::sum(phases.iter().map(|p| &p.waited))
    }

    /// The milliseconds in phases of that name, over all hops; `None` if there is none.
    pub fn phase_ms(&self, name: PhaseName) -> Option<f64> {
        self.hops
            .iter()
            .flat_map(Exchange::phases)
            .filter(|p| p.name == name)
            .map(|p| p.ms())
            .reduce(|a, b| a + b)
    }
}

/// The waits of an exchange by party, summed over all its phases.
pub(crate) fn waited(exchange: &Exchange) -> Waited {
    party::sum(exchange.phases().iter().map(|p| &p.waited))
}

/// Whether there is something to draw: the exchange succeeded, or it waited for another party.
pub(crate) fn is_worth_drawing(exchange: &Exchange) -> bool {
    let waited = waited(exchange);
    exchange.ok() || waited.sum() - waited.client >= MIN_WAIT_MS
}

pub(crate) fn total_ms(exchange: &Exchange) -> f64 {
    exchange.total().as_secs_f64() * 1e3
}
