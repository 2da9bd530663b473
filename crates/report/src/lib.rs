//! What was measured, in the forms people and programs read: terminal text, JSON, one HTML page, curl's write-out.
//!
//! Pure: an [`Exchange`](roundtrip_model::Exchange) comes in, text goes out. No I/O, no clock, and no question to
//! the terminal: width, colour and character set are parameters. Attribution belongs to `model`, causes to `explain`.

mod facts;
mod first;
pub mod html;
pub mod json;
mod numbers;
mod party;
mod run;
mod series;
pub mod terminal;
pub mod text;
mod unexplained;
pub mod ways;
pub mod write_out;

pub use facts::{Fact, facts};
pub use numbers::{count, ms};
pub use party::Party;
pub use run::{Run, runs};
pub use terminal::clean;
