//! The destination of results: standard output, a file, or a file with a journal that lets an
//! interrupted run continue.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use roundtrip_rdap::bulk::journal::{Identity, Journal, JournalError};
use roundtrip_rdap::client::Outcome;
use roundtrip_rdap::text::{self, Column, Form, Style};

use roundtrip_report::clean;

use super::conformance::Findings;
use super::pager::{Backlog, Pager};
use super::timing;
use crate::cli::{Color, RdapArgs};
use crate::output::OutputStream;
use crate::provenance;

pub(super) struct Sink {
    style: Style,
    timing: bool,
    check: bool,
    ordered: bool,
    /// An answer violates a requirement.
    violated: bool,
    out: Out,
    /// The text before the first result.
    header: String,
    told: u64,
    /// The pager between the text and a terminal.
    pager: Option<Pager>,
    pages: bool,
    backlog: Backlog,
    /// Results of lookups at which a server failed, in a file without a name. They are written last
    /// and are not in the journal, so that a later run asks again.
    failed: Option<File>,
    count_failed: u64,
}

enum Out {
    Stdout,
    File(PathBuf, File),
    Journalled(Box<Journal>, Paths),
}

struct Paths {
    output: PathBuf,
    journal: PathBuf,
    /// The journal of a list that was completed except where servers failed.
    failed: PathBuf,
}

impl Paths {
    fn from_output(output: &Path) -> Self {
        Self {
            output: output.to_owned(),
            journal: beside(output, ".journal"),
            failed: beside(output, ".failed"),
        }
    }

    /// A file without a name, for results that are written last: beside the output, which has to
    /// have room for them.
    fn unnamed(&self) -> io::Result<File> {
        let path = beside(&self.output, &format!(".late-{}", std::process::id()));
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    }

    fn append(&self, header: &str, results: &mut File) -> io::Result<()> {
        let mut output = File::options().append(true).open(&self.output)?;
        output.write_all(header.as_bytes())?;
        results.rewind()?;
        io::copy(results, &mut output).map(drop)
    }
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
    #[error("--resume needs an output file that can be truncated: -o FILE")]
    NoOutput,
    #[error(
        "{0} was left unfinished by an earlier run\ncontinue with --resume, or remove it and {1}"
    )]
    Unfinished(PathBuf, PathBuf),
    #[error(
        "there is nothing to resume: {0} has no journal, as after a run that was completed\nleave out --resume to ask for everything again"
    )]
    Completed(PathBuf),
}

impl Sink {
    pub(super) fn open(args: &RdapArgs, form: &Form) -> Result<Self, SinkError> {
        let out = open(args, form)?;
        let shown = matches!(out, Out::Stdout) && OutputStream::Out.is_terminal();
        let begun = matches!(&out, Out::Journalled(journal, _) if journal.finished() > 0);
        Ok(Self {
            style: Style {
                form: form.clone(),
                terminal: OutputStream::Out.style(args.output.color),
                verbose: args.output.verbose,
                now: SystemTime::now(),
                shown,
            },
            timing: args.output.timing,
            check: args.output.check,
            ordered: args.bulk.ordered || args.way.serial,
            violated: false,
            out,
            header: match form {
                Form::Csv(columns) if !begun => text::header(columns),
                _ => String::new(),
            },
            told: u64::from(begun),
            pager: None,
            // A list shows its progress instead.
            pages: shown && form.is_text() && args.bulk.file.is_empty() && !args.output.no_pager,
            backlog: Backlog::new(),
            failed: None,
            count_failed: 0,
        })
    }

    /// Whether an earlier run has already printed the result of this entry.
    pub(super) fn was_told(&self, place: u64) -> bool {
        matches!(&self.out, Out::Journalled(journal, _) if journal.is_finished(place))
    }

    pub(super) fn tell(&mut self, place: u64, found: &Outcome) -> Result<(), SinkError> {
        let findings = self.check.then(|| Findings::from_outcome(found));
        let mut beside = Vec::new();
        if self.timing {
            beside.push(("timing", timing::document(found)));
            beside.extend(provenance::members());
        }
        beside.extend(findings.as_ref().map(|f| ("check", f.document())));
        self.violated |= findings.as_ref().is_some_and(Findings::has_errors);
        let is_put_off = self.puts_off(found);
        let mut result = if is_put_off {
            Vec::new()
        } else {
            std::mem::take(&mut self.header).into_bytes()
        };
        if self.style.form == Form::Readable && self.told > 0 {
            result.push(b'\n');
        }
        let told = found.told(&beside, |told| text::tell(told, &self.style));
        result.extend(told.concat());
        let is_text = self.style.form.is_text();
        if self.timing && is_text {
            let lines = found.sources().map(timing::line);
            result
                .extend(lines.flat_map(|line| format!("timing: {}\n", clean(&line)).into_bytes()));
        }
        if let Some(findings) = findings.filter(|_| is_text) {
            result.extend(findings.told(&self.style).into_bytes());
        }
        self.told += 1;
        if matches!(self.out, Out::Stdout) {
            self.print(result);
            return Ok(());
        }
        match &mut self.out {
            Out::Stdout => {}
            Out::File(path, file) => file
                .write_all(&result)
                .map_err(|e| SinkError::Write(path.clone(), e))?,
            Out::Journalled(_, paths) if is_put_off => {
                let mut write = || {
                    let file = match &mut self.failed {
                        Some(file) => file,
                        none => none.insert(paths.unnamed()?),
                    };
                    file.write_all(&result)
                };
                write().map_err(|e| SinkError::Write(paths.output.clone(), e))?;
                self.count_failed += 1;
            }
            Out::Journalled(journal, _) => {
                journal.finish(place, &result)?;
                // If the process is killed now, everything that was asked has been printed.
                journal.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the results that were held back; the journal of a completed list is no longer needed.
    pub(super) fn finish(&mut self, whole: bool) -> Result<(), SinkError> {
        if let Out::Journalled(journal, paths) = &mut self.out {
            journal.flush()?;
            if !whole {
                return Ok(());
            }
            if let Some(failed) = &mut self.failed {
                let appended = paths.append(&std::mem::take(&mut self.header), failed);
                appended.map_err(|e| SinkError::Write(paths.output.clone(), e))?;
                let moved = fs::rename(&paths.journal, &paths.failed);
                moved.map_err(|e| SinkError::Write(paths.failed.clone(), e))?;
            } else {
                let removed = fs::remove_file(&paths.journal);
                removed.map_err(|e| SinkError::Write(paths.journal.clone(), e))?;
            }
        }
        Ok(())
    }

    /// Text after the results.
    pub(super) fn print(&mut self, text: Vec<u8>) {
        if self.pages && self.pager.is_none() {
            self.pager = Pager::start(&self.backlog);
            self.pages = self.pager.is_some();
        }
        match &self.pager {
            Some(pager) => pager.print(text),
            None => OutputStream::Out.print(text),
        }
    }

    /// The texts that a pager has not taken yet: lookups wait for its reader, and no more are made
    /// once the reader has quit.
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    /// Whether a pager has the terminal.
    pub(super) fn is_paging(&self) -> bool {
        self.pager.is_some()
    }

    /// The pager, whose reader must be waited for.
    pub(super) fn pager(&mut self) -> Option<Pager> {
        self.pager.take()
    }

    /// Whether the result is printed after all others: a server failed, and no order is requested.
    fn puts_off(&self, found: &Outcome) -> bool {
        let is_journalled = matches!(self.out, Out::Journalled(..));
        is_journalled && !self.ordered && found.failed_at_a_server()
    }

    /// Whether a violation of a requirement was printed.
    pub(super) fn has_violations(&self) -> bool {
        self.violated
    }

    /// The message after an empty list, or after lookups that failed because of servers.
    pub(super) fn remedy(&self, is_empty: bool) -> Option<String> {
        let lookups = match self.count_failed {
            0 => return is_empty.then(|| "the list holds no query".to_owned()),
            1 => "1 lookup".to_owned(),
            n => format!("{n} lookups"),
        };
        Some(format!(
            "servers failed at {lookups}; the same command with --resume asks for them again"
        ))
    }

    /// What to do after an interruption.
    pub(super) fn advice(&self) -> Option<String> {
        let Out::Journalled(journal, paths) = &self.out else {
            return None;
        };
        let (done, output) = (journal.finished(), paths.output.display());
        Some(format!(
            "{done} results are in {output}; the same command with --resume continues there"
        ))
    }
}

/// The files that a run with this output can replace.
pub(super) fn files(output: &Path) -> [PathBuf; 3] {
    let paths = Paths::from_output(output);
    [paths.output, paths.journal, paths.failed]
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
    // This needs a list that can be read again, and an output that can be truncated.
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
    let paths = Paths::from_output(output);
    if !args.bulk.resume {
        if paths.journal.exists() {
            return Err(SinkError::Unfinished(paths.output, paths.journal));
        }
        // This is the same as without a journal: the previous content does not belong to this run.
        File::create(output).map_err(|e| SinkError::Write(output.clone(), e))?;
        remove_if_there(&paths.failed)?;
    } else if !paths.journal.exists() {
        if paths.failed.exists() {
            let moved = fs::rename(&paths.failed, &paths.journal);
            moved.map_err(|e| SinkError::Write(paths.journal.clone(), e))?;
        } else if fs::metadata(output).is_ok_and(|output| output.len() > 0) {
            return Err(SinkError::Completed(paths.output));
        }
    }
    let journal = Journal::open(&paths.journal, &paths.output, &identity(args, form)?)?;
    Ok(Out::Journalled(Box::new(journal), paths))
}

/// The error with its cause, which is the most informative part.
fn whole(error: &JournalError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The form as words that are the same in every run.
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

fn beside(output: &Path, suffix: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove_if_there(path: &Path) -> Result<(), SinkError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SinkError::Write(path.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// The list, and all settings that affect the queries and the output.
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
    Identity::from_list(&mut list, &settings).map_err(|e| SinkError::Read(file_read, e))
}
