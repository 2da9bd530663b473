//! Sends one request over one connection and observes it: its duration, the bytes that arrive, and
//! the facts to learn from it.

mod sink;
mod watch;

use roundtrip_http::{BodyEnd, HttpError, Request, RequestRecorder, RequestRun};
use roundtrip_model::{EarlyData, HttpFacts, Moment};

use super::context::{PoolContext, count};
use super::site::{Lease, Site};
use super::timing::RequestTimeline;
use super::{PoolErrorKind, Reply, Timing};
use sink::BoundedBody;
use watch::{Expired, watched};

/// The failure of an exchange.
pub(super) struct Failed {
    pub(super) what: FailureCause,
    /// The answer had begun; `got` bytes of its body had arrived.
    pub(super) heard: bool,
    pub(super) got: u64,
    /// The connection had been used before, or had answered other requests.
    pub(super) seasoned: bool,
    pub(super) lost: Timing,
    /// Nothing at all has arrived on the connection since the request was sent.
    pub(super) deserted: bool,
}

pub(super) enum FailureCause {
    Http(HttpError),
    /// A failure that another attempt would not change.
    Final(PoolErrorKind),
}

impl Failed {
    /// Whether the connection must not be used again. If a deadline passed in silence, the path may
    /// have lost the connection.
    pub(super) fn ends_connection(&self) -> bool {
        match &self.what {
            FailureCause::Http(error) => error.is_connection_gone(),
            FailureCause::Final(_) => self.deserted,
        }
    }
}

pub(super) struct RequestAttempt<'a> {
    pub(super) context: &'a PoolContext,
    pub(super) site: &'a Site,
    pub(super) request: &'a Request,
    pub(super) limit: u64,
    /// The time of the request by the pool's clock.
    pub(super) asked: Moment,
}

impl RequestAttempt<'_> {
    /// Makes one try. `began` is the time when it began to wait for its place on a connection.
    pub(super) async fn run(&self, lease: &mut Lease, began: Moment) -> Result<Reply, Failed> {
        let lane = lease.lane.clone();
        let own = lane.recorder.branch();
        let zero = lane.recorder.zero();
        let mut kept = BoundedBody::new(self.limit);
        let mut facts = HttpFacts::default();
        let seasoned = lane.answers() > 0;
        count(&self.context.counters.requests);
        let arrived = kept.arrived();
        let run = RequestRun {
            request: self.request,
            decode: true,
            recorder: RequestRecorder::beside(&lane.recorder, &own),
            sink: &mut kept,
            body_end: BodyEnd::Length,
            facts: &mut facts,
        };
        let deadlines = &self.context.settings.deadlines;
        // Boxed, because an async function keeps its arguments twice.
        let exchange = Box::pin(lease.exchange(run));
        let outcome = watched(exchange, &own, &arrived, deadlines).await;
        let ended = lane.recorder.now();
        let timeline = RequestTimeline {
            lane: &lane,
            own: &own,
            asked: Moment::ZERO + began.since(zero),
            before: began.since(self.asked) + zero.since(began),
            ended,
        };
        let heard = timeline.is_heard() || facts.status != 0;
        if heard {
            self.note_answer(&lane);
        }
        let what = match outcome {
            Ok(Ok(())) => {
                if facts.keep_alive {
                    lease.keep();
                }
                return Ok(self.reply(&timeline, facts, kept));
            }
            Ok(Err(_)) if kept.is_over() => {
                FailureCause::Final(PoolErrorKind::TooLarge { limit: self.limit })
            }
            Ok(Err(error)) => FailureCause::Http(error),
            Err(expired) => FailureCause::Final(self.expired(expired, facts.downloaded)),
        };
        let got = facts.downloaded;
        Err(Failed {
            what,
            heard,
            got,
            seasoned: seasoned || timeline.is_reused(),
            lost: timeline.tell_loss(),
            deserted: timeline.is_deserted(),
        })
    }

    fn reply(
        &self,
        timeline: &RequestTimeline<'_>,
        mut facts: HttpFacts,
        kept: BoundedBody,
    ) -> Reply {
        count(&self.context.counters.answers);
        let timing = timeline.tell(&mut facts);
        self.learn(timeline, &facts);
        Reply {
            status: facts.status,
            headers: facts.headers,
            body: kept.into_bytes(),
            timing,
        }
    }

    /// Records that the peer is authenticated, which its first answer proves.
    fn note_answer(&self, lane: &super::lane::Lane) {
        let first = lane.answers() == 0;
        lane.answered();
        let refused = || lane.early_outcome() == EarlyData::Refused;
        if first && lane.early_data && !lane.transport.is_quic() && refused() {
            count(&self.context.counters.early_refused);
        }
    }

    fn learn(&self, timeline: &RequestTimeline<'_>, facts: &HttpFacts) {
        let values = facts.headers.iter();
        let values = values.filter(|(name, _)| name.eq_ignore_ascii_case("alt-svc"));
        let values: Vec<&[u8]> = values.map(|(_, value)| value.as_slice()).collect();
        let places = timeline
            .lane
            .shared
            .as_ref()
            .map(roundtrip_http::SharedConnection::slots);
        let rtt = timeline.lane.rtt();
        self.site.known(|known| {
            if !values.is_empty() {
                known.hear(&values.join(b", ".as_slice()), &self.site.origin);
            }
            known.streams = places.or(known.streams);
            known.rtt = rtt.or(known.rtt);
        });
    }

    fn expired(&self, expired: Expired, got: u64) -> PoolErrorKind {
        let deadlines = &self.context.settings.deadlines;
        match expired {
            Expired::FirstByte => PoolErrorKind::FirstByteTimeout(deadlines.first_byte),
            Expired::Idle => PoolErrorKind::Stalled {
                after: deadlines.idle,
                got,
            },
            Expired::Total => PoolErrorKind::TotalTimeout {
                after: deadlines.total,
                got,
            },
        }
    }
}
