//! Where results go: standard output, or a file that an interrupted run goes on with.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use roundtrip_rdap::client::Outcome;
use roundtrip_rdap::text::{self, Form, Style};

use super::meaning::Meaning;
use super::timing;
use crate::cli::RdapArgs;
use crate::output::Stream;

pub(super) struct Sink {
    style: Style,
    timing: bool,
    out: Out,
    told: u64,
}

enum Out {
    Stdout,
    File(PathBuf, File),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SinkError {
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
}

impl Sink {
    pub(super) fn open(args: &RdapArgs, meaning: &Meaning) -> Result<Self, SinkError> {
        let out = match &args.output.output {
            None => Out::Stdout,
            Some(path) => {
                let file = File::create(path).map_err(|e| SinkError::Write(path.clone(), e))?;
                Out::File(path.clone(), file)
            }
        };
        let shown = matches!(out, Out::Stdout) && Stream::Out.is_terminal();
        let mut sink = Self {
            style: Style {
                form: meaning.form.clone(),
                terminal: Stream::Out.style(args.output.color),
                verbose: args.output.verbose,
                now: SystemTime::now(),
                shown,
            },
            timing: args.output.timing,
            out,
            told: 0,
        };
        if let Form::Csv(columns) = &meaning.form {
            let header = text::header(columns);
            sink.write(&header)?;
        }
        Ok(sink)
    }

    /// What an earlier run has told already.
    pub(super) fn told_before(&self) -> impl Fn(u64) -> bool + use<> {
        |_| false
    }

    pub(super) fn tell(&mut self, _place: u64, found: &Outcome) -> Result<(), SinkError> {
        let document = self.timing.then(|| timing::document(found));
        let mut texts = found.told(document.as_ref(), |told| text::tell(told, &self.style));
        if self.style.form == Form::Readable && self.told > 0 {
            texts.insert(0, "\n".into());
        }
        if self.timing && matches!(self.style.form, Form::Readable | Form::Whois) {
            texts.extend(found.sources().map(|s| format!("timing: {}\n", timing::line(s))));
        }
        self.told += 1;
        self.write(&texts.concat())
    }

    fn write(&mut self, text: &str) -> Result<(), SinkError> {
        match &mut self.out {
            Out::Stdout => {
                Stream::Out.print(text);
                Ok(())
            }
            Out::File(path, file) => file
                .write_all(text.as_bytes())
                .map_err(|e| SinkError::Write(path.clone(), e)),
        }
    }

    pub(super) fn finish(&mut self, _interrupted: bool) -> Result<(), SinkError> {
        Ok(())
    }
}
