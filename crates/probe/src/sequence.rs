//! Several requests as one measured thing: each on a connection of its own, one after another on one, or at once on one.
//!
//! Owns the whole: its time, its round trips, its connections. `at_once` carries what goes out together, `exchange` each
//! of the others.

use std::io::Sink as Nowhere;
use std::time::Duration;

use roundtrip_http::Sink;
use roundtrip_model::{Exchange, Http, Scheme, Strategy, Target};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::again::Tally;
use crate::open::{Open, origin};
use crate::{ProbeError, Prober};

/// How several requests share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A new connection for each, opened as the strategy says.
    Each,
    /// One connection, opened by the first; the others follow on it, one after another.
    Kept,
    /// One connection, and all requests leave at once. Needs HTTP/2 or 3, and one origin.
    AtOnce,
}

/// One request of a sequence, and where its body goes.
#[derive(Debug)]
pub struct Ask<S> {
    pub target: Target,
    pub sink: S,
}

impl Ask<Nowhere> {
    /// The body is read and dropped.
    pub fn bodiless(target: Target) -> Self {
        let sink = std::io::sink();
        Self { target, sink }
    }
}

/// What became of a sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub manner: Manner,
    pub asked: Strategy,
    /// For each request, in their order, its hops: redirects, and attempts that had to be repeated. The last is the
    /// answer or the failure.
    pub hops: Vec<Vec<Exchange>>,
    /// From the start to the end of the last answer; what a warm strategy presumes was there before.
    pub took: Duration,
    /// Round trips on the critical path, as counted in the exchanges: what went at once counts once.
    pub round_trips: u32,
    /// Connections that were opened.
    pub connections: u32,
}

impl Sequence {
    /// Each request's answer or failure, in their order.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.hops.iter().filter_map(|hops| hops.last())
    }

    /// Was every request answered?
    pub fn ok(&self) -> bool {
        self.exchanges().all(Exchange::ok)
    }
}

impl Prober {
    /// Asks for all targets, in this manner; bodies are dropped.
    pub async fn sequence(&mut self, targets: &[Target], manner: Manner) -> Sequence {
        let mut asks: Vec<_> = targets.iter().cloned().map(Ask::bodiless).collect();
        self.sequence_into(&mut asks, manner).await
    }

    /// The same, with a place for each body.
    pub async fn sequence_into<S: Sink>(
        &mut self,
        asks: &mut [Ask<S>],
        manner: Manner,
    ) -> Sequence {
        if let Some(error) = self.refusal(asks, manner) {
            return self.refuse(asks, manner, &error);
        }
        let asked = self.options.strategy;
        let unprimed = asked.is_warm() && !self.options.cold && !self.primed;
        if let Some(first) = asks.first().filter(|_| unprimed) {
            self.prime(&first.target).await;
        }
        let keeps = asked.reuse && manner != Manner::Each;
        if !keeps {
            self.retire().await;
        }
        let began = self.clock.now();
        self.tally = Tally {
            over: began,
            careful: true,
            ..Tally::default()
        };
        let mut leaving = Vec::new();
        let (hops, round_trips) = match manner {
            Manner::Each => self.each(asks, &mut leaving).await,
            Manner::Kept => self.kept(asks).await,
            Manner::AtOnce => self.at_once(asks, &mut leaving).await,
        };
        let tally = std::mem::take(&mut self.tally);
        // Goodbyes take time, which is nobody's who waits for answers.
        for goodbye in leaving {
            let _ = goodbye.await;
        }
        if !keeps {
            self.retire().await;
        }
        Sequence {
            manner,
            asked,
            hops,
            took: tally.over.since(began),
            round_trips: round_trips + tally.lost_trips,
            connections: tally.connections,
        }
    }

    fn refuse<S>(&self, asks: &[Ask<S>], manner: Manner, error: &ProbeError) -> Sequence {
        let asks = asks.iter().enumerate();
        let refused = asks.map(|(n, ask)| vec![self.refused(&ask.target, n as u32, error)]);
        Sequence {
            manner,
            asked: self.options.strategy,
            hops: refused.collect(),
            took: Duration::ZERO,
            round_trips: 0,
            connections: 0,
        }
    }

    async fn each<S: Sink>(
        &mut self,
        asks: &mut [Ask<S>],
        leaving: &mut Vec<JoinHandle<()>>,
    ) -> (Vec<Vec<Exchange>>, u32) {
        let reuse = false;
        let strategy = Strategy {
            reuse,
            ..self.options.strategy
        };
        let (over, _) = watch::channel(());
        let mut all = Vec::new();
        for (run, ask) in asks.iter_mut().enumerate() {
            let hops = self.hops(&ask.target, strategy, run as u32, &mut ask.sink);
            all.push(hops.await);
            let spent = self.idle.take();
            leaving.extend(spent.map(|open| tokio::spawn(linger(open, over.subscribe()))));
        }
        let trips = all.iter().flatten().map(Exchange::round_trips).sum();
        (all, trips)
    }

    async fn kept<S: Sink>(&mut self, asks: &mut [Ask<S>]) -> (Vec<Vec<Exchange>>, u32) {
        let mut strategy = self.options.strategy;
        let mut all: Vec<Vec<Exchange>> = Vec::new();
        for (run, ask) in asks.iter_mut().enumerate() {
            let known = self.idle.is_some();
            let hops = self.hops(&ask.target, strategy, run as u32, &mut ask.sink);
            let mut hops = hops.await;
            if let (Some(last), Some(first)) = (all.last(), hops.first_mut()) {
                told_why_anew(last, first, known);
            }
            all.push(hops);
            strategy.reuse = true;
        }
        let trips = all.iter().flatten().map(Exchange::round_trips).sum();
        (all, trips)
    }

    /// What cannot be done is known before anything is.
    fn refusal<S>(&self, asks: &[Ask<S>], manner: Manner) -> Option<ProbeError> {
        let strategy = self.options.strategy;
        let several = asks.len() > 1;
        let clear = |t: &Target| t.scheme == Scheme::Http && strategy.http == Http::Auto;
        let targets = || asks.iter().map(|ask| &ask.target);
        let why = if manner != Manner::Each && targets().any(|t| t.scheme == Scheme::Tcp) {
            "the echo has a connection for each greeting"
        } else if manner != Manner::AtOnce {
            return None;
        } else if several && (strategy.http == Http::H1 || targets().any(clear)) {
            ONE_BY_ONE
        } else if targets().any(|t| Some(origin(t)) != targets().next().map(origin)) {
            "requests that go out at once on one connection need one origin"
        } else {
            return None;
        };
        Some(ProbeError::Strategy { strategy, why })
    }
}

/// Pipelining is what nobody deploys: answers wait for one another, and what was under way when one fails is unknown.
/// RFC 9112 §9.3.2.
pub(crate) const ONE_BY_ONE: &str =
    "HTTP/1.1 answers one request at a time; to ask at once takes h2 or h3";

/// Holds a connection that has done its work until all is over: tickets for those to come may still be on their way.
/// HTTP/2 and 3 read on by themselves.
async fn linger(mut open: Open, mut over: watch::Receiver<()>) {
    let reading = async {
        let mut buffer = [0; 1024];
        if let Some(stream) = open.connection.stream() {
            while matches!(stream.read(&mut buffer).await, Ok(n) if n > 0) {}
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reading => {}
        // Nobody sends: it ends with its sender.
        _ = over.changed() => {}
    }
    open.connection.close().await;
}

/// Says why a request that was to follow on an open connection had to open one.
fn told_why_anew(before: &[Exchange], exchange: &mut Exchange, known: bool) {
    if exchange.reused || !exchange.notes.is_empty() {
        return;
    }
    let answer = before.last().and_then(|last| last.http.as_ref());
    let note = match answer {
        Some(http) if !http.keep_alive => {
            "the server had announced that it would close the connection: connected anew"
        }
        Some(_) if known => "the connection that was kept could not be used: connected anew",
        _ => "no connection was left open: connected anew",
    };
    exchange.notes.push(note.into());
}
