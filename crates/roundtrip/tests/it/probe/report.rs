//! The JSON report as tests read it: the last result, its failure, a path of keys.

use serde_json::Value;

use crate::probe::run;
use crate::process::Said;

/// A report with its exit code.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) code: i32,
    pub(crate) err: String,
    pub(crate) document: Value,
}

/// Runs `probe --json` with these arguments.
pub(crate) fn report<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Report {
    let mut command = run::probe(&["--json"]);
    command.args(arguments);
    Report::from(run::said(command))
}

impl From<Said> for Report {
    fn from(said: Said) -> Self {
        let document = serde_json::from_str(&said.out)
            .unwrap_or_else(|e| panic!("no JSON came: {e}; {said:?}"));
        Self {
            code: said.code,
            err: said.err,
            document,
        }
    }
}

impl Report {
    pub(crate) fn results(&self) -> &[Value] {
        self.document["results"].as_array().unwrap()
    }

    /// The last result: of the last hop of the last run.
    pub(crate) fn last(&self) -> &Value {
        self.results().last().unwrap()
    }

    /// A value of the last result, by its path: `/tls/version`.
    pub(crate) fn at(&self, path: &str) -> &Value {
        self.last()
            .pointer(path)
            .unwrap_or_else(|| panic!("no {path} in {}", self.last()))
    }

    /// The last result's names of phases.
    pub(crate) fn phases(&self) -> Vec<&str> {
        let phases = self.at("/phases").as_array().unwrap();
        phases.iter().filter_map(|p| p["name"].as_str()).collect()
    }

    pub(crate) fn assert_status(&self, status: u16) {
        assert_eq!(self.at("/http/status"), status, "{}", self.last()["error"]);
        assert_eq!(self.code, 0, "{}", self.err);
    }
}
