//! One connection and several requests on it at once. Each has its own timeline, beside the connection's bytes, and its
//! own end.

use std::time::Duration;

use roundtrip_http::{Pen, Request, Sink, Turn};
use roundtrip_model::{Event, Exchange, HttpFacts, Moment, Recorder, Strategy, Timeline};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::again::{lost_trip, went_with_connection};
use crate::at_once::Member;
use crate::exchange::Hop;
use crate::open::{Learnt, Open};
use crate::sequence::ONE_BY_ONE;
use crate::spool::Spool;
use crate::{ProbeError, Prober};

/// What a member's part in a wave came to.
pub(crate) struct Verdict {
    pub(crate) exchange: Exchange,
    /// The connection ended and took the request with it; this many round trips were lost.
    pub(crate) lost: Option<u32>,
    /// What the answer asks for.
    pub(crate) next: Option<(Request, Strategy)>,
}

impl Verdict {
    pub(crate) fn round_trips(&self) -> u32 {
        self.exchange.round_trips() + self.lost.unwrap_or(0)
    }
}

/// A member's part.
struct Part<'a> {
    request: &'a Request,
    strategy: Strategy,
    run: u32,
    hop: u32,
    spool: Spool<'a>,
    facts: HttpFacts,
    /// Its boundaries.
    own: Recorder,
}

/// When and how a part ended, once it has.
type End = Option<(Moment, Result<(), ProbeError>)>;

/// What the parts have in common when the wave is over.
struct Common {
    exchange: Exchange,
    learnt: Learnt,
    timeline: Timeline,
    /// What befell those that have not ended.
    over: Moment,
    error: ProbeError,
}

impl Common {
    /// Until something else befalls them, it will have been time.
    fn new(strategy: Strategy, limit: Duration) -> Self {
        let exchange = Exchange {
            asked: strategy,
            used: strategy,
            ..Exchange::default()
        };
        Self {
            exchange,
            learnt: Learnt::default(),
            timeline: Timeline::default(),
            over: Moment::ZERO,
            error: ProbeError::Timeout(limit),
        }
    }
}

impl Prober {
    pub(crate) async fn wave<S: Sink>(
        &mut self,
        members: &mut [Member<'_, S>],
        leaving: &mut Vec<JoinHandle<()>>,
    ) -> Vec<Verdict> {
        let Some(first) = members.first() else {
            return Vec::new();
        };
        let (request, asked) = (first.request.clone(), first.strategy);
        // One that may leave no early data any more keeps the others from it.
        let other = members.iter().map(|m| m.strategy).find(|s| *s != asked);
        let strategy = other.unwrap_or(asked);
        let kept = self.kept_open(&request.target);
        let recorder = self.begin(kept.as_ref(), request.target.redacted());
        let zero = self.clock.now();
        let mut parts = self.parts(members, &recorder);
        let mut ends: Vec<End> = parts.iter().map(|_| None).collect();
        let limit = self.options.max_time;
        let mut common = Common::new(strategy, limit);
        (common.exchange.primed, common.exchange.primer) = (self.primed, self.primer);
        let mut hop = Hop {
            request: &request,
            strategy,
            recorder: recorder.clone(),
            learnt: &mut common.learnt,
            exchange: &mut common.exchange,
        };
        let carried = self.carry(&mut hop, kept, &mut parts, &mut ends, leaving);
        if let Ok(Err(error)) = timeout(limit, carried).await {
            common.error = error;
        }
        common.over = recorder.now();
        let ended = |end: &End| end.as_ref().map_or(common.over, |(at, _)| *at);
        let last = ends.iter().map(ended).max().unwrap_or_default();
        self.tally.over = zero + last.since(Moment::ZERO);
        self.under_way = None;
        common.learnt.settle();
        common.timeline = recorder.snapshot();
        let parts = parts.into_iter().zip(ends);
        parts
            .map(|(part, end)| self.judge(part, &end, &common))
            .collect()
    }

    fn parts<'a, S: Sink>(
        &self,
        members: &'a mut [Member<'_, S>],
        recorder: &Recorder,
    ) -> Vec<Part<'a>> {
        let part = |member: &'a mut Member<'_, S>| Part {
            request: &member.request,
            strategy: member.strategy,
            run: member.place as u32,
            hop: member.hops.len() as u32,
            spool: Spool::new(self.options.follow, &mut *member.sink),
            facts: HttpFacts {
                method: member.request.method.clone(),
                ..HttpFacts::default()
            },
            own: recorder.branch(),
        };
        members.iter_mut().map(part).collect()
    }

    /// Brings the connection up where none was kept, and all requests across it.
    async fn carry(
        &mut self,
        hop: &mut Hop<'_>,
        kept: Option<Open>,
        parts: &mut [Part<'_>],
        ends: &mut [End],
        leaving: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), ProbeError> {
        hop.exchange.reused = kept.is_some();
        let mut open = match kept {
            Some(open) => open,
            None => self.connect_in_time(hop).await?,
        };
        let (strategy, recorder) = (hop.strategy, &hop.recorder);
        if parts.len() > 1 && !open.connection.has_streams() {
            self.read_gauges(hop, &open);
            leaving.push(tokio::spawn(open.connection.close()));
            let why = ONE_BY_ONE;
            return Err(ProbeError::Strategy { strategy, why });
        }
        let mut turns = Vec::new();
        for part in parts {
            part.facts.proxy_status = open.proxy_status;
            turns.push(Turn {
                request: part.request,
                decode: self.options.compressed,
                pen: Pen::beside(recorder, &part.own),
                sink: &mut part.spool,
                facts: &mut part.facts,
            });
        }
        let mut ended = |place, outcome: Result<(), _>| {
            if let Some(end) = ends.get_mut(place) {
                *end = Some((recorder.now(), outcome.map_err(ProbeError::Http)));
            }
        };
        open.connection.exchange_all(turns, &mut ended).await;
        hop.exchange.rtt = open.min_rtt();
        self.read_gauges(hop, &open);
        if ends.iter().all(|end| matches!(end, Some((_, Ok(()))))) {
            self.idle = Some(open);
        } else {
            leaving.push(tokio::spawn(open.connection.close()));
        }
        Ok(())
    }

    /// Makes an exchange of one part.
    fn judge(&mut self, part: Part<'_>, end: &End, common: &Common) -> Verdict {
        let (at, outcome) = match end {
            Some((at, Ok(()))) => (*at, None),
            Some((at, Err(error))) => (*at, Some(error)),
            None => (common.over, Some(&common.error)),
        };
        part.own.record_at(at, Event::Finished);
        let mut exchange = Exchange {
            url: part.request.target.redacted(),
            run: part.run,
            hop: part.hop,
            timeline: together(&common.timeline, &part.own.snapshot(), at),
            ..common.exchange.clone()
        };
        let taken = match outcome {
            Some(ProbeError::Http(error)) => went_with_connection(error, &part.facts),
            _ => false,
        };
        self.read_answer(&mut exchange, part.facts, &part.request.target);
        Self::conclude(&mut exchange, &common.learnt, outcome);
        let lost = taken.then(|| lost_trip(&exchange.timeline, at, exchange.rtt));
        let next = self.next(&mut exchange, part.request.clone(), part.strategy);
        if next.is_none()
            && let Err(error) = part.spool.release()
        {
            let error = ProbeError::Http(roundtrip_http::HttpError::Sink(error));
            exchange
                .failure
                .get_or_insert_with(|| error.explain(&common.exchange));
        }
        Verdict {
            exchange,
            lost,
            next,
        }
    }
}

/// The connection's facts until a request's end, with the request's own.
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
