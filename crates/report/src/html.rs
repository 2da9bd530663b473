//! One self-contained page: inline style, inline SVG, no script, nothing fetched when it is viewed.
//!
//! Light and dark follow the reader's system; it reads on a phone and in print. Each picture has a text that says the
//! same. All text goes through the template engine's escaping, so that a hostile header stays text.

mod bar;
mod distribution;
mod frame;
mod grid;
mod page;
mod parts;
mod waterfall;

pub use bar::{bar, percent, swatch};
pub use frame::{Head, STYLE, frame};
pub use grid::Grid;
pub use page::page;
pub use parts::remedy;
