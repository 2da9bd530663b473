//! The frame of every page: one document that includes its style, loads nothing and runs nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::bar::patterns;
use crate::terminal::clean;

/// The style of all pages, including those of other crates.
pub const STYLE: &str = include_str!("page.css");

/// Facts about how a page of measurements was made, which only the process knows.
#[derive(Debug, Clone, Default)]
pub struct PageHead {
    /// The program's name and version, such as `roundtrip 0.1.0`.
    pub made_by: String,
    /// The time when the measurement began.
    pub when: String,
    /// The processor, kernel and number of cores.
    pub machine: String,
    /// The command line that reproduces this page.
    pub command: String,
}

impl PageHead {
    /// Formats them as entries of a list of facts. `took` follows the date.
    pub fn entries(&self, took: &str) -> Markup {
        html! {
            div { dt { "Measured" } dd { (clean(&self.when)) (took) } }
            div { dt { "Machine" } dd { (clean(&self.machine)) } }
            div { dt { "Program" } dd { (clean(&self.made_by)) } }
            div { dt { "To reproduce" } dd { code { (clean(&self.command)) } } }
        }
    }
}

/// Makes a whole page. `style` is this page's additional style; `made_by` appears in the footer,
/// for example `roundtrip 0.1.0`.
pub fn frame(title: &str, style: &'static str, body: &Markup, made_by: &str) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "roundtrip · " (clean(title)) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body {
                (patterns())
                main { (body) }
                footer { "Made by " (clean(made_by)) ". A round trip is one question and its answer across the whole path." }
            }
        }
    }
    .into_string()
}
