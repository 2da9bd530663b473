//! `[route.cors]`: what pages of other origins may do.

use serde::Deserialize;

use super::Span;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cors {
    /// What to do with a preflight, the request that browsers send first, without credentials.
    pub preflight: Preflight,
    /// `https://app.example`, or only `*`.
    pub origins: Vec<String>,
    pub methods: Vec<String>,
    pub headers: Vec<String>,
    /// Response fields that scripts may read.
    pub expose: Vec<String>,
    /// Whether requests may carry cookies.
    pub credentials: bool,
    /// How long browsers may cache the answer to a preflight.
    pub max_age: Span,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preflight {
    /// A preflight is treated like other requests, and needs a session if its route does.
    #[default]
    Off,
    /// A preflight goes to the backend, without a session and with only a preflight's fields.
    Pass,
    /// Gate answers a preflight, and sets the CORS fields in all answers of the route.
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
