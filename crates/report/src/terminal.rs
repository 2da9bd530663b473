//! The tools with which every verb formats its text: [`Style`] paints, [`wrap`] and [`Table`] lay
//! out by display width, [`clean`] sanitises text from outside, [`StatusLine`] shows progress. This
//! module does not query the terminal: width, colour and character set are parameters.

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
