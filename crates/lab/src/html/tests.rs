//! The page of outcomes: self-contained, safe against hostile text, and no wider than a phone.
//!
//! Chromium lays it out here and not among the tests of `it`, because it would take the processor
//! from their measurements.

mod carrying;
mod document;
mod phone;
mod samples;
