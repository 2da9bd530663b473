//! Text for a terminal: a waterfall for each exchange, a line for each repeat, a block for the
//! summary, a table for the comparison of several ways.
//!
//! Fills differ in shape as well as in colour, so that nothing is lost without colour; without
//! Unicode the output is ASCII. No line is wider than the requested width.

mod bars;
mod blocks;
mod details;
mod repeats;
mod waterfall;
mod ways;

pub(crate) use bars::round_step;
pub use details::details;
pub use repeats::{line, summary};
pub use waterfall::{exchange, run};
pub use ways::{ways, ways_head, ways_lesson, ways_notes, ways_row, ways_ruler};
