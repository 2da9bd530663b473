//! The lines of a scale of milliseconds: one at each round trip if they are far enough apart,
//! otherwise at round numbers.
//!
//! Positions are percentages, so that one picture suits a phone and a wide screen.

use maud::{Markup, html};

use super::bar::percent;
use crate::text::round_step;

/// The largest number of lines: more would look like hatching.
const MAX_ROUND_TRIPS: f64 = 16.0;

/// The positions of the lines, in multiples of a step from zero.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    scale: f64,
    step: f64,
    is_rtt: bool,
}

impl Grid {
    /// A grid from zero to `scale`, on a path whose round trip is `rtt`; both in milliseconds.
    pub fn new(scale: f64, rtt: Option<f64>) -> Self {
        let (step, is_rtt) = match rtt {
            Some(r) if r >= scale / MAX_ROUND_TRIPS && r <= scale => (r, true),
            _ => (round_step(scale / 6.0), false),
        };
        Self {
            scale,
            step,
            is_rtt,
        }
    }

    pub fn scale(self) -> f64 {
        self.scale
    }

    /// The distance between two lines.
    pub fn step(self) -> f64 {
        self.step
    }

    /// Whether the grid's lines are at the round trips.
    pub fn is_rtt(self) -> bool {
        self.is_rtt
    }

    fn marks(self) -> impl Iterator<Item = (u32, f64)> {
        (0..64)
            .map(move |n| (n, f64::from(n) * self.step))
            .take_while(move |(n, at)| *n == 0 || (self.step > 0.0 && *at <= self.scale))
    }

    /// The lines of one row that begins at `top`.
    pub fn lines(self, top: usize, height: usize) -> Markup {
        html! {
            g.grid {
                @for (_, at) in self.marks() {
                    @let x = percent(at, self.scale);
                    line x1=(x) x2=(x) y1=(top) y2=(top + height) {}
                }
            }
        }
    }

    pub fn labels(self, y: usize) -> Markup {
        // Labels are at least about an eighth of the width apart.
        let every = ((self.scale / 8.0 / self.step.max(f64::MIN_POSITIVE)).ceil() as u32).max(1);
        let shown = self
            .marks()
            .filter(move |(n, at)| n % every == 0 && *at <= self.scale * 0.94);
        html! {
            g.grid {
                @for (n, at) in shown {
                    text x=(percent(at, self.scale)) y=(y) class=[(n == 0).then_some("first")] {
                        @if n == 0 { "0" } @else if self.is_rtt { (n) " RT" } @else { (at) " ms" }
                    }
                }
            }
        }
    }
}
