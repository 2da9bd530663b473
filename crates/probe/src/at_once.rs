//! Requests that leave at once on one connection, in waves: what a connection's end took with it goes again in the next,
//! on a new one. `wave` carries each of them.

use roundtrip_http::{Request, Sink};
use roundtrip_model::{Exchange, Strategy};
use tokio::task::JoinHandle;

use crate::Prober;
use crate::sequence::Ask;
use crate::wave::Verdict;

/// One of several requests, until it is answered for good.
pub(crate) struct Member<'a, S> {
    pub(crate) place: usize,
    pub(crate) request: Request,
    pub(crate) strategy: Strategy,
    pub(crate) sink: &'a mut S,
    pub(crate) hops: Vec<Exchange>,
}

const ASKED_AGAIN: &str = "the connection ended before this request was answered, and to repeat it does no harm: asked \
                           again on a new one";

impl Prober {
    /// All at once; then what was turned away, at once; then, one after another, what redirects ask for.
    pub(crate) async fn at_once<S: Sink>(
        &mut self,
        asks: &mut [Ask<S>],
        leaving: &mut Vec<JoinHandle<()>>,
    ) -> (Vec<Vec<Exchange>>, u32) {
        let mut waiting = self.members(asks);
        let (mut done, mut redirected) = (Vec::new(), Vec::new());
        let mut trips = 0;
        while !waiting.is_empty() {
            let verdicts = self.wave(&mut waiting, leaving).await;
            trips += verdicts.iter().map(Verdict::round_trips).max().unwrap_or(0);
            // Without an answer to anybody, on a connection that was new, another one would fare no better.
            let in_vain = |v: &Verdict| !v.exchange.ok() && !v.exchange.reused;
            let hope = !verdicts.iter().all(in_vain);
            for (mut member, verdict) in std::mem::take(&mut waiting).into_iter().zip(verdicts) {
                let (mut exchange, again) = (verdict.exchange, verdict.lost.is_some() && hope);
                if again {
                    exchange.notes.push(ASKED_AGAIN.into());
                }
                member.hops.push(exchange);
                match verdict.next {
                    _ if again => waiting.push(member),
                    // Too early: the same, on what is an open connection now.
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
            let hops = self.follow(next, member.hops, place as u32, member.sink);
            let hops = hops.await;
            let further = hops.iter().skip(known).map(Exchange::round_trips);
            trips += further.sum::<u32>();
            done.push((place, hops));
        }
        done.sort_by_key(|(place, _)| *place);
        (done.into_iter().map(|(_, hops)| hops).collect(), trips)
    }

    fn members<'a, S: Sink>(&self, asks: &'a mut [Ask<S>]) -> Vec<Member<'a, S>> {
        let member = |(place, ask): (usize, &'a mut Ask<S>)| Member {
            place,
            request: self.request(&ask.target),
            strategy: self.options.strategy,
            sink: &mut ask.sink,
            hops: Vec::new(),
        };
        asks.iter_mut().enumerate().map(member).collect()
    }
}
