//! A request to the exporter, and an answer, without their bytes.

/// A request without its body.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// `X-Prometheus-Scrape-Timeout-Seconds`.
    pub(crate) scrape_timeout: Option<f64>,
    /// Whether another request may follow on the connection.
    pub(crate) stays: bool,
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn text(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body,
        }
    }
}
