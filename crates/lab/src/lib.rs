//! Experiments: what a remedy saves, measured over an emulated path, beside what was published.
//!
//! [`experiment`] is a file that says path, server, arms and claims; [`run`] measures it, [`outcome`] is what came of
//! it, [`packets`] are those of a recorded run, [`text`] and [`html`] show that. [`faults`] are put into exchanges to
//! see whether they are found. [`demo`] is the first minute.

pub mod claim;
pub mod demo;
mod error;
pub mod experiment;
pub mod faults;
pub mod html;
pub mod outcome;
pub mod packets;
mod run;
pub mod text;

pub use error::LabError;
pub use experiment::{Experiment, load, names};
pub use outcome::Outcome;
pub use run::{Progress, Stop, Wishes, run};
