//! The page of outcomes: self-contained, safe against hostile text, and no wider than a phone.
//!
//! This is a separate binary from `it`, because Chromium would take the processor from its
//! measurements.

#![allow(clippy::unwrap_used, clippy::panic)]

mod carrying;
mod document;
mod guide;
mod phone;
mod samples;
