//! Records what `probe --every` measures over days and months, and shows what the requests waited
//! for, when that changed, and which causes were found.
//!
//! A [`HistoryFile`] adds each [`Reading`] to one [`Period`] of each [`Tier`], and removes the
//! oldest periods, so that the file does not grow without limit. [`read_history`] reads it;
//! [`summary`], [`document`] and [`page()`] show it. `probe` measures.

mod change;
mod file;
mod json;
mod page;
mod period;
mod reading;
#[cfg(test)]
mod tests;
mod text;
mod tier;
mod time;
mod view;

pub use change::{LastingChange, lasting_change};
pub use file::{HistoryError, HistoryFile, MAX_SERIES, RecordedSeries, read_history};
pub use json::{SCHEMA, document};
pub use page::page;
pub use period::Period;
pub use reading::Reading;
pub use text::summary;
pub use tier::{TIERS, Tier};
