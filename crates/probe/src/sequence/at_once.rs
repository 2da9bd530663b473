//! Simultaneous requests on one connection, in waves: requests that were lost when the connection
//! ended are sent again in the next wave, on a new connection.

use roundtrip_http::{Request, Sink};
use roundtrip_model::{Exchange, Strategy};
use tokio::task::JoinHandle;

use super::SequenceRequest;
use crate::exchange::{ParallelRequest, ParallelResult, exchange_all};
use crate::exchanger::Exchanger;
use crate::hops::{self, Spool};

/// One of several requests, until it has its final answer.
struct PendingRequest<'a, S> {
    place: usize,
    request: Request,
    strategy: Strategy,
    sink: &'a mut S,
    hops: Vec<Exchange>,
}

/// The result of one member's request in one wave.
struct WaveResult {
    exchange: Exchange,
    /// The connection ended and took the request with it; this many round trips were lost.
    lost: Option<u32>,
    /// The request that the answer leads to.
    next: Option<(Request, Strategy)>,
}

impl WaveResult {
    fn round_trips(&self) -> u32 {
        self.exchange.round_trips() + self.lost.unwrap_or(0)
    }
}

const ASKED_AGAIN: &str = "the connection ended before this request was answered, and repeating it does no harm: sent \
                           again on a new one";

/// Sends all requests at once, and sends all lost or rejected ones again, also at once. Then
/// follows redirects, one after another.
pub(super) async fn run<S: Sink>(
    exchanger: &mut Exchanger,
    asks: &mut [SequenceRequest<S>],
    leaving: &mut Vec<JoinHandle<()>>,
) -> (Vec<Vec<Exchange>>, u32) {
    let mut waiting = members(exchanger, asks);
    let (mut done, mut redirected) = (Vec::new(), Vec::new());
    let mut trips = 0;
    while !waiting.is_empty() {
        let outcomes = wave(exchanger, &mut waiting, leaving).await;
        trips += outcomes
            .iter()
            .map(WaveResult::round_trips)
            .max()
            .unwrap_or(0);
        // If a new connection answered none of the requests, another one would not do better.
        let in_vain = |o: &WaveResult| !o.exchange.ok() && !o.exchange.reused;
        let hope = !outcomes.iter().all(in_vain);
        for (mut member, outcome) in std::mem::take(&mut waiting).into_iter().zip(outcomes) {
            let (mut exchange, again) = (outcome.exchange, outcome.lost.is_some() && hope);
            if again {
                exchange.notes.push(ASKED_AGAIN.into());
            }
            member.hops.push(exchange);
            match outcome.next {
                _ if again => waiting.push(member),
                // Too early: send the same again, on the connection that is now open.
                Some((request, strategy)) if strategy != member.strategy => {
                    (member.request, member.strategy) = (request, strategy);
                    waiting.push(member);
                }
                Some(next) => redirected.push((member, next)),
                None => done.push((member.place, member.hops)),
            }
        }
    }
    for (member, next) in redirected {
        let (place, known) = (member.place, member.hops.len());
        let hops = hops::follow(exchanger, next, member.hops, place as u32, member.sink).await;
        let further = hops.iter().skip(known).map(Exchange::round_trips);
        trips += further.sum::<u32>();
        done.push((place, hops));
    }
    done.sort_by_key(|(place, _)| *place);
    (done.into_iter().map(|(_, hops)| hops).collect(), trips)
}

fn members<'a, S: Sink>(
    exchanger: &Exchanger,
    asks: &'a mut [SequenceRequest<S>],
) -> Vec<PendingRequest<'a, S>> {
    let options = exchanger.options();
    let member = |(place, ask): (usize, &'a mut SequenceRequest<S>)| PendingRequest {
        place,
        request: options.request(&ask.target),
        strategy: options.strategy,
        sink: &mut ask.sink,
        hops: Vec::new(),
    };
    asks.iter_mut().enumerate().map(member).collect()
}

/// Sends all members' requests on one connection.
async fn wave<'a, S: Sink>(
    exchanger: &mut Exchanger,
    members: &'a mut [PendingRequest<'_, S>],
    leaving: &mut Vec<JoinHandle<()>>,
) -> Vec<WaveResult> {
    let options = exchanger.options().clone();
    let part = |member: &'a mut PendingRequest<'_, S>| ParallelRequest {
        request: &member.request,
        strategy: member.strategy,
        run: member.place as u32,
        hop: member.hops.len() as u32,
        sink: Spool::new(options.follow, &mut *member.sink),
    };
    let parts = members.iter_mut().map(part).collect();
    let answered = exchange_all(exchanger, parts, leaving).await;
    let outcome = |answered: ParallelResult<'_, Spool<'_>>| {
        let ParallelResult {
            part,
            mut exchange,
            lost,
        } = answered;
        let ParallelRequest {
            request,
            strategy,
            sink,
            ..
        } = part;
        let next = hops::settle(&options, &mut exchange, request, strategy, sink);
        WaveResult {
            exchange,
            lost,
            next,
        }
    };
    answered.into_iter().map(outcome).collect()
}
