//! One self-contained page: inline style, inline SVG, no script, nothing fetched when it is viewed.
//!
//! Light and dark follow the reader's system; the page can be read on a phone and in print. Each
//! picture has a text equivalent. The template engine escapes all text, so that a hostile header
//! stays text.

mod bar;
mod distribution;
mod frame;
mod grid;
mod page;
mod parts;
mod waterfall;

pub use bar::{bar, bar_down, percent, swatch};
pub use frame::{PageHead, STYLE, frame};
pub use grid::Grid;
pub use page::{exchange, page};
pub use parts::{remedy, split_bar};
