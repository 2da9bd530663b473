//! `roundtrip rdap`: flags become options, lookups become lines.

mod conformance;
mod meaning;
mod progress;
mod sink;
mod timing;
mod version;

use std::cell::RefCell;
use std::process;
use std::rc::Rc;
use std::time::Instant;

use roundtrip_rdap::bulk::list::{self, Line};
use roundtrip_rdap::bulk::scheduler::{self, ListProgress, LookupService};
use roundtrip_rdap::client::{Client, Outcome as Found};
use roundtrip_rdap::query::Query;
use roundtrip_rdap::text::{COLUMNS, Form, State};
use roundtrip_report::clean;
use tokio::runtime::Builder;

use crate::cli::RdapArgs;
use crate::output::{Outcome, Stream, failed, interrupted, note};
use crate::status::{PACE, PATIENCE, Status};
use meaning::Meaning;
use sink::Sink;

/// Beside 0 found, 1 failed and 2 wrong usage.
const NOT_REGISTERED: u8 = 4;
const REFUSED: u8 = 5;

pub(crate) fn run(args: &RdapArgs) -> Outcome {
    if args.version {
        return version::show(args);
    }
    let began = Instant::now();
    if args.output.columns.iter().any(|c| c == "help") {
        return show_columns();
    }
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start: {error}")),
    };
    // Sockets and timers need the runtime, even before anything is asked.
    runtime.block_on(async {
        match Meaning::of(args) {
            Ok(meaning) => serve(args, meaning, began).await,
            Err(error) => Outcome::Usage(error.to_string()),
        }
    })
}

async fn serve(args: &RdapArgs, meaning: Meaning, began: Instant) -> Outcome {
    let sink = match Sink::open(args, &meaning.form) {
        Ok(sink) => RefCell::new(sink),
        Err(error) => return failed(&error),
    };
    let mut status = Status::new(args.output.quiet).after(PATIENCE).every(PACE);
    // Results go to the same terminal.
    let is_shared = Stream::Out.is_terminal() && args.output.output.is_none();
    let lookups = Rc::new(Lookups(meaning.client));
    let mut ends = Ends::default();
    let mut broken = None;
    let served = {
        let tell = |line: Line, found: Found, tally: ListProgress| {
            ends.count(found.state());
            if is_shared {
                status.hide();
            }
            broken = sink.borrow_mut().tell(line.place, &found).err();
            status.show(|took| progress::line(tally, meaning.length, &lookups.0, took));
            broken.is_none()
        };
        let skip = |place| sink.borrow().was_told(place);
        let lines = list::read(meaning.list);
        let serving = scheduler::serve(lookups.clone(), lines, meaning.order, skip, tell);
        tokio::select! {
            served = serving => Some(served),
            () = stopped() => None,
        }
    };
    let took = began.elapsed();
    status.hide();
    lookups.0.keep();
    let whole = matches!(served, Some(Ok(_))) && broken.is_none();
    let finished = sink.borrow_mut().finish(whole).err();
    let ended = match (broken.or(finished), served) {
        (Some(error), _) => failed(&error),
        (None, Some(Err(error))) => failed(&error),
        (None, Some(Ok(_))) if sink.borrow().has_violations() => Outcome::Failed,
        (None, Some(Ok(tally))) => ends.outcome(tally.read),
        (None, None) => match sink.borrow().advice() {
            Some(advice) => failed(&format!("interrupted; {advice}")),
            None => failed(&"interrupted"),
        },
    };
    let mut notes = Vec::new();
    if args.output.timing {
        let total = timing::total(ends.count_all(), took);
        notes.extend(beside_answers(args, &meaning.form, total));
    }
    notes.extend(lookups.0.notes());
    if whole && !args.memory.offline {
        notes.extend(lookups.0.refresh().await);
        notes.extend(lookups.0.notes());
    }
    // A person reads meanwhile; a script would pay now for what the next run may spare.
    if whole && Stream::Out.is_terminal() {
        lookups.0.settle().await;
    }
    lookups.0.pool().close().await;
    if !args.output.quiet {
        for told in notes {
            note("rdap", &told);
        }
    }
    ended
}

/// Prints what belongs behind the answers where people read them; elsewhere it is a note.
fn beside_answers(args: &RdapArgs, form: &Form, line: String) -> Option<String> {
    let into_file = args
        .output
        .output
        .as_ref()
        .is_some_and(|o| o.as_os_str() != "-");
    if !form.is_text() || into_file {
        return Some(line);
    }
    Stream::Out.print(format!("timing: {}\n", clean(&line)));
    None
}

struct Lookups(Client);

impl LookupService for Lookups {
    type Query = Query;
    type Outcome = Found;

    fn read(&self, text: &str) -> Result<Query, Found> {
        self.0.read(text).map_err(|e| Found::unread(text, &e))
    }

    fn lane(&self, query: &Query) -> Rc<str> {
        self.0.lane(query)
    }

    async fn ask(&self, query: Query) -> Found {
        self.0.look_up(&query).await
    }
}

/// How lookups ended, counted.
#[derive(Default)]
struct Ends {
    found: u64,
    not_registered: u64,
    refused: u64,
    failed: u64,
}

impl Ends {
    fn count(&mut self, state: State) {
        *match state {
            State::Found => &mut self.found,
            State::NotRegistered => &mut self.not_registered,
            State::Refused => &mut self.refused,
            State::Failed => &mut self.failed,
        } += 1;
    }

    fn count_all(&self) -> u64 {
        self.found + self.not_registered + self.refused + self.failed
    }

    /// Of many, those that are not registered are no failure: they are what was asked for. Many are many also where an
    /// earlier run has told most of them.
    fn outcome(&self, asked: u64) -> Outcome {
        let alone = asked == 1;
        match self {
            ends if ends.failed > 0 => Outcome::Failed,
            ends if ends.refused > 0 => Outcome::Of(REFUSED),
            ends if ends.not_registered > 0 && alone => Outcome::Of(NOT_REGISTERED),
            _ => Outcome::Done,
        }
    }
}

fn show_columns() -> Outcome {
    let width = COLUMNS.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for column in &COLUMNS {
        Stream::Out.print(format!("{:width$}  {}\n", column.name, column.what));
    }
    Stream::Out.print(format!(
        "{:width$}  a JSON pointer into the answer, or into the registrar's: registrar:/handle\n",
        "/…"
    ));
    Outcome::Done
}

/// A second Ctrl-C ends the process at once.
async fn stopped() {
    interrupted().await;
    tokio::spawn(async {
        interrupted().await;
        process::exit(130);
    });
}
