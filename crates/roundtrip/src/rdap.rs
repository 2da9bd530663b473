//! `roundtrip rdap`: turns flags into options, and lookups into lines.

mod background;
mod conformance;
mod failures;
mod meaning;
mod pager;
mod progress;
mod server;
mod sink;
mod timing;
mod version;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::process;
use std::rc::Rc;
use std::time::{Duration, Instant};

use roundtrip_rdap::bulk::list::{self, Line};
use roundtrip_rdap::bulk::scheduler::{self, ListProgress, LookupService};
use roundtrip_rdap::client::{Client, Outcome as Found, Reserve};
use roundtrip_rdap::query::Query;
use roundtrip_rdap::text::{COLUMNS, Form, State};
use roundtrip_report::clean;
use tokio::runtime::Builder;

use crate::cli::RdapArgs;
use crate::output::{Outcome, OutputStream, failed, interrupted, note};
use crate::status::{DELAY, PACE, Status};
use failures::Failures;
use meaning::Meaning;
use pager::Backlog;
use sink::Sink;

/// How long to wait for IANA's registries after the last answer: on a terminal, and elsewhere.
const REGISTRY_TIMEOUT: Duration = Duration::from_secs(5);
const REGISTRY_GRACE: Duration = Duration::from_millis(200);
/// How long a terminal may wait for tickets, and for how many.
const MAX_SETTLING: Duration = Duration::from_secs(1);
const RESERVE: Reserve = Reserve {
    tickets: 1,
    token: false,
};

/// The exit code for "not registered", in addition to 0 found, 1 failed and 2 wrong usage.
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
    // Sockets and timers need the runtime, even before the first lookup.
    runtime.block_on(async {
        if let Some(url) = &args.asking.check_server {
            return server::check(args, url).await;
        }
        match Meaning::from_args(args) {
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
    let status = Status::new(args.output.quiet).after(DELAY).every(PACE);
    let status = RefCell::new(status);
    let progress = Cell::new(ListProgress::default());
    let mut failures = Failures::default();
    // Results go to the same terminal.
    let is_shared = OutputStream::Out.is_terminal() && args.output.output.is_none();
    let backlog = sink.borrow().backlog();
    let lookups = Rc::new(Lookups(meaning.client, backlog.clone()));
    let mut ends = Ends::default();
    let mut broken = None;
    let client = lookups.clone();
    let mut renewing = std::pin::pin!(client.0.renew_as_used());
    let served = {
        let show = || {
            if sink.borrow().is_paging() {
                return;
            }
            let line = |took| progress::line(progress.get(), meaning.length, &lookups.0, took);
            status.borrow_mut().show(line);
        };
        let tell = |line: Line, found: Found, tally: ListProgress| {
            ends.count(found.state());
            failures.count(&found);
            if is_shared {
                status.borrow_mut().hide();
            }
            broken = sink.borrow_mut().tell(line.place, &found).err();
            progress.set(tally);
            show();
            broken.is_none()
        };
        let skip = |place| sink.borrow().was_told(place);
        let lines = list::read(meaning.list);
        let serving = scheduler::serve(lookups.clone(), lines, meaning.order, skip, tell);
        tokio::select! {
            served = serving => Some(served),
            () = backlog.is_left() => Some(Ok(progress.get())),
            () = stopped() => None,
            never = every(PACE, &show) => match never {},
            never = &mut renewing => match never {},
        }
    };
    let took = began.elapsed();
    status.borrow_mut().hide();
    lookups.0.keep();
    let whole = matches!(served, Some(Ok(_))) && broken.is_none() && backlog.has_reader();
    let is_empty = matches!(&served, Some(Ok(tally)) if tally.read == 0);
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
        notes.extend(beside_answers(
            args,
            &meaning.form,
            total,
            &mut sink.borrow_mut(),
        ));
    }
    if !tells_reasons(args, &meaning.form) {
        notes.extend(failures.told());
    }
    if args.output.output.is_some() || meaning.form != Form::Readable {
        notes.extend(failures.astray());
    }
    if whole {
        notes.extend(sink.borrow().remedy(is_empty));
    }
    notes.extend(lookups.0.notes());
    if whole && !args.memory.offline {
        notes.extend(tokio::select! {
            told = refresh(&lookups.0) => told,
            never = &mut renewing => match never {},
        });
        // IANA's ticket arrived after the answers.
        lookups.0.keep();
        notes.extend(lookups.0.notes());
    }
    conclude(args, &lookups.0, sink, (whole, ended.code()), &notes).await;
    ended
}

/// Closes the connections and prints the notes. Tickets that servers send after early data are
/// waited for: on a terminal here, elsewhere in the background, where this process ends at once.
async fn conclude(
    args: &RdapArgs,
    client: &Client,
    sink: RefCell<Sink>,
    (whole, code): (bool, u8),
    notes: &[String],
) {
    let is_terminal = OutputStream::Out.is_terminal();
    let settles_later = whole && !is_terminal && !args.memory.no_background;
    if whole && is_terminal {
        client.settle(RESERVE, MAX_SETTLING).await;
    }
    if !settles_later {
        client.pool().close().await;
    }
    let pager = sink.borrow_mut().pager();
    if let Some(pager) = pager {
        pager.wait().await;
    }
    drop(sink);
    if !args.output.quiet {
        for told in notes {
            note("rdap", told);
        }
    }
    if settles_later {
        background::settle(client, code).await;
        client.pool().close().await;
    }
}

/// Waits for IANA's registries: long if a person reads in the meantime, and only briefly for a
/// script, which did not ask for them.
async fn refresh(client: &Client) -> Vec<String> {
    if OutputStream::Out.is_terminal() {
        client.refresh(REGISTRY_TIMEOUT).await
    } else {
        client.refresh_briefly(REGISTRY_GRACE).await
    }
}

/// Prints what belongs after the answers if people read them; otherwise prints a note.
fn beside_answers(args: &RdapArgs, form: &Form, line: String, sink: &mut Sink) -> Option<String> {
    let into_file = args
        .output
        .output
        .as_ref()
        .is_some_and(|o| o.as_os_str() != "-");
    if !form.is_text() || into_file {
        return Some(line);
    }
    sink.print(format!("timing: {}\n", clean(&line)).into_bytes());
    None
}

/// Whether the results themselves show their reader why lookups failed.
fn tells_reasons(args: &RdapArgs, form: &Form) -> bool {
    args.output.output.is_none() && (form.is_text() || *form == Form::Ndjson)
}

/// Calls `what` again and again, at this pace.
async fn every(pace: Duration, what: impl Fn()) -> Infallible {
    loop {
        tokio::time::sleep(pace).await;
        what();
    }
}

struct Lookups(Client, Backlog);

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
        self.1.is_read().await;
        self.0.look_up(&query).await
    }

    fn may_pass(&self, found: &Found) -> bool {
        found.failed_at_a_server()
    }

    fn size(&self, found: &Found) -> usize {
        found.size()
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

    /// In a list, a name that is not registered is a valid result and not a failure. A resumed list
    /// counts as a whole, even if an earlier run printed most of it.
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
        OutputStream::Out.print(format!("{:width$}  {}\n", column.name, column.what));
    }
    OutputStream::Out.print(format!(
        "{:width$}  a JSON pointer into the answer, or into the registrar's: registrar:/handle\n",
        "/…"
    ));
    Outcome::Done
}

/// Waits for Ctrl-C. A second one ends the process at once.
async fn stopped() {
    interrupted().await;
    tokio::spawn(async {
        interrupted().await;
        process::exit(130);
    });
}
