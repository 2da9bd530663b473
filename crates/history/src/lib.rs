//! What `probe --every` measured, for days and months: whom the requests waited for, since when, and
//! what was found.
//!
//! A [`HistoryFile`] adds each [`Reading`] to one [`Period`] of each [`Tier`], and forgets the oldest
//! ones, so that the file stays bounded. [`document`] and [`page()`] show it. Measuring is left
//! to `probe`.

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
pub use file::{HistoryError, HistoryFile, MAX_SERIES, RecordedSeries};
pub use json::{SCHEMA, document};
pub use page::page;
pub use period::Period;
pub use reading::Reading;
pub use text::summary;
pub use tier::{TIERS, Tier};
