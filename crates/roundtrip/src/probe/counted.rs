//! `--baseline`: compares the counts of each URL with those in a file, or writes them there.
//!
//! Chance can raise a count: a packet is lost, or a second attempt starts. So a rise is reported
//! only if it occurs again in every repetition, each of which starts as cold as the first run. The
//! counts that are written come from several runs. Requests that may change something are not
//! repeated.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use roundtrip_model::{Exchange, Target};
use roundtrip_probe::Options;
use roundtrip_report::baseline::{self, Baseline, BaselineError, RequestCounts};
use roundtrip_report::{Assertion, runs};

use super::every;
use crate::cli::OutputArgs;
use crate::output::{interrupted, say};

/// Repetitions before a rise is believed.
const MAX_AGAIN: usize = 4;
/// The smallest number of runs whose counts are worth keeping.
const MIN_RUNS: usize = 10;
/// A larger file is not a baseline.
const MAX_FILE: u64 = 16 << 20;

pub(super) struct Counted {
    file: PathBuf,
    /// Whether to write the counts.
    update: bool,
    baseline: Baseline,
    /// The assertions: one for each URL that answered.
    pub(super) assertions: Vec<Assertion>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BaselineFileError {
    #[error("there is no baseline at {0} yet; --update writes one")]
    Missing(String),
    #[error("cannot read the baseline {file}: {source}")]
    Unreadable { file: String, source: io::Error },
    #[error("the baseline {file} cannot be used: {source}")]
    Wrong { file: String, source: BaselineError },
}

impl Counted {
    /// Reads the baseline; `None` if none was named.
    pub(super) fn read(output: &OutputArgs) -> Result<Option<Self>, BaselineFileError> {
        let Some(file) = &output.baseline else {
            return Ok(None);
        };
        Ok(Some(Self {
            file: file.clone(),
            update: output.update,
            baseline: read(file, output.update)?,
            assertions: Vec::new(),
        }))
    }

    /// Compares the runs of one URL, and asks again until there is certainty.
    pub(super) async fn judge(&mut self, all: &[Exchange], options: &Options, target: &Target) {
        let join = if self.update {
            RequestCounts::to_keep
        } else {
            RequestCounts::least
        };
        let mut counted = baseline::counts(runs(all)).count();
        let Some(mut counts) = baseline::counts(runs(all)).reduce(|a, b| join(a, &b)) else {
            return;
        };
        while !self.is_settled(&counts, counted) {
            let again = every::once(options, target, interrupted()).await;
            let Some(again) = baseline::counts(runs(&again)).next() else {
                break;
            };
            counted += 1;
            counts = join(counts, &again);
        }
        self.conclude(&counts, counted);
    }

    /// Whether to stop: another run would not tell more, or must not be made.
    fn is_settled(&self, counts: &RequestCounts, counted: usize) -> bool {
        let may_repeat = matches!(counts.key.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        !may_repeat
            || if self.update {
                counted >= MIN_RUNS
            } else {
                counted > MAX_AGAIN || self.baseline.rises(counts).is_empty()
            }
    }

    fn conclude(&mut self, least: &RequestCounts, of: usize) {
        let key = &least.key;
        let what = format!("{} {} ({})", key.method, key.url, key.strategy);
        let mut complaints = Vec::new();
        if self.update {
            self.baseline.put(least.clone());
        } else if self.baseline.knows(key) {
            let several = if of > 1 {
                format!(", the least of {of}")
            } else {
                String::new()
            };
            for change in self.baseline.changes(least) {
                if change.rose() {
                    complaints.push(format!("{change}{several}"));
                } else {
                    say(&format!("{change}: {what}; --update records it"));
                }
            }
        } else {
            complaints.push("not in the file; --update records it".to_owned());
        }
        for complaint in &complaints {
            say(&format!("baseline missed: {complaint} ({what})"));
        }
        self.assertions
            .push(Assertion::new(&key.url, "baseline", &complaints));
    }

    pub(super) fn is_missed(&self) -> bool {
        self.assertions.iter().any(|a| a.broken.is_some())
    }

    /// Writes the file, whole or not at all, if that was asked for.
    pub(super) fn finish(&self) -> Result<(), String> {
        if !self.update {
            return Ok(());
        }
        let mut beside = self.file.clone().into_os_string();
        beside.push(".new");
        // It may be a link that leads elsewhere.
        let _ = std::fs::remove_file(&beside);
        File::create_new(&beside)
            .and_then(|mut file| file.write_all(self.baseline.to_text().as_bytes()))
            .and_then(|()| std::fs::rename(&beside, &self.file))
            .map_err(|error| format!("cannot write {}: {error}", self.file.display()))
    }
}

/// A file that will be written may be missing.
fn read(file: &Path, update: bool) -> Result<Baseline, BaselineFileError> {
    let name = || file.display().to_string();
    let mut text = String::new();
    let opened = File::open(file).and_then(|f| f.take(MAX_FILE).read_to_string(&mut text));
    match opened {
        Ok(_) => Baseline::parse(&text).map_err(|source| BaselineFileError::Wrong {
            file: name(),
            source,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && update => Ok(Baseline::default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(BaselineFileError::Missing(name()))
        }
        Err(source) => Err(BaselineFileError::Unreadable {
            file: name(),
            source,
        }),
    }
}
