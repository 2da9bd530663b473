//! What each remedy would save at one URL: `roundtrip compare`, without the command line.
//!
//! [`compare`] makes the requests that its [`CompareConfig`] describe, and never more. The steps:
//! `discover` (finds out what the server supports: `candidates` has the ways, `verdict` judges the
//! answers) → `arithmetic` (the expected cost of each way) → `measure` (the actual cost, in random
//! blocks, `sample` by `sample`, within the `budget`) → `outcome`. [`text`], [`json`] and [`html`]
//! show the result; `advice` says who has to change what.

mod advice;
mod arithmetic;
mod budget;
mod candidates;
mod config;
mod disagreement;
mod discover;
mod error;
pub mod html;
pub mod json;
mod measure;
mod outcome;
mod sample;
mod session;
pub mod text;
mod verdict;
mod way;

pub use config::{CompareConfig, RequestLimits};
pub use error::CompareError;
pub use outcome::{Absent, Comparison, EndReason, MeasuredWay, Prediction, WayVerdict};
pub use session::{SessionProgress, compare};
pub use way::{Remedy, Way};
