//! Parses bytes into a report: determines the kind of document, and enforces bounds. The modules
//! below read the content of each document.

mod facts;
mod results;

use serde_json::Value;

use crate::error::{MAX_REPORT, MAX_RESULTS};
use crate::node::Node;
use crate::{Doctor, Probe, Provenance, ReadError};

/// The longest quote from a document that is not understood.
const MAX_CITED_LENGTH: usize = 60;

/// A report, which can be compared with another one of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    Probe(Probe),
    Doctor(Doctor),
}

impl Report {
    /// The verb that made the report.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Probe(_) => "probe",
            Self::Doctor(_) => "doctor",
        }
    }
}

/// Reads one document, or results of `probe` line by line. If there are several URLs, `url` chooses
/// one.
pub fn read(bytes: &[u8], url: Option<&str>) -> Result<Report, ReadError> {
    if bytes.len() > MAX_REPORT {
        return Err(ReadError::TooLarge);
    }
    // The parser refuses more than 128 levels of nesting.
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut values = Vec::new();
    for value in &mut stream {
        values.push(value.map_err(ReadError::Syntax)?);
        if values.len() > MAX_RESULTS {
            return Err(ReadError::TooManyResults);
        }
    }
    match values.as_slice() {
        [] => Err(ReadError::Empty),
        [one] if one.get("schema").is_some() => document(one, url),
        results if results.iter().all(is_result) => {
            let nodes = results.iter().enumerate();
            let nodes: Vec<Node<'_>> = nodes.map(|(n, v)| Node::line(v, n)).collect();
            let made = nodes.first().map(Provenance::read).transpose()?;
            results::probe(&nodes, made.unwrap_or_default(), url).map(Report::Probe)
        }
        several if several.len() > 1 && several.iter().any(|v| v.get("schema").is_some()) => {
            Err(ReadError::Several)
        }
        _ => Err(ReadError::NoReport),
    }
}

/// An element of `results`, as `probe --ndjson` writes one to a line.
fn is_result(value: &Value) -> bool {
    ["url", "phases", "total_ms"]
        .iter()
        .all(|key| value.get(key).is_some())
}

fn document(value: &Value, url: Option<&str>) -> Result<Report, ReadError> {
    let root = Node::root(value);
    match root.get("schema")?.text()? {
        "roundtrip/probe/1" | "roundtrip/trace/1" => {
            let results = root.get("results")?;
            let made = Provenance::read(&root)?;
            results::probe(&results.list(MAX_RESULTS)?, made, url).map(Report::Probe)
        }
        "roundtrip/doctor/1" => crate::doctor::read(root).map(Report::Doctor),
        other => Err(ReadError::Schema(
            other.chars().take(MAX_CITED_LENGTH).collect(),
        )),
    }
}
