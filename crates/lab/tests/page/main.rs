//! The page of outcomes: complete in itself, proof against what files say, and no wider than a phone.
//!
//! This is a binary beside `it`, because Chromium would take the processor from its measurements.

#![allow(clippy::unwrap_used, clippy::panic)]

mod carrying;
mod document;
mod guide;
mod phone;
mod samples;
