//! Experiments: the saving of a remedy, measured over an emulated path and compared with published
//! figures.
//!
//! [`experiment`] is a file with path, server, arms and claims; [`run`] measures it; [`outcome`] is
//! the result; [`packets`] are those of a recorded run; [`text`] and [`html`] render it. [`faults`]
//! injects faults into exchanges and checks that they are found. [`demo`] compares seven ways to
//! make a request.

pub mod claim;
pub mod demo;
mod error;
pub mod experiment;
pub mod faults;
pub mod html;
pub mod outcome;
pub mod packets;
mod rounding;
mod run;
pub mod text;

pub use error::LabError;
pub use experiment::{Experiment, load, names};
pub use outcome::LabOutcome;
pub use roundtrip_perf::Stop;
pub use run::{ExperimentProgress, RunOptions, run};
