//! A parsed request to the exporter, and an answer to it.

use roundtrip_model::TraceContext;
use roundtrip_report::terminal::clean_lines;

/// A request without its body.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// `X-Prometheus-Scrape-Timeout-Seconds`.
    pub(crate) scrape_timeout: Option<f64>,
    /// The trace that the scrape belongs to.
    pub(crate) trace: Option<TraceContext>,
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
    /// Text for people. It quotes requests, the configuration and the answers of probed servers,
    /// and people read it in terminals, so characters that act there are escaped.
    pub(crate) fn text(status: u16, body: &str) -> Self {
        let body = clean_lines(body);
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body,
        }
    }
}
