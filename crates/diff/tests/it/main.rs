//! Two reports: what is read from them, how the difference is split, and how it is described.

#![allow(clippy::unwrap_used, clippy::panic)]

mod attribution;
mod doctor;
mod facts;
mod hostile;
mod images;
mod limits;
mod provenance;
mod samples;

roundtrip_path::sandbox_before_main!();
