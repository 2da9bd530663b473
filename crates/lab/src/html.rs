//! Outcomes as one self-contained page: what was asked, what was measured, beside what was published.
//!
//! Style, frame, colours and grids are those of every page and belong to `report`; here is what experiments add. Places
//! are percentages and text has its own size, so that one picture serves a phone and a wide screen. All text goes
//! through the template engine's escaping: an experiment's file may be anybody's.

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
mod verdict;

pub use page::page;
