//! What every page is: one document with its style in it, that fetches nothing and runs nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::bar::patterns;
use crate::terminal::clean;

/// What all pages have in common, also those that others frame.
pub const STYLE: &str = include_str!("page.css");

/// What only the process knows that made a page of measurements.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Such as `roundtrip 0.1.0`.
    pub made_by: String,
    /// When the measuring began.
    pub when: String,
    /// Processor, kernel and cores.
    pub machine: String,
    /// The command line that makes this page again.
    pub command: String,
}

impl Head {
    /// As entries of a list of facts. `took` follows the date.
    pub fn entries(&self, took: &str) -> Markup {
        html! {
            div { dt { "Measured" } dd { (clean(&self.when)) (took) } }
            div { dt { "Machine" } dd { (clean(&self.machine)) } }
            div { dt { "Program" } dd { (clean(&self.made_by)) } }
            div { dt { "This page again" } dd { code { (clean(&self.command)) } } }
        }
    }
}

/// A whole page. `style` is what this page has beyond the common one; `made_by` stands in the footer, such as
/// `roundtrip 0.1.0`.
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
