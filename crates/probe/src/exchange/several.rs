//! One connection and several simultaneous requests on it. Each request has a separate timeline,
//! which does not include the connection's bytes, and a separate end.

use roundtrip_http::{BodyEnd, Request, RequestRecorder, RequestRun, Sink};
use roundtrip_model::{Event, Exchange, HttpFacts, Moment, Recorder, Strategy, Timeline};
use tokio::task::JoinHandle;

use super::retry::{lost_trip, went_with_connection};
use crate::ProbeError;
use crate::exchanger::{Exchanger, Transaction};
use crate::output::Output;

/// HTTP/1.1 pipelining is not used: responses are sent in order, so one delays the next, and after
/// a failure nobody knows which requests the server acted upon. RFC 9112 §9.3.2.
pub(crate) const ONE_BY_ONE: &str =
    "HTTP/1.1 answers one request at a time; simultaneous requests need h2 or h3";

/// One of several simultaneous requests, and the destination of its body.
pub(crate) struct ParallelRequest<'a, K> {
    pub(crate) request: &'a Request,
    pub(crate) strategy: Strategy,
    pub(crate) run: u32,
    pub(crate) hop: u32,
    pub(crate) sink: K,
}

/// The result for one of several requests.
pub(crate) struct ParallelResult<'a, K> {
    pub(crate) part: ParallelRequest<'a, K>,
    pub(crate) exchange: Exchange,
    /// The connection ended and took the request with it; this many round trips were lost.
    pub(crate) lost: Option<u32>,
}

/// A part that is in progress.
struct Running<'a, K> {
    part: ParallelRequest<'a, K>,
    facts: HttpFacts,
    /// Records the boundaries of this request.
    own: Recorder,
}

/// The time and outcome of a part, once it has ended.
type End = Option<(Moment, Result<(), ProbeError>)>;

/// The facts that all parts share at the end.
struct Common<'a> {
    transaction: Transaction<'a>,
    timeline: Timeline,
    over: Moment,
    /// The error of parts that have not ended.
    error: ProbeError,
}

/// Sends all requests at once, on the kept connection or on a new one. Connections that are not
/// kept close in the background, in tasks that join `leaving`.
pub(crate) async fn exchange_all<'a, K: Sink>(
    exchanger: &mut Exchanger,
    parts: Vec<ParallelRequest<'a, K>>,
    leaving: &mut Vec<JoinHandle<()>>,
) -> Vec<ParallelResult<'a, K>> {
    let Some(first) = parts.first() else {
        return Vec::new();
    };
    let asked = first.strategy;
    // One part that can no longer use early data prevents it for the others.
    let other = parts.iter().map(|p| p.strategy).find(|s| *s != asked);
    let mut transaction = exchanger.begin(first.request, other.unwrap_or(asked));
    let recorder = transaction.recorder.clone();
    let zero = exchanger.now();
    let mut running: Vec<_> = parts.into_iter().map(|p| start(p, &recorder)).collect();
    let mut ends: Vec<End> = running.iter().map(|_| None).collect();
    let (limit, max_time) = (exchanger.time_limit(), exchanger.options().time_left());
    let carried = carry(
        exchanger,
        &mut transaction,
        &mut running,
        &mut ends,
        leaving,
    );
    let outcome = limit.bound(carried).await;
    let over = recorder.now();
    let ended = |end: &End| end.as_ref().map_or(over, |(at, _)| *at);
    let last = ends.iter().map(ended).max().unwrap_or_default();
    exchanger.counts().mark_end(zero + last.since(Moment::ZERO));
    exchanger.interruption().ended();
    transaction.observed.settle();
    let common = Common {
        transaction,
        timeline: recorder.snapshot(),
        over,
        error: outcome.err().unwrap_or(ProbeError::Timeout(max_time)),
    };
    let ended = running.into_iter().zip(ends);
    ended
        .map(|(running, end)| conclude(exchanger, running, &end, &common))
        .collect()
}

fn start<'a, K>(part: ParallelRequest<'a, K>, recorder: &Recorder) -> Running<'a, K> {
    Running {
        facts: HttpFacts {
            method: part.request.method.clone(),
            ..HttpFacts::default()
        },
        own: recorder.branch(),
        part,
    }
}

/// Opens the connection if none was kept, and sends all requests on it.
async fn carry<K: Sink>(
    exchanger: &mut Exchanger,
    transaction: &mut Transaction<'_>,
    running: &mut [Running<'_, K>],
    ends: &mut [End],
    leaving: &mut Vec<JoinHandle<()>>,
) -> Result<(), ProbeError> {
    let mut open = exchanger.connection(transaction).await?;
    if running.len() > 1 && !open.has_streams() {
        exchanger.read_gauges(transaction, &open);
        leaving.push(tokio::spawn(open.close()));
        let (strategy, why) = (transaction.strategy, ONE_BY_ONE);
        return Err(ProbeError::Strategy { strategy, why });
    }
    let recorder = &transaction.recorder;
    let (mut outputs, mut asked) = (Vec::new(), Vec::new());
    for one in running {
        one.facts.proxy_status = open.proxy_status();
        outputs.push(Output::new(&mut one.part.sink, recorder));
        asked.push((one.part.request, &one.own, &mut one.facts));
    }
    let turns = asked.into_iter().zip(&mut outputs);
    let turns = turns.map(|((request, own, facts), sink)| RequestRun {
        request,
        decode: exchanger.options().compressed,
        recorder: RequestRecorder::beside(recorder, own),
        sink,
        body_end: BodyEnd::Stream,
        facts,
    });
    let turns = turns.collect();
    let mut ended = |place, outcome: Result<(), _>| {
        if let Some(end) = ends.get_mut(place) {
            *end = Some((recorder.now(), outcome.map_err(ProbeError::Http)));
        }
    };
    open.exchange_all(turns, &mut ended).await;
    transaction.exchange.rtt = open.min_rtt();
    exchanger.read_gauges(transaction, &open);
    if ends.iter().all(|end| matches!(end, Some((_, Ok(()))))) {
        exchanger.kept().keep(open);
    } else {
        leaving.push(tokio::spawn(open.close()));
    }
    Ok(())
}

/// Builds the exchange of one part.
fn conclude<'a, K>(
    exchanger: &mut Exchanger,
    running: Running<'a, K>,
    end: &End,
    common: &Common<'_>,
) -> ParallelResult<'a, K> {
    let Running { part, facts, own } = running;
    let (at, error) = match end {
        Some((at, Ok(()))) => (*at, None),
        Some((at, Err(error))) => (*at, Some(error)),
        None => (common.over, Some(&common.error)),
    };
    own.record_at(at, Event::Finished);
    let mut exchange = Exchange {
        url: part.request.target.redacted(),
        run: part.run,
        hop: part.hop,
        timeline: together(&common.timeline, &own.snapshot(), at),
        ..common.transaction.exchange.clone()
    };
    let taken = match error {
        Some(ProbeError::Http(error)) => went_with_connection(error, &facts),
        _ => false,
    };
    let observed = &common.transaction.observed;
    exchanger.conclude(&mut exchange, &part.request.target, facts, observed, error);
    let lost = taken.then(|| lost_trip(&exchange.timeline, at, exchange.rtt));
    ParallelResult {
        part,
        exchange,
        lost,
    }
}

/// Merges the connection's events until a request's end with the request's own events.
fn together(connection: &Timeline, own: &Timeline, end: Moment) -> Timeline {
    let mut whole = Timeline::default();
    for (at, event) in connection.iter().filter(|(at, _)| *at <= end) {
        whole.push(*at, event.clone());
    }
    for (at, event) in own.iter() {
        whole.push(*at, event.clone());
    }
    whole
}
