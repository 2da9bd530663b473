//! `[route.cors]`: what pages of other origins may do.

use serde::Deserialize;

use super::Span;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cors {
    /// What becomes of the question that browsers ask first, without credentials.
    pub preflight: Preflight,
    /// `https://app.example`, or `*` alone.
    pub origins: Vec<String>,
    pub methods: Vec<String>,
    pub headers: Vec<String>,
    /// Fields of answers that scripts may read.
    pub expose: Vec<String>,
    /// May cookies go with requests?
    pub credentials: bool,
    /// How long browsers remember the answer to their question.
    pub max_age: Span,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preflight {
    /// It is a request like others, and needs a session where its route does.
    #[default]
    Off,
    /// It goes to the backend, without a session, and without what else a client may say of itself.
    Pass,
    /// Gate answers, and speaks of origins in all answers of the route.
    Answer,
}

impl Default for Cors {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            preflight: Preflight::Off,
            origins: Vec::new(),
            methods: words(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
            headers: words(&["Authorization", "Content-Type"]),
            expose: Vec::new(),
            credentials: false,
            max_age: Span::seconds(600),
        }
    }
}
