//! curl's `--write-out` language: `%{variable}`, `%header{name}`, `%output{file}`, `%{json}` and
//! the others, with curl's names and formats, and additional variables.
//!
//! There are two deliberate differences: a template that is not closed is refused before anything
//! is sent, where curl prints it unchanged; and credentials are not part of `url_effective`. This
//! module names files but does not open them: that is the caller's task.

mod json;
mod template;
mod transfer;
mod url_parts;
mod variable;

pub use template::{Template, WriteOutError};
pub use transfer::TemplateInput;

/// A text and its destination. An empty text to a file still creates it, as with curl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub to: Destination,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    Stderr,
    File { name: String, append: bool },
}

/// The names of all variables, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    variable::VARIABLES.iter().map(|v| v.name)
}
