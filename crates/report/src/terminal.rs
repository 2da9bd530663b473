//! What every verb writes its text with: [`Style`] paints, [`wrap`] and [`Table`] lay out by display width, [`clean`]
//! scrubs what comes from outside, [`StatusLine`] tells how far something is. It asks no terminal anything: width,
//! colour and character set are told.

mod clean;
mod status_line;
mod style;
mod table;
mod width;
mod wrap;

pub use clean::{acts, clean, clean_json, clean_lines, lossy};
pub use status_line::StatusLine;
pub use style::{Style, Tone, finished};
pub use table::{Cell, Table};
pub use width::{cut, width};
pub use wrap::{Wrap, wrap};
