//! A pipeline's assertions about its requests, and whether they hold, for annotations and JUnit.

pub mod annotations;
pub mod junit;

/// One assertion about one URL: that it answers, a limit, or the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    pub url: String,
    pub name: String,
    /// Why the assertion does not hold.
    pub broken: Option<String>,
}

impl Assertion {
    /// Makes an assertion, which holds unless there is a complaint.
    pub fn new(url: &str, name: &str, complaints: &[String]) -> Self {
        Self {
            url: url.to_owned(),
            name: name.to_owned(),
            broken: (!complaints.is_empty()).then(|| complaints.join("\n")),
        }
    }
}
