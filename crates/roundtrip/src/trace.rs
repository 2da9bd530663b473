//! `roundtrip trace`: reads a capture as it arrives, or runs a program, and explains the exchanges;
//! or watches processes that are already running.

mod again;
mod captures;
mod cut;
mod kept;
mod keys;
mod logs;
mod program;
mod source;
mod watch;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roundtrip_model::Exchange;
use roundtrip_report::clean;
use roundtrip_trace::{
    CaptureCounts, ClockRelation, Clocks, Conversation, Cut, Options, Ranking, Trace, json, text,
};
use roundtrip_wire::key_log::KeyLog;

use crate::cli::TraceArgs;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::page;
use crate::provenance::{self, stamped};
use crate::status::{DELAY, PACE, Status};
pub(crate) use again::SeenExchange;
use captures::Captures;
use kept::KeptConversations;
use keys::KeyFiles;
use source::{CaptureSource, is_pipe};

/// The largest number of exchanges that are all shown in full. If there are more, only the ranking
/// and the most costly ones are shown.
const WHOLE: u64 = 4;
/// How many of the slowest connections are written.
const WRITTEN: usize = 24;
/// The number of missed limits that get a line each.
const COMPLAINTS: usize = 100;

pub(crate) fn run(args: &TraceArgs) -> Outcome {
    match (args.watch, &args.file) {
        (Some(watched), _) => watch::run(args, watched),
        (None, Some(file)) => read(args, file),
        (None, None) => program::run(args),
    }
}

fn read(args: &TraceArgs, file: &Path) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    if let Err(error) = crate::ctrl_c::at_the_first(move || told.store(true, Ordering::Relaxed)) {
        return failed(&format!("cannot wait for Ctrl-C: {error}"));
    }
    if is_pipe(file) && args.write.is_some() {
        return Outcome::Usage(
            "--write reads the capture twice, which a pipe does not allow".into(),
        );
    }
    let opened = match &args.second {
        Some(second) if is_pipe(file) || is_pipe(second) => {
            return Outcome::Usage(
                "two captures are read twice, which a pipe does not allow".into(),
            );
        }
        Some(second) => open_two(args, file, second),
        None => {
            let source = if is_pipe(file) {
                CaptureSource::pipe(file, &stop)
            } else {
                CaptureSource::open(file)
            };
            match source.and_then(|mut source| Ok((source.is_capture()?, source))) {
                Ok((true, source)) => Ok(OpenedCaptures {
                    name: self::name(file),
                    captures: Captures::One(Box::new(source)),
                    far: None,
                    keys: None,
                }),
                Ok((false, source)) => return logs::run(args, &self::name(file), source),
                Err(error) => Err(unreadable(file, &error)),
            }
        }
    };
    let mut opened = match opened {
        Ok(opened) => opened,
        Err(outcome) => return outcome,
    };
    let mut keys = KeyFiles::new(&args.keys, is_pipe(file));
    let mut read = read_whole(args, &mut opened, &mut keys, &stop);
    // What was before the secrets is read once more.
    let is_late = opened.captures.has_late_secrets() && !is_pipe(file);
    if is_late && args.ndjson {
        let name = &opened.name;
        say(&format!(
            "{name}: it has keys after the packets that they decrypt; --json uses them, --ndjson does not"
        ));
    } else if let Ok((first, _)) = &mut read
        && is_late
        && !stop.load(Ordering::Relaxed)
    {
        opened.keys = first.trace.take_keys();
        *first = CaptureReading::new(args, None, None);
        match CaptureSource::open(file) {
            Ok(source) => opened.captures = Captures::One(Box::new(source)),
            Err(error) => return unreadable(file, &error),
        }
        read = read_whole(args, &mut opened, &mut keys, &stop);
    }
    let (reading, broken_off) = match read {
        Ok(read) => read,
        Err(outcome) => return outcome,
    };
    let OpenedCaptures { name, captures, .. } = opened;
    let (found, broken) = reading.end(name);
    let name = &found.name;
    if let Some(error) = &broken_off {
        say(&format!("{name}: {error}; everything before it was read"));
    }
    if !args.keys.is_empty() && found.counts.opened == 0 {
        say(&format!(
            "{name}: the keys belong to none of its connections"
        ));
    }
    for caveat in text::caveats(&found.counts, captures.damaged(), captures.left_over()) {
        say(&format!("{name}: {caveat}"));
    }
    if found.counts.frames == 0 {
        return failed(&format!("{name}: it contains no packet"));
    }
    if let Err(ended) = found.show() {
        return ended;
    }
    for complaint in &broken {
        say(complaint);
    }
    if broken.is_empty() {
        Outcome::Done
    } else {
        Outcome::LimitMissed
    }
}

/// The captures that will be read.
struct OpenedCaptures {
    name: String,
    captures: Captures,
    far: Option<ClockRelation>,
    /// All secrets, if they were read before the capture.
    keys: Option<KeyLog>,
}

/// Reads everything. An error ends the reading, and is returned together with what was read before
/// it.
fn read_whole<'a>(
    args: &'a TraceArgs,
    opened: &mut OpenedCaptures,
    keys: &mut KeyFiles,
    stop: &AtomicBool,
) -> Result<(CaptureReading<'a>, Option<io::Error>), Outcome> {
    let known = opened.keys.take();
    // In a second reading of the same capture, those of the files are among them.
    let has_files = known.is_some() && opened.far.is_none();
    let mut reading = CaptureReading::new(args, opened.far, known);
    if !has_files && let Err((path, error)) = keys.add_all(&mut reading.trace) {
        return Err(failed(&format!("cannot read {}: {error}", name(&path))));
    }
    let captures = &mut opened.captures;
    let mut status = Status::new(args.quiet).after(DELAY).every(PACE);
    let mut broken_off = None;
    while !stop.load(Ordering::Relaxed) {
        match captures.read(&mut reading.trace, keys) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                broken_off = Some(error);
                break;
            }
        }
        reading.take();
        let counts = reading.trace.counts();
        status.show(|took| captures.progress(counts.frames, took));
    }
    status.hide();
    Ok((reading, broken_off))
}

/// Finds out how two captures relate, and prints it.
fn open_two(args: &TraceArgs, first: &Path, second: &Path) -> Result<OpenedCaptures, Outcome> {
    for file in [first, second] {
        CaptureSource::open(file).map_err(|error| unreadable(file, &error))?;
    }
    let names = format!("{} and {}", name(first), name(second));
    let mut keys = KeyLog::with_room(Trace::room_for_keys(memory(args) / 2));
    let relation = captures::relate([first, second], &mut Clocks::default(), &mut keys);
    let relation = relation.map_err(|error| failed(&format!("cannot read {names}: {error}")))?;
    let Some(relation) = relation else {
        return Err(failed(&format!(
            "{names} have too few TCP packets in common to compare their clocks"
        )));
    };
    let (near, far) = if relation.first_is_near {
        (first, second)
    } else {
        (second, first)
    };
    say(&text::clocks(&relation, &name(near), &name(far)));
    let pair = captures::CapturePair::open(near, far, relation)
        .map_err(|error| failed(&format!("cannot read {names}: {error}")))?;
    Ok(OpenedCaptures {
        name: names,
        captures: Captures::Two(Box::new(pair)),
        far: Some(relation),
        keys: Some(keys).filter(|keys| keys.connections() > 0),
    })
}

/// The limit in bytes.
fn memory(args: &TraceArgs) -> usize {
    usize::try_from(args.memory << 20).unwrap_or(usize::MAX)
}

fn unreadable(file: &Path, error: &io::Error) -> Outcome {
    failed(&format!("cannot read {}: {error}", name(file)))
}

/// The file's name, safe to show.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".into();
    }
    clean(&path.display().to_string())
}

/// A capture that is being read.
struct CaptureReading<'a> {
    args: &'a TraceArgs,
    trace: Trace,
    kept: KeptConversations,
    ranking: Ranking,
    broken: Vec<String>,
    /// The number of exchanges that missed a limit and are not among those.
    more_broken: u64,
}

impl<'a> CaptureReading<'a> {
    fn new(args: &'a TraceArgs, far: Option<ClockRelation>, keys: Option<KeyLog>) -> Self {
        let memory = memory(args);
        let in_detail = args.flow.is_some() || args.html.is_some() || args.write.is_some();
        let shows_all = args.json || in_detail;
        // The other half is for the results that are shown and for the file.
        let options = Options {
            memory: memory / 2,
            interface: args.interface,
            // Those of two captures are compared.
            steps: in_detail || far.is_some(),
            far,
        };
        Self {
            args,
            trace: match keys {
                Some(keys) => Trace::with_keys(options, keys),
                None => Trace::new(options),
            },
            kept: KeptConversations::new(if shows_all { memory / 4 } else { memory / 64 }),
            ranking: Ranking::default(),
            broken: Vec::new(),
            more_broken: 0,
        }
    }

    /// Takes the finished conversations.
    fn take(&mut self) {
        for conversation in self.trace.finished() {
            self.add(conversation);
        }
    }

    fn add(&mut self, conversation: Conversation) {
        if self
            .args
            .flow
            .is_some_and(|flow| flow != conversation.number)
        {
            return;
        }
        for exchange in &conversation.exchanges {
            self.judge(exchange);
        }
        self.ranking.add(&conversation);
        if self.args.ndjson {
            for result in json::results(&conversation) {
                OutputStream::Out.print_json(&(stamped(result).to_string() + "\n"));
            }
        } else {
            self.kept.push(conversation);
        }
    }

    fn judge(&mut self, exchange: &Exchange) {
        for limit in &self.args.fail_if {
            match limit.broken_by(exchange) {
                Some(_) if self.broken.len() >= COMPLAINTS => self.more_broken += 1,
                Some(value) => self.broken.push(limit.complaint(value, exchange)),
                None => {}
            }
        }
    }

    /// The result of the capture, and the limits that were missed.
    fn end(mut self, name: String) -> (CaptureResult<'a>, Vec<String>) {
        let keys = self.trace.take_keys();
        let trace = std::mem::replace(&mut self.trace, Trace::new(Options::default()));
        let (rest, counts) = trace.end();
        for conversation in rest {
            self.add(conversation);
        }
        if self.more_broken > 0 {
            let more = format!("and {} more limits missed", self.more_broken);
            self.broken.push(more);
        }
        let (all, left_out) = self.kept.end();
        let found = CaptureResult {
            args: self.args,
            name,
            keys,
            all,
            left_out,
            counts,
            ranking: self.ranking,
        };
        (found, self.broken)
    }
}

/// The result of a capture.
struct CaptureResult<'a> {
    args: &'a TraceArgs,
    name: String,
    keys: Option<KeyLog>,
    all: Vec<Conversation>,
    /// Exchanges that are not in `all`.
    left_out: u64,
    counts: CaptureCounts,
    ranking: Ranking,
}

impl CaptureResult<'_> {
    fn show(&self) -> Result<(), Outcome> {
        if let Some(flow) = self.args.flow
            && self.all.is_empty()
            && !self.args.ndjson
        {
            let most = self.counts.connections;
            return Err(Outcome::Usage(format!(
                "there is no connection {flow} in {}; it has {most}",
                self.name
            )));
        }
        if self.args.json {
            let document = json::document(
                &self.name,
                &self.counts,
                &self.ranking,
                &self.all,
                self.left_out,
            );
            if self.left_out > 0 {
                say(&format!(
                    "{}: {} of {} exchanges are not among the results, to keep within --memory; --ndjson has all",
                    self.name, self.left_out, self.ranking.exchanges
                ));
            }
            OutputStream::Out.print_json(&format!("{:#}\n", stamped(document)));
        } else if !self.args.ndjson {
            self.print();
        }
        if let Some(path) = &self.args.html {
            let head = provenance::here();
            let page = roundtrip_trace::page::page(
                &self.name,
                &self.counts,
                &self.ranking,
                &self.all,
                &head,
            );
            page::deliver(path, &page, true)?;
        }
        if let (Some(from), Some(to)) = (&self.args.file, &self.args.write) {
            let name = name(to);
            let evidence = Cut::from_conversations(self.worst());
            let from = (from.as_path(), self.args.interface);
            match cut::write(from, to, evidence, self.keys.as_ref()) {
                Ok(frames) => say(&format!("{frames} packets written to {name}")),
                Err(error) => return Err(failed(&format!("cannot write {name}: {error}"))),
            }
        }
        Ok(())
    }

    /// A connection without exchanges is shown only if it was asked for.
    fn is_shown(&self, conversation: &Conversation) -> bool {
        self.args.flow.is_some() || !conversation.exchanges.is_empty()
    }

    /// The connections that are shown: all of them if there are few; otherwise the slowest, and the
    /// examples of each cause.
    fn worst(&self) -> Vec<&Conversation> {
        let told = self.all.iter().filter(|c| self.is_shown(c));
        let mut worst: Vec<&Conversation> = told.collect();
        if self.ranking.exchanges <= WHOLE || self.args.flow.is_some() {
            return worst;
        }
        let causes = self.ranking.causes();
        let examples = causes.iter().flat_map(|cause| &cause.examples);
        let examples: HashSet<u64> = examples.map(|(_, number, _)| *number).collect();
        worst.sort_by_key(|c| Reverse(c.exchanges.iter().map(Exchange::total).max()));
        let mut place = 0..;
        worst.retain(|c| place.next() < Some(WRITTEN) || examples.contains(&c.number));
        worst
    }

    fn print(&self) {
        let style = OutputStream::Out.style(self.args.color);
        let out = |text: String| OutputStream::Out.print(text);
        out(text::head(&self.name, &self.counts, &self.ranking));
        let whole = self.args.flow.is_some() || self.ranking.exchanges <= WHOLE;
        let shown = self.all.iter().filter(|c| self.is_shown(c));
        for conversation in shown.filter(|_| whole && !self.args.quiet) {
            out("\n".into());
            out(text::vantage(conversation, &style));
            out(text::located(conversation, &style));
            out(text::exchanges(conversation, &style));
            if self.args.verbose {
                let details = conversation.exchanges.iter();
                out(details
                    .map(|e| roundtrip_report::text::details(e, &style))
                    .collect());
            }
            if self.args.verbose || self.args.flow.is_some() {
                out(text::undecidable(conversation, &style));
            }
            if self.args.flow.is_some() {
                out("\n".into());
                out(text::ladder(conversation, self.args.verbose, &style));
            }
        }
        if self.args.flow.is_some() {
            return;
        }
        if self.ranking.exchanges == 0 {
            out("no exchange was found: neither a request nor a failed connection\n".into());
        } else if !whole || self.args.quiet {
            out(text::ranking(&self.ranking, &style));
        }
    }
}
