//! Reports, as results come and at the end: waterfalls, live lines, write-out, JSON, the page, and
//! the limits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roundtrip_model::{Exchange, HttpFacts};
use roundtrip_report::terminal::{Style, clean_lines, lossy};
use roundtrip_report::write_out::{Destination, Template, TemplateInput};
use roundtrip_report::{Run, annotations, html, json, junit, runs, text};

use super::asserted;
use super::counted::Counted;
use super::progress::Progress;
use crate::cli::ProbeArgs;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::page;
use crate::provenance::{self, stamped};

pub(crate) struct Show<'a> {
    args: &'a ProbeArgs,
    template: Option<Template>,
    stream: OutputStream,
    style: Style,
    /// The slowest run so far, which sets the scale of the bars in live lines.
    slowest: f64,
    transfers: u64,
    broken: Vec<String>,
    /// The current URL is requested through a proxy.
    pub(crate) proxied: bool,
}

impl<'a> Show<'a> {
    pub(crate) fn new(args: &'a ProbeArgs, template: Option<Template>) -> Self {
        // If the body goes to standard output, the report goes to standard error, in whatever form.
        let stream = if args.output.output.as_deref() == Some("-") {
            OutputStream::Err
        } else {
            OutputStream::Out
        };
        let style = stream.style(args.output.color);
        Self {
            args,
            template,
            stream,
            style,
            slowest: 0.0,
            transfers: 0,
            broken: Vec::new(),
            proxied: false,
        }
    }

    fn for_people(&self) -> bool {
        let output = &self.args.output;
        !(output.quiet || output.json || output.ndjson || self.template.is_some())
    }

    /// Call this after each run.
    pub(crate) fn seen(&mut self, hops: &[Exchange], given: &str, url_number: u32) {
        let run = Run { hops };
        self.slowest = self.slowest.max(run.total_ms());
        self.judge(hops);
        self.write_empty_body(&run);
        self.write_heads(hops);
        if let Some(template) = &self.template {
            self.write_out(template, hops, given, url_number);
        } else if self.args.output.ndjson {
            for exchange in hops {
                self.stream
                    .print_json(&(stamped(json::result(exchange)).to_string() + "\n"));
            }
        } else if self.for_people() {
            let text = if self.args.repeat.count > 1 {
                text::line(&run, Some(self.slowest), &self.style)
            } else {
                text::run(&run, &self.style)
            };
            self.stream.print(text);
            if self.args.output.verbose {
                self.stream.print(
                    hops.iter()
                        .map(|e| text::details(e, &self.style))
                        .collect::<String>(),
                );
            }
        }
        if !self.for_people()
            && let Some(failure) = run.failure()
        {
            say(&format!("{given}: {failure}"));
        }
        self.transfers += 1;
    }

    fn write_out(&self, template: &Template, hops: &[Exchange], given: &str, url_number: u32) {
        let mut transfer = TemplateInput::new(hops, given);
        let method = hops
            .first()
            .and_then(|e| e.http.as_ref())
            .map_or_else(|| "GET".to_owned(), |h| h.method.clone());
        transfer.method = &method;
        transfer.url_number = url_number;
        transfer.output_file = self.args.output.output.as_deref().filter(|o| *o != "-");
        transfer.referer = self.args.request.referer.as_deref();
        transfer.proxy_used = self.proxied;
        (transfer.id, transfer.connection_id) = (self.transfers, self.transfers);
        let terminals = |to: &Destination| match to {
            Destination::Stdout => OutputStream::Out.is_terminal(),
            Destination::Stderr => OutputStream::Err.is_terminal(),
            Destination::File { .. } => false,
        };
        for part in template.render_on(&transfer, terminals) {
            match part.to {
                Destination::Stdout => OutputStream::Out.print(&part.bytes),
                Destination::Stderr => OutputStream::Err.print(&part.bytes),
                Destination::File { name, append } => {
                    let written = OpenOptions::new()
                        .create(true)
                        .write(true)
                        .append(append)
                        .truncate(!append)
                        .open(&name)
                        .and_then(|mut file| file.write_all(&part.bytes));
                    if let Err(error) = written {
                        say(&format!("cannot write {name}: {error}"));
                    }
                }
            }
        }
    }

    /// The head is the result of HEAD, so with -o it is written where a body would go, as in curl.
    /// Leaves an empty file if an answer has no body.
    fn write_empty_body(&self, run: &Run) {
        let answer = run.last().and_then(|last| last.http.as_ref());
        let is_empty = run.ok() && answer.is_some_and(|answer| answer.downloaded == 0);
        let asked = self
            .args
            .output
            .output
            .as_deref()
            .filter(|path| *path != "-");
        if let Some(path) = asked.filter(|_| is_empty)
            && let Err(error) = File::create(path)
        {
            say(&format!("cannot write {path}: {error}"));
        }
    }

    fn write_heads(&self, hops: &[Exchange]) {
        let asked = Some(&self.args.output.output).filter(|_| self.args.request.head);
        let Some(path) = asked.and_then(Option::as_deref) else {
            return;
        };
        let answers = hops.iter().filter_map(|e| e.http.as_ref());
        let heads: Vec<u8> = answers.flat_map(head).collect();
        if heads.is_empty() {
            return;
        }
        if path == "-" && OutputStream::Out.is_terminal() {
            let heads = lossy(&heads).replace("\r\n", "\n");
            OutputStream::Out.print(clean_lines(&heads));
        } else if path == "-" {
            OutputStream::Out.print(&heads);
        } else if let Err(error) = std::fs::write(path, &heads) {
            say(&format!("cannot write {path}: {error}"));
        }
    }

    fn judge(&mut self, hops: &[Exchange]) {
        for exchange in hops {
            for limit in &self.args.output.fail_if {
                if let Some(value) = limit.broken_by(exchange) {
                    self.broken.push(limit.complaint(value, exchange));
                }
            }
        }
    }

    /// Call this after all runs of one URL.
    pub(crate) fn target_done(&self, exchanges: &[Exchange]) {
        if self.args.repeat.count > 1 && self.for_people() {
            self.stream.print(text::summary(exchanges, &self.style));
        }
    }

    /// Call this after all runs.
    pub(super) fn finish(self, all: &[Exchange], counted: Option<&Counted>) -> Outcome {
        if self.args.output.json {
            match serde_json::to_string_pretty(&stamped(json::document(all))) {
                Ok(text) => self.stream.print_json(&(text + "\n")),
                Err(error) => return Outcome::Usage(error.to_string()),
            }
        }
        if let Some(path) = &self.args.output.html {
            let page = html::page(all, &provenance::here());
            if let Err(ended) = page::deliver(path, &page, !self.for_people()) {
                return ended;
            }
        }
        for complaint in &self.broken {
            say(complaint);
        }
        if let Err(why) = self.tell_pipeline(all, counted) {
            return failed(&why);
        }
        let refused = |run: Run| {
            let http = run.last().and_then(|e| e.http.as_ref());
            self.args.output.fail && http.is_some_and(|http| http.status >= 400)
        };
        let is_failed = all.is_empty() || runs(all).any(|run| !run.ok() || refused(run));
        let is_missed = !self.broken.is_empty() || counted.is_some_and(Counted::is_missed);
        match (is_failed, is_missed) {
            (_, true) => Outcome::LimitMissed,
            (true, false) => Outcome::Failed,
            (false, false) => Outcome::Done,
        }
    }

    /// Writes what continuous integration reads: annotations, JUnit's file, the new baseline.
    fn tell_pipeline(&self, all: &[Exchange], counted: Option<&Counted>) -> Result<(), String> {
        let output = &self.args.output;
        if output.annotations || output.junit.is_some() {
            let of_baseline = counted.map_or(&[][..], |c| &c.assertions);
            let assertions = asserted::all(all, &output.fail_if, of_baseline);
            if output.annotations {
                OutputStream::Err.print(annotations::commands(&assertions, all));
            }
            if let Some(file) = &output.junit {
                fs::write(file, junit::document(&assertions))
                    .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            }
        }
        counted.map_or(Ok(()), Counted::finish)
    }
}

/// The head of an answer in the form of HTTP/1.1, whatever its version.
fn head(http: &HttpFacts) -> Vec<u8> {
    let mut head =
        format!("HTTP/{} {} {}\r\n", http.version, http.status, http.reason).into_bytes();
    for (name, value) in &http.headers {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Where a body goes: nowhere, to a file, or to standard output.
pub(crate) fn body_sink(output: Option<&str>, progress: &Progress) -> CountingWriter {
    let to: Box<dyn Write + Send> = match output {
        None => Box::new(io::sink()),
        Some("-") => Box::new(io::stdout()),
        Some(path) => Box::new(LazyFile::To(path.into())),
    };
    CountingWriter {
        to,
        count: progress.counter(),
    }
}

/// A file whose content is replaced when the first byte arrives. Without an answer, it keeps its
/// old content.
enum LazyFile {
    To(PathBuf),
    Opened(File),
}

impl Write for LazyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Self::To(path) = self {
            *self = Self::Opened(File::create(path)?);
        }
        match self {
            Self::Opened(file) => file.write(bytes),
            Self::To(_) => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Opened(file) => file.flush(),
            Self::To(_) => Ok(()),
        }
    }
}

/// Reports the progress of the body to the progress line.
pub(crate) struct CountingWriter {
    to: Box<dyn Write + Send>,
    count: Arc<AtomicU64>,
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.to.write(bytes)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
