//! Measurements in the forms that people and programs read: terminal text, JSON, one HTML page,
//! curl's write-out.
//!
//! Pure: the input is an [`Exchange`](roundtrip_model::Exchange), the output is text. No I/O and no
//! clock; width, colour and character set of the terminal are parameters. `model` attributes times,
//! `explain` finds causes.

mod assertion;
pub mod baseline;
mod edit_distance;
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

pub use assertion::{Assertion, annotations, junit};
pub use edit_distance::edit_distance;
pub use facts::{Fact, facts};
pub use numbers::{count, ms, round_up};
pub use party::Party;
pub use run::{Run, runs};
pub use terminal::clean;
