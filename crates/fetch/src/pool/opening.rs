//! Opens one connection according to the plan for its origin, and learns from the result.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_http::{Connection, OpenError, Opened, Opening, OpeningFacts, StreamProtocol, race};
use roundtrip_model::{Event, Http, NameFacts, Recorder};
use roundtrip_tls::Offer;
use tokio::time::timeout;

use super::PoolErrorKind;
use super::context::{PoolContext, count};
use super::lane::Lane;
use super::plan::Plan;
use super::site::Site;

/// An opened connection: its facts, and the connection itself if it carries one request at a time.
pub(super) type Arrival = (Lane, Option<Connection>);

/// Opens a connection within the deadline. `early` means that a request that may be replayed waits
/// for it.
pub(super) async fn open(
    context: &PoolContext,
    site: &Site,
    early: bool,
) -> Result<Arrival, PoolErrorKind> {
    let limit = context.settings.deadlines.connect;
    let outcome = timeout(limit, bring_up(context, site, early)).await;
    let outcome = outcome.unwrap_or(Err(PoolErrorKind::ConnectTimeout(limit)));
    match &outcome {
        Ok((lane, _)) => {
            count(&context.counters.connections);
            site.learn_from(lane);
        }
        Err(fault) => {
            count(&context.counters.failed_connections);
            if matches!(
                fault,
                PoolErrorKind::Open(_) | PoolErrorKind::ConnectTimeout(_)
            ) {
                context.names.doubt(&site.origin);
            }
        }
    }
    outcome
}

/// Opens a connection over QUIC, if the origin announced HTTP/3.
pub(super) async fn open_quic(
    context: &PoolContext,
    site: &Site,
) -> Result<Arrival, PoolErrorKind> {
    let recorder = context.recorder();
    let found = context.names.look_up(&site.origin, &context.settings);
    let found = found.await?;
    let way = OpenAttempt {
        context,
        site,
        recorder: &recorder,
        found: &found,
    };
    let plan = Plan {
        tcp: None,
        ..way.plan(false)?
    };
    let mut opening_facts = OpeningFacts::default();
    let opened = way.take(&plan, &mut opening_facts);
    let limit = context.settings.deadlines.connect;
    let opened = timeout(limit, opened).await;
    let opened = opened.map_err(|_| PoolErrorKind::ConnectTimeout(limit))??;
    Ok(Lane::new(opened, recorder, found, opening_facts.attempts))
}

async fn bring_up(
    context: &PoolContext,
    site: &Site,
    early: bool,
) -> Result<Arrival, PoolErrorKind> {
    let recorder = context.recorder();
    recorder.record(Event::LookupStarted);
    let found = context.names.look_up(&site.origin, &context.settings);
    let found = found.await?;
    recorder.record(Event::LookupFinished);
    let way = OpenAttempt {
        context,
        site,
        recorder: &recorder,
        found: &found,
    };
    let mut plan = way.plan(early)?;
    let mut opening_facts = OpeningFacts::default();
    let mut outcome = way.take(&plan, &mut opening_facts).await;
    if plan.presumes && outcome.as_ref().is_err_and(OpenError::is_alpn_refusal) {
        // The server has changed its protocol.
        site.known(|known| known.alpn = None);
        plan = way.plan(early)?;
        outcome = way.take(&plan, &mut opening_facts).await;
    }
    Ok(Lane::new(outcome?, recorder, found, opening_facts.attempts))
}

struct OpenAttempt<'a> {
    context: &'a PoolContext,
    site: &'a Site,
    recorder: &'a Recorder,
    found: &'a NameFacts,
}

impl OpenAttempt<'_> {
    fn plan(&self, early: bool) -> Result<Plan, PoolErrorKind> {
        let strategy = self.context.settings.strategy;
        let origin = &self.site.origin;
        self.site
            .known(|known| Plan::new(strategy, origin, known, self.found, early))
    }

    async fn take(
        &self,
        plan: &Plan,
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        match (&plan.quic, &plan.tcp) {
            (Some((offer, port)), None) => {
                let opening = self.opening(self.recorder);
                opening
                    .over_quic(offer, &self.peers(*port), opening_facts)
                    .await
            }
            (Some((offer, port)), Some(protocol)) => {
                self.race(offer, *port, (plan, protocol), opening_facts)
                    .await
            }
            (None, Some(protocol)) => self.tcp(plan, protocol, self.recorder, opening_facts).await,
            (None, None) => Err(roundtrip_net::NetError::NoAddress.into()),
        }
    }

    async fn tcp(
        &self,
        plan: &Plan,
        protocol: &StreamProtocol,
        recorder: &Recorder,
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        let peers = self.peers(self.site.origin.port);
        let opening = self.opening(recorder);
        opening
            .over_tcp(&peers, plan.fast_open, protocol, opening_facts)
            .await
    }

    async fn race(
        &self,
        offer: &Offer,
        port: u16,
        (plan, protocol): (&Plan, &StreamProtocol),
        opening_facts: &mut OpeningFacts,
    ) -> Result<Opened, OpenError> {
        let (quic_sheet, tcp_sheet) = (self.recorder.branch(), self.recorder.branch());
        let (mut quic_trail, mut tcp_trail) = (OpeningFacts::default(), OpeningFacts::default());
        let h3_peers = self.peers(port);
        let quic = self.opening(&quic_sheet);
        let raced = race(
            quic.over_quic(offer, &h3_peers, &mut quic_trail),
            self.tcp(plan, protocol, &tcp_sheet, &mut tcp_trail),
        )
        .await;
        let quic_won = raced.over_quic && raced.outcome.is_ok();
        if quic_won {
            self.recorder.absorb(&quic_sheet);
            *opening_facts = quic_trail;
        } else {
            self.recorder.absorb(&tcp_sheet);
            *opening_facts = tcp_trail;
            self.site.known(super::knowledge::OriginFacts::quic_failed);
        }
        raced.outcome
    }

    fn opening<'a>(&'a self, recorder: &'a Recorder) -> Opening<'a> {
        Opening {
            host: &self.site.origin.host,
            client: Some(self.context.client(&self.site.origin)),
            tokens: &self.context.tokens,
            bind: self.context.settings.bind.as_ref(),
            first: self.site.known(|known| known.reached()),
            recorder,
        }
    }

    fn peers(&self, port: u16) -> Vec<SocketAddr> {
        let addresses = self.found.addresses.iter();
        addresses.map(|a| SocketAddr::new(*a, port)).collect()
    }
}

/// How long the handshake of a connection that sent early data may remain unanswered. The limit is
/// short if TCP can be tried instead of QUIC, as in a race between the two, but long enough for a
/// lost packet on a long path.
pub(super) fn patience(context: &PoolContext, quic: bool, rtt: Option<Duration>) -> Duration {
    let forced = context.settings.strategy.http == Http::H3;
    if forced || !quic {
        return context.settings.deadlines.connect;
    }
    let needed = rtt.map_or(Duration::ZERO, |rtt| 4 * rtt);
    needed.max(Duration::from_millis(300))
}
