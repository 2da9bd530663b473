//! One request from beginning to end; everything that was learnt becomes an `Exchange`.

mod echo;
mod retry;
mod several;

use roundtrip_http::{BodyEnd, HttpError, Request, RequestRecorder, RequestRun, Sink};
use roundtrip_model::{Event, Exchange, HttpFacts, Moment, NotKept, Strategy};

use crate::ProbeError;
use crate::connection::OpenConnection;
use crate::exchanger::{Exchanger, Transaction};
use crate::names::Requester;
use crate::output::Output;
pub(crate) use echo::echo;
pub(crate) use several::{ONE_BY_ONE, ParallelRequest, ParallelResult, exchange_all};

/// The answer to one request, as far as it has arrived.
#[derive(Default)]
struct PartialAnswer {
    facts: HttpFacts,
    /// The time of the last byte, taken before the counters are read.
    ended: Option<Moment>,
}

/// Sends one request, on the kept connection or on a new one, and reads the answer's body into
/// `sink`.
pub(crate) async fn exchange(
    exchanger: &mut Exchanger,
    request: &Request,
    strategy: Strategy,
    sink: &mut dyn Sink,
) -> Exchange {
    let mut transaction = exchanger.begin(request, strategy);
    let mut answer = PartialAnswer::default();
    answer.facts.method.clone_from(&request.method);
    let limit = exchanger.time_limit();
    let attempt = attempt(exchanger, &mut transaction, &mut answer, sink);
    let error = limit.bound(attempt).await.err();
    let Transaction {
        recorder,
        mut observed,
        mut exchange,
        ..
    } = transaction;
    let ended = answer.ended.unwrap_or_else(|| {
        exchanger.mark_end();
        recorder.now()
    });
    recorder.record_at(ended, Event::Finished);
    // The counters of a failed connection add to its timeline.
    observed.settle();
    exchange.timeline = recorder.snapshot();
    let target = &request.target;
    exchanger.look_up_again(&mut exchange).await;
    exchanger.conclude(
        &mut exchange,
        target,
        answer.facts,
        &observed,
        error.as_ref(),
    );
    exchanger.interruption().ended();
    if !exchange.reused {
        exchanger.kept().note_beyond(exchange.beyond());
    }
    exchanger.remember(&exchange, target);
    exchange
}

/// Sends the request, and sends it once more if the kept connection turns out to be closed.
async fn attempt(
    exchanger: &mut Exchanger,
    transaction: &mut Transaction<'_>,
    answer: &mut PartialAnswer,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let why = exchanger.kept().take_reason(&transaction.request.target);
    transaction.exchange.not_kept = why.filter(|_| !transaction.exchange.reused);
    transaction.exchange.kept = transaction.kept_facts();
    let mut open = exchanger.connection(transaction).await?;
    let mut outcome = ask(exchanger, transaction, answer, &mut open, sink).await;
    let careful = exchanger.counts().is_in_sequence();
    if transaction.exchange.reused && retry::may_ask_again(&outcome, &answer.facts, careful) {
        let recorder = &transaction.recorder;
        let lost = retry::lost_trip(&recorder.snapshot(), recorder.now(), open.min_rtt());
        exchanger.counts().count_lost_trips(lost);
        // The server closed the idle connection while the request was on its way. RFC 9112 §9.3.1.
        transaction
            .observed
            .notes
            .push("the server had closed the kept connection: opened a new one".into());
        transaction.exchange.reused = false;
        transaction.exchange.kept = None;
        transaction.exchange.not_kept = Some(NotKept::Crossed);
        exchanger.begin_again(transaction);
        open = exchanger.connection(transaction).await?;
        outcome = ask(exchanger, transaction, answer, &mut open, sink).await;
    }
    answer.ended = Some(transaction.recorder.now());
    let (uploaded, whole) = (answer.facts.uploaded, transaction.request.body.len() as u64);
    if outcome.is_ok() && uploaded < whole {
        let note =
            format!("the answer came when {uploaded} of {whole} bytes of the body were sent");
        transaction.observed.notes.push(note);
    }
    exchanger.mark_end();
    transaction.exchange.rtt = open.min_rtt();
    exchanger.read_gauges(transaction, &open);
    // HTTP/2 and HTTP/3 announce the end in a frame beside the answer (GOAWAY).
    if outcome.is_ok() && answer.facts.keep_alive && open.is_usable() {
        exchanger.kept().keep(open);
    } else if outcome.is_ok() {
        exchanger.kept().drop_for(NotKept::Announced, open);
    }
    Ok(outcome?)
}

async fn ask(
    exchanger: &Exchanger,
    transaction: &Transaction<'_>,
    answer: &mut PartialAnswer,
    open: &mut OpenConnection,
    sink: &mut dyn Sink,
) -> Result<(), HttpError> {
    answer.facts = HttpFacts {
        proxy_status: open.proxy_status(),
        ..HttpFacts::default()
    };
    let mut output = Output::new(sink, &transaction.recorder);
    let turn = RequestRun {
        request: transaction.request,
        decode: exchanger.options().compressed,
        recorder: RequestRecorder::alone(&transaction.recorder),
        sink: &mut output,
        body_end: BodyEnd::Stream,
        facts: &mut answer.facts,
    };
    open.exchange(turn).await
}

/// Carries queries to a DNS-over-HTTPS server.
impl Requester for Exchanger {
    async fn request(&mut self, request: &Request, sink: &mut dyn Sink) -> Exchange {
        exchange(self, request, Strategy::default(), sink).await
    }

    async fn retire(&mut self) {
        self.kept().retire().await;
    }
}
