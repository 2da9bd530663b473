//! Several requests measured as one: each on a new connection, one after another on one connection,
//! or all at once on one.
//!
//! Owns the sequence as a whole: its time, its round trips, its connections. `at_once` carries
//! simultaneous requests, `hops` each of the others.

mod at_once;

use std::io::Sink as Nowhere;
use std::time::Duration;

use roundtrip_http::Sink;
use roundtrip_model::{Exchange, Http, Scheme, Strategy, Target};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::connection::OpenConnection;
use crate::exchange::ONE_BY_ONE;
use crate::exchanger::Exchanger;
use crate::{ProbeError, hops, priming};

/// How several requests share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionUse {
    /// Each request uses a new connection, opened according to the strategy.
    Each,
    /// All requests use one connection, which the first one opens; the others follow, one after
    /// another.
    Kept,
    /// All requests leave at once on one connection. This needs HTTP/2 or 3, and one origin.
    AtOnce,
}

/// One request of a sequence, and the destination of its body.
#[derive(Debug)]
pub struct SequenceRequest<S> {
    pub target: Target,
    pub sink: S,
}

impl SequenceRequest<Nowhere> {
    /// Makes a request whose body is read and dropped.
    pub fn bodiless(target: Target) -> Self {
        let sink = std::io::sink();
        Self { target, sink }
    }
}

/// The result of a sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub manner: ConnectionUse,
    pub asked: Strategy,
    /// For each request, in order, its hops: redirects, and repeated attempts. The last hop is the
    /// answer or the failure.
    pub hops: Vec<Vec<Exchange>>,
    /// The time from the start to the end of the last answer, without the unmeasured request.
    pub took: Duration,
    /// The round trips on the critical path, as counted in the exchanges. Simultaneous ones count
    /// once.
    pub round_trips: u32,
    /// The number of connections that were opened.
    pub connections: u32,
}

impl Sequence {
    /// Returns each request's answer or failure, in order.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.hops.iter().filter_map(|hops| hops.last())
    }

    /// Whether every request was answered.
    pub fn ok(&self) -> bool {
        self.exchanges().all(Exchange::ok)
    }
}

/// Makes all requests in this manner.
pub(crate) async fn run<S: Sink>(
    exchanger: &mut Exchanger,
    asks: &mut [SequenceRequest<S>],
    manner: ConnectionUse,
) -> Sequence {
    if let Some(error) = refusal(exchanger, asks, manner) {
        return refuse(exchanger, asks, manner, &error);
    }
    let asked = exchanger.options().strategy;
    let needs_priming = priming::is_needed(exchanger);
    if let Some(first) = asks.first().filter(|_| needs_priming) {
        priming::prime(exchanger, &first.target).await;
    }
    let keeps = asked.reuse && manner != ConnectionUse::Each;
    if !keeps {
        exchanger.kept().retire().await;
    }
    let began = exchanger.now();
    exchanger.counts().start_sequence(began);
    exchanger.kept().forget_reason();
    let mut leaving = Vec::new();
    let (hops, round_trips) = match manner {
        ConnectionUse::Each => each(exchanger, asks, &mut leaving).await,
        ConnectionUse::Kept => kept(exchanger, asks).await,
        ConnectionUse::AtOnce => at_once::run(exchanger, asks, &mut leaving).await,
    };
    let counts = exchanger.counts().end_sequence();
    exchanger.kept().forget_reason();
    // Closing takes time, but no request waits for it.
    for goodbye in leaving {
        let _ = goodbye.await;
    }
    if !keeps {
        exchanger.kept().retire().await;
    }
    Sequence {
        manner,
        asked,
        hops,
        took: counts.ended().since(began),
        round_trips: round_trips + counts.lost_trips(),
        connections: counts.connections(),
    }
}

/// The reason why the sequence is not possible, before anything is tried.
fn refusal<S>(
    exchanger: &Exchanger,
    asks: &[SequenceRequest<S>],
    manner: ConnectionUse,
) -> Option<ProbeError> {
    let strategy = exchanger.options().strategy;
    let several = asks.len() > 1;
    let clear = |t: &Target| t.scheme == Scheme::Http && strategy.http == Http::Auto;
    let targets = || asks.iter().map(|ask| &ask.target);
    let why = if manner != ConnectionUse::Each && targets().any(|t| t.scheme == Scheme::Tcp) {
        "the echo uses a new connection for each greeting"
    } else if manner != ConnectionUse::AtOnce {
        return None;
    } else if several && (strategy.http == Http::H1 || targets().any(clear)) {
        ONE_BY_ONE
    } else if targets().any(|t| targets().next().is_some_and(|first| !first.same_origin(t))) {
        "simultaneous requests on one connection need the same origin"
    } else {
        return None;
    };
    Some(ProbeError::Strategy { strategy, why })
}

fn refuse<S>(
    exchanger: &Exchanger,
    asks: &[SequenceRequest<S>],
    manner: ConnectionUse,
    error: &ProbeError,
) -> Sequence {
    let asks = asks.iter().enumerate();
    let refused = asks.map(|(n, ask)| vec![exchanger.refused(&ask.target, n as u32, error)]);
    Sequence {
        manner,
        asked: exchanger.options().strategy,
        hops: refused.collect(),
        took: Duration::ZERO,
        round_trips: 0,
        connections: 0,
    }
}

async fn each<S: Sink>(
    exchanger: &mut Exchanger,
    asks: &mut [SequenceRequest<S>],
    leaving: &mut Vec<JoinHandle<()>>,
) -> (Vec<Vec<Exchange>>, u32) {
    let reuse = false;
    let strategy = Strategy {
        reuse,
        ..exchanger.options().strategy
    };
    let (over, _) = watch::channel(());
    let mut all = Vec::new();
    for (run, ask) in asks.iter_mut().enumerate() {
        let hops = hops::ask(exchanger, &ask.target, strategy, run as u32, &mut ask.sink);
        all.push(hops.await);
        let spent = exchanger.kept().take();
        leaving.extend(spent.map(|open| tokio::spawn(linger(open, over.subscribe()))));
    }
    let trips = all.iter().flatten().map(Exchange::round_trips).sum();
    (all, trips)
}

async fn kept<S: Sink>(
    exchanger: &mut Exchanger,
    asks: &mut [SequenceRequest<S>],
) -> (Vec<Vec<Exchange>>, u32) {
    let mut strategy = exchanger.options().strategy;
    let mut all: Vec<Vec<Exchange>> = Vec::new();
    for (run, ask) in asks.iter_mut().enumerate() {
        let known = exchanger.kept().is_some();
        let hops = hops::ask(exchanger, &ask.target, strategy, run as u32, &mut ask.sink);
        let mut hops = hops.await;
        if let (Some(last), Some(first)) = (all.last(), hops.first_mut()) {
            note_why_reopened(last, first, known);
        }
        all.push(hops);
        strategy.reuse = true;
    }
    let trips = all.iter().flatten().map(Exchange::round_trips).sum();
    (all, trips)
}

/// Holds a connection that has finished its work until all requests have ended: tickets for later
/// ones may still be in transit. HTTP/2 and 3 continue to read by themselves.
async fn linger(mut open: OpenConnection, mut over: watch::Receiver<()>) {
    let reading = async {
        let mut buffer = [0; 1024];
        if let Some(stream) = open.stream() {
            while matches!(stream.read(&mut buffer).await, Ok(n) if n > 0) {}
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reading => {}
        // Nothing is ever sent: the receiver resolves when its sender is dropped.
        _ = over.changed() => {}
    }
    open.close().await;
}

/// Records why a request that should have used an open connection had to open one.
fn note_why_reopened(before: &[Exchange], exchange: &mut Exchange, known: bool) {
    if exchange.reused || !exchange.notes.is_empty() {
        return;
    }
    let answer = before.last().and_then(|last| last.http.as_ref());
    let note = match answer {
        Some(http) if !http.keep_alive => {
            "the server had announced that it would close the connection: opened a new one"
        }
        Some(_) if known => "the kept connection could not be used: opened a new one",
        _ => "no connection was left open: opened a new one",
    };
    exchange.notes.push(note.into());
}
