//! Experiments: what a remedy saves, measured over an emulated path, beside what was published.
//!
//! [`demo`] is the first minute; an experiment is a file that says path, server, arms and claims.

pub mod claim;
pub mod demo;
