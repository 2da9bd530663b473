//! Where results go: standard output, a file, or a file with a journal, with which an interrupted run goes on.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use roundtrip_rdap::bulk::journal::{Identity, Journal, JournalError};
use roundtrip_rdap::client::Outcome;
use roundtrip_rdap::text::{self, Column, Form, Style};

use roundtrip_report::clean;

use super::conformance::Findings;
use super::timing;
use crate::cli::{Color, RdapArgs};
use crate::output::Stream;
use crate::provenance;

pub(super) struct Sink {
    style: Style,
    timing: bool,
    check: bool,
    /// An answer violates a requirement.
    violated: bool,
    out: Out,
    /// What stands before the first result.
    header: String,
    told: u64,
}

enum Out {
    Stdout,
    File(PathBuf, File),
    Journalled(Box<Journal>, Paths),
}

struct Paths {
    output: PathBuf,
    journal: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SinkError {
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
    #[error("cannot read {0} again: {1}")]
    Read(PathBuf, #[source] io::Error),
    #[error("{}", whole(.0))]
    Journal(#[from] JournalError),
    #[error("--resume: a list that can be read again is needed, from -f FILE")]
    NoList,
    #[error("--resume: an output that can be cut back is needed, as -o FILE")]
    NoOutput,
    #[error("{0} was left unfinished by an earlier run\ngo on with --resume, or remove it and {1}")]
    Unfinished(PathBuf, PathBuf),
}

impl Sink {
    pub(super) fn open(args: &RdapArgs, form: &Form) -> Result<Self, SinkError> {
        let out = open(args, form)?;
        let shown = matches!(out, Out::Stdout) && Stream::Out.is_terminal();
        let begun = matches!(&out, Out::Journalled(journal, _) if journal.finished() > 0);
        Ok(Self {
            style: Style {
                form: form.clone(),
                terminal: Stream::Out.style(args.output.color),
                verbose: args.output.verbose,
                now: SystemTime::now(),
                shown,
            },
            timing: args.output.timing,
            check: args.output.check,
            violated: false,
            out,
            header: match form {
                Form::Csv(columns) if !begun => text::header(columns),
                _ => String::new(),
            },
            told: u64::from(begun),
        })
    }

    /// Has an earlier run told it already?
    pub(super) fn was_told(&self, place: u64) -> bool {
        matches!(&self.out, Out::Journalled(journal, _) if journal.is_finished(place))
    }

    pub(super) fn tell(&mut self, place: u64, found: &Outcome) -> Result<(), SinkError> {
        let findings = self.check.then(|| Findings::of(found));
        let mut beside = Vec::new();
        if self.timing {
            beside.push(("timing", timing::document(found)));
            beside.extend(provenance::members());
        }
        beside.extend(findings.as_ref().map(|f| ("check", f.document())));
        self.violated |= findings.as_ref().is_some_and(Findings::has_errors);
        let mut result = std::mem::take(&mut self.header);
        if self.style.form == Form::Readable && self.told > 0 {
            result.push('\n');
        }
        result += &found
            .told(&beside, |told| text::tell(told, &self.style))
            .concat();
        let is_text = self.style.form.is_text();
        if self.timing && is_text {
            result.extend(
                found
                    .sources()
                    .map(|s| format!("timing: {}\n", clean(&timing::line(s)))),
            );
        }
        if let Some(findings) = findings.filter(|_| is_text) {
            result += &findings.told(&self.style);
        }
        self.told += 1;
        match &mut self.out {
            Out::Stdout => Stream::Out.print(result),
            Out::File(path, file) => file
                .write_all(result.as_bytes())
                .map_err(|e| SinkError::Write(path.clone(), e))?,
            Out::Journalled(journal, _) => {
                journal.finish(place, result.as_bytes())?;
                // Whoever is killed now has told what it asked.
                journal.flush()?;
            }
        }
        Ok(())
    }

    /// What is held back is written; the journal of a list that was told to its end is not needed any more.
    pub(super) fn finish(&mut self, whole: bool) -> Result<(), SinkError> {
        if let Out::Journalled(journal, paths) = &mut self.out {
            journal.flush()?;
            if whole {
                let removed = fs::remove_file(&paths.journal);
                removed.map_err(|e| SinkError::Write(paths.journal.clone(), e))?;
            }
        }
        Ok(())
    }

    /// Was a violation of a requirement told?
    pub(super) fn has_violations(&self) -> bool {
        self.violated
    }

    /// What to do after an interruption.
    pub(super) fn advice(&self) -> Option<String> {
        let Out::Journalled(journal, paths) = &self.out else {
            return None;
        };
        let (done, output) = (journal.finished(), paths.output.display());
        Some(format!(
            "{done} results are in {output}; the same command with --resume goes on from there"
        ))
    }
}

fn open(args: &RdapArgs, form: &Form) -> Result<Out, SinkError> {
    let output = args.output.output.as_ref();
    let Some(output) = output.filter(|path| path.as_os_str() != "-") else {
        return if args.bulk.resume {
            Err(SinkError::NoOutput)
        } else {
            Ok(Out::Stdout)
        };
    };
    // A list that can be read again, and an output that can be cut back.
    let files = args.bulk.file.as_slice();
    let again = !files.is_empty() && files.iter().all(|path| path.is_file());
    if !again || (output.exists() && !output.is_file()) {
        if args.bulk.resume {
            return Err(if again {
                SinkError::NoOutput
            } else {
                SinkError::NoList
            });
        }
        let file = File::create(output).map_err(|e| SinkError::Write(output.clone(), e))?;
        return Ok(Out::File(output.clone(), file));
    }
    let paths = Paths {
        output: output.clone(),
        journal: journal_of(output),
    };
    if !args.bulk.resume {
        if paths.journal.exists() {
            return Err(SinkError::Unfinished(paths.output, paths.journal));
        }
        // As without a journal: what was there before is not of this run.
        File::create(output).map_err(|e| SinkError::Write(output.clone(), e))?;
    }
    let journal = Journal::open(&paths.journal, &paths.output, &identity(args, form)?)?;
    Ok(Out::Journalled(Box::new(journal), paths))
}

/// With its cause, which says more than the rest.
fn whole(error: &JournalError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// A form in words that are the same in every run.
fn shape(form: &Form) -> String {
    let names = |columns: &[Column]| {
        let names: Vec<String> = columns.iter().map(Column::name).collect();
        names.join(",")
    };
    match form {
        Form::Readable => "readable".to_owned(),
        Form::Whois => "whois".to_owned(),
        Form::Csv(columns) => format!("csv {}", names(columns)),
        Form::Fields(columns) => format!("fields {}", names(columns)),
        Form::Json => "raw".to_owned(),
        Form::Ndjson => "json".to_owned(),
    }
}

fn journal_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// The list, and whatever decides what is asked of whom and how it is told.
fn identity(args: &RdapArgs, form: &Form) -> Result<Identity, SinkError> {
    let mut list: Box<dyn io::Read> = Box::new(io::empty());
    let mut file_read = PathBuf::new();
    for path in &args.bulk.file {
        let file = File::open(path).map_err(|e| SinkError::Read(path.clone(), e))?;
        list = Box::new(io::Read::chain(list, file));
        file_read.clone_from(path);
    }
    let (asking, output) = (&args.asking, &args.output);
    let asked = (
        (&args.queries, args.bulk.file.len(), asking.kind),
        (&asking.server, asking.overlay, asking.no_follow),
        (asking.pages, asking.by_range),
    );
    let told = (
        (shape(form), output.verbose, output.color == Color::Always),
        (output.timing, output.check),
        args.bulk.ordered || args.way.serial,
    );
    let mut settings = format!("{asked:?} {told:?}");
    if asking.insecure_http {
        settings += " insecure-http";
    }
    Identity::of(&mut list, &settings).map_err(|e| SinkError::Read(file_read, e))
}
