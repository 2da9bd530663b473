//! A parsed request to the exporter, and an answer to it.

use roundtrip_model::TraceContext;
use roundtrip_report::terminal::clean_lines;
use roundtrip_wire::accept::media_ranges;

/// A request without its body.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// The value of `X-Prometheus-Scrape-Timeout-Seconds`, if it is a number.
    pub(crate) scrape_timeout: Option<Result<f64, ()>>,
    /// The trace that the scrape belongs to.
    pub(crate) trace: Option<TraceContext>,
    /// The client prefers Prometheus' protobuf format to text.
    pub(crate) prefers_protobuf: bool,
    /// Whether another request may follow on the connection.
    pub(crate) stays: bool,
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    /// Text for people. It quotes requests, the configuration and the answers of probed servers,
    /// and people read it in terminals, so characters that act there are escaped.
    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: clean_lines(body).into_bytes(),
        }
    }
}

pub(crate) const PROTOBUF: &str = "application/vnd.google.protobuf; \
    proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Whether an `Accept` field ranks Prometheus' protobuf format at least as high as any other, as
/// Prometheus does if it collects native histograms. RFC 9110 §12.5.1.
pub(crate) fn prefers_protobuf(accept: &str) -> bool {
    let (mut protobuf, mut others) = (0, 0);
    for range in media_ranges(accept.as_bytes()) {
        let has = |name, wanted: &[u8]| {
            let value = range.parameters(name).next();
            value.is_some_and(|value| value == wanted || value == [b"\"", wanted, b"\""].concat())
        };
        let is_protobuf = range.is("application/vnd.google.protobuf")
            && has("proto", b"io.prometheus.client.MetricFamily")
            && has("encoding", b"delimited");
        let best = if is_protobuf {
            &mut protobuf
        } else {
            &mut others
        };
        *best = range.weight().max(*best);
    }
    protobuf > 0 && protobuf >= others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protobuf_is_sent_to_whom_prefers_it() {
        const TEXT: &str = "application/openmetrics-text;version=1.0.0;q=0.5,\
            text/plain;q=0.3,*/*;q=0.1";
        const DELIMITED: &str = "application/vnd.google.protobuf;\
            proto=io.prometheus.client.MetricFamily;encoding=delimited";
        assert!(prefers_protobuf(&format!("{DELIMITED},{TEXT}")));
        assert!(prefers_protobuf(&format!("{TEXT}, {DELIMITED}; q=0.5")));
        assert!(!prefers_protobuf(&format!("{DELIMITED};q=0.4,{TEXT}")));
        assert!(!prefers_protobuf(&format!("{DELIMITED};q=0")));
        assert!(!prefers_protobuf(&format!("{DELIMITED};q=x,{TEXT}")));
        for other in [
            TEXT,
            "",
            "*/*",
            "application/vnd.google.protobuf",
            ";;,=,;q=",
        ] {
            assert!(!prefers_protobuf(other), "{other}");
        }
    }
}
