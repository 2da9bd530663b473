//! Outcomes as one self-contained page: measured figures beside published ones.
//!
//! Style, frame, colours and grids are shared by all pages and belong to `report`; this module adds
//! the content of experiments. Positions are percentages and text keeps its size, so that one
//! picture serves a phone and a wide screen. The template engine escapes all text, because an
//! experiment's file may come from an untrusted source.

mod arms;
mod claims;
mod curve;
mod distance;
mod figures;
mod packets;
mod page;
mod remarks;
mod runs;
mod scale;
mod stairs;
#[cfg(test)]
mod tests;
mod verdict;

pub use page::page;
