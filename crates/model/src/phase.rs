//! Divides a timeline into phases that cover it without gaps; each is defined by one kind of wait.

mod beyond;
mod body;
mod boundary;
mod connect;
mod copies;
mod delayed_ack;
mod evidence;
mod flights;
mod line;
mod measurable;
mod pause;
mod request;
mod spread;
mod steady;
mod uplink;
mod waiting;
mod walk;
mod window;

use std::time::Duration;

use crate::{Exchange, Moment, PhaseName, Waited};

pub use body::{BodyTransfer, FullWindow};
pub use pause::Pause;
pub use spread::Spread;
pub use waiting::{is_like_a_timeout, is_like_timeouts};
pub use window::INITIAL_WINDOW;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    pub name: PhaseName,
    pub start: Moment,
    pub end: Moment,
    /// How often the client waited for an answer that had to cross the whole path.
    pub round_trips: u32,
    pub waited: Waited,
    /// The part of the network's milliseconds that a slow line needed for the bytes that were sent.
    pub carried: f64,
}

impl Phase {
    pub fn ms(&self) -> f64 {
        self.span().as_secs_f64() * 1e3
    }

    pub fn span(&self) -> Duration {
        self.end.since(self.start)
    }
}

impl Exchange {
    /// The phases, which cover the exchange without gaps.
    pub fn phases(&self) -> Vec<Phase> {
        phases(self)
    }

    pub fn round_trips(&self) -> u32 {
        self.phases().iter().map(|p| p.round_trips).sum()
    }
}

fn phases(exchange: &Exchange) -> Vec<Phase> {
    let mut phases: Vec<Phase> = boundary::cut(exchange)
        .into_iter()
        .map(|(name, start, end)| {
            let (round_trips, waited) = waiting::attribute(exchange, name, start, end);
            Phase {
                name,
                start,
                end,
                round_trips,
                waited,
                carried: 0.0,
            }
        })
        .collect();
    uplink::book(exchange, &mut phases);
    for (name, ms) in &exchange.undecided {
        let mut left = *ms;
        for phase in phases.iter_mut().filter(|phase| phase.name == *name) {
            let moved = left.min(phase.waited.server).max(0.0);
            phase.waited.server -= moved;
            phase.waited.unknown += moved;
            left -= moved;
        }
    }
    phases
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// R in milliseconds. Without it, waits cannot be split, so all of them count as network time.
fn rtt_ms(exchange: &Exchange) -> f64 {
    exchange.rtt.map_or(f64::INFINITY, ms)
}

#[cfg(test)]
mod tests;
