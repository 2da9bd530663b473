//! Why a document is not a report that can be compared. Each message fits on one line after the
//! file's name.

/// The largest number of bytes that are read of one document: the report of some five thousand
/// requests.
pub const MAX_REPORT: usize = 32 << 20;
pub(crate) const MAX_RESULTS: usize = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("larger than {} MB, which no report is", MAX_REPORT >> 20)]
    TooLarge,
    #[error("no JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    #[error(
        "not a report of roundtrip: make one with `roundtrip probe --json` or `roundtrip doctor --json`"
    )]
    NoReport,
    #[error(
        "holds '{0}', which this version does not compare; it compares roundtrip/probe/1, roundtrip/trace/1 and roundtrip/doctor/1"
    )]
    Schema(String),
    #[error("holds several documents; only results of `probe --ndjson` may follow one another")]
    Several,
    #[error("{path}: {wanted} was expected, {found} was found")]
    Type {
        path: String,
        wanted: &'static str,
        found: &'static str,
    },
    #[error("{path}: {value:e} is out of range")]
    Range { path: String, value: f64 },
    #[error("{path}: more than {most} entries")]
    TooMany { path: String, most: usize },
    #[error("holds more than {MAX_RESULTS} results")]
    TooManyResults,
    #[error("holds no results: nothing was measured")]
    Empty,
    #[error("holds no run that succeeded ({0}), so that there is nothing to compare")]
    Failed(String),
    #[error("holds results of several URLs ({0}); choose one with --url")]
    Urls(String),
    #[error("holds no result of {0}; it has {1}")]
    NoSuchUrl(String, String),
}
