//! The state that lasts from one exchange to the next, and the steps of each exchange:
//! [`begin`](Exchanger::begin), [`connection`](Exchanger::connection), the request itself,
//! [`read_gauges`](Exchanger::read_gauges), [`conclude`](Exchanger::conclude).
//!
//! `exchange` performs them for one request, `exchange::several` for several at once.

use std::sync::Arc;
use std::time::SystemTime;

use roundtrip_http::Request;
use roundtrip_model::{
    Clock, Event, Exchange, HttpFacts, KeptFacts, Memory, Moment, NameFacts, Primer, Recorder,
    Scheme, Strategy, Target, Task,
};
use roundtrip_net::SystemClock;
use tokio::time::timeout;

use crate::connection::{KeptConnection, OpenConnection};
use crate::connector::Connector;
use crate::counts::SequenceCounts;
use crate::interruption::{Interruption, TimeLimit};
use crate::names::Names;
use crate::observed::Observed;
use crate::options::Options;
use crate::plan::ConnectionPlan;
use crate::protocols::Protocols;
use crate::{ProbeError, answer};

const KEPT_WAY: &str = "HTTP/3 is announced; all requests use the same protocol as the first one (--http3 requests HTTP/3)";

const CUT: &str =
    "the connection ended the body, without TLS's close_notify: the body may be incomplete";

/// Carries out exchanges, one after another. Each field is the only owner of its state.
pub(crate) struct Exchanger {
    options: Arc<Options>,
    clock: Arc<dyn Clock>,
    names: Names,
    connector: Connector,
    kept: KeptConnection,
    protocols: Protocols,
    interruption: Interruption,
    counts: SequenceCounts,
    /// Whether the unmeasured request that precedes the measured ones was made.
    is_primed: bool,
    /// The cost of the unmeasured request, if it was answered.
    primer: Option<Primer>,
}

/// One use of a connection, from the start of its clock. Its facts survive its failure.
pub(crate) struct Transaction<'a> {
    /// The request, or the first of several.
    pub(crate) request: &'a Request,
    pub(crate) strategy: Strategy,
    pub(crate) recorder: Recorder,
    pub(crate) observed: Observed,
    /// The exchange so far, without timeline and answer.
    pub(crate) exchange: Exchange,
    /// The kept connection, until [`Exchanger::connection`] hands it out.
    kept: Option<OpenConnection>,
}

impl Transaction<'_> {
    /// Returns the activity of the kept connection so far.
    pub(crate) fn kept_facts(&self) -> Option<KeptFacts> {
        self.kept.as_ref().and_then(OpenConnection::past)
    }
}

impl Exchanger {
    pub(crate) fn new(options: Options) -> Self {
        let options = Arc::new(options);
        Self {
            clock: Arc::new(SystemClock::start()),
            names: Names::new(options.clone()),
            connector: Connector::new(options.clone()),
            kept: KeptConnection::default(),
            protocols: Protocols::default(),
            interruption: Interruption::new(),
            counts: SequenceCounts::default(),
            is_primed: false,
            primer: None,
            options,
        }
    }

    pub(crate) fn options(&self) -> &Arc<Options> {
        &self.options
    }

    pub(crate) fn kept(&mut self) -> &mut KeptConnection {
        &mut self.kept
    }

    pub(crate) fn interruption(&mut self) -> &mut Interruption {
        &mut self.interruption
    }

    pub(crate) fn counts(&mut self) -> &mut SequenceCounts {
        &mut self.counts
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Records that the latest answer or failure arrived now.
    pub(crate) fn mark_end(&mut self) {
        self.counts.mark_end(self.clock.now());
    }

    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(self.clock.clone())
    }

    /// Returns the time limit of one exchange.
    pub(crate) fn time_limit(&self) -> TimeLimit {
        self.interruption.time_limit(self.options.time_left())
    }

    pub(crate) fn is_primed(&self) -> bool {
        self.is_primed
    }

    /// Records that the unmeasured request was made or is in progress, and its cost.
    pub(crate) fn set_primed(&mut self, paid: Option<Primer>) {
        (self.is_primed, self.primer) = (true, paid);
    }

    /// Whether TLS was used and no ticket has arrived yet.
    pub(crate) fn lacks_ticket(&self, quic: bool) -> bool {
        self.connector.lacks_ticket(quic)
    }

    /// Starts the clock, with the recorder of the kept connection, or a new one.
    pub(crate) fn begin<'a>(
        &mut self,
        request: &'a Request,
        strategy: Strategy,
    ) -> Transaction<'a> {
        let kept = self.kept.take_for(&request.target);
        let exchange = Exchange {
            url: request.target.redacted(),
            asked: strategy,
            used: strategy,
            primed: self.is_primed,
            primer: self.primer,
            started: Some(SystemTime::now()),
            reused: kept.is_some(),
            ..Exchange::default()
        };
        let recorder = kept
            .as_ref()
            .map_or_else(|| self.recorder(), OpenConnection::recorder);
        recorder.restart();
        self.interruption
            .started(exchange.url.clone(), recorder.clone());
        Transaction {
            request,
            strategy,
            recorder,
            observed: Observed::default(),
            exchange,
            kept,
        }
    }

    /// Continues with a branch of the timeline, which later events of the previous connection do
    /// not reach.
    pub(crate) fn begin_again(&mut self, transaction: &mut Transaction<'_>) {
        transaction.recorder = transaction.recorder.branch();
        let url = transaction.exchange.url.clone();
        self.interruption.started(url, transaction.recorder.clone());
    }

    /// Returns the kept connection, or opens one within the time limit for connecting.
    pub(crate) async fn connection(
        &mut self,
        transaction: &mut Transaction<'_>,
    ) -> Result<OpenConnection, ProbeError> {
        if let Some(kept) = transaction.kept.take() {
            return Ok(kept);
        }
        let limit = self.options.connect_timeout;
        timeout(limit, self.connect(transaction))
            .await
            .map_err(|_| ProbeError::Timeout(limit))?
    }

    /// Looks the name up, makes a plan and opens a connection that follows it.
    async fn connect(
        &mut self,
        transaction: &mut Transaction<'_>,
    ) -> Result<OpenConnection, ProbeError> {
        let Transaction {
            request,
            strategy,
            recorder,
            observed,
            exchange,
            ..
        } = transaction;
        let target = &request.target;
        let options = self.options.clone();
        let proxy = options.proxy_for(target);
        let secure_proxy = proxy.is_some_and(|p| p.0.scheme == Scheme::Https);
        if let Some((variable, _)) = options.proxy_by_environment(target) {
            let note = format!("used the proxy from {variable} (--noproxy connects directly)");
            observed.notes.push(note);
        }
        if target.scheme == Scheme::Https || secure_proxy {
            recorder.timed(Task::Configure, || self.connector.prepare_tls())?;
        }
        if options.unix_socket.is_none() {
            let found = self.look_up(target, recorder).await;
            exchange.name = Some(found.map_err(|error| error.of_proxy(proxy.map(|p| &p.0)))?);
        }
        let found = exchange.name.as_ref();
        let https_record = found.and_then(|n| n.https_record.as_ref());
        let announced = self.protocols.announced(target, https_record);
        let is_safe = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let proxied = proxy.is_some();
        let plan = ConnectionPlan::new(*strategy, target, announced, proxied, is_safe)?;
        if options.keeps_way && announced.is_h3_left_out(*strategy, proxied) {
            observed.notes.push(KEPT_WAY.into());
        }
        if strategy.memory == Memory::EarlyData && !is_safe {
            observed.notes.push(format!(
                "{} may not be replayed, so it was not sent as early data",
                request.method
            ));
        }
        // Boxed: a lookup over HTTPS contains another exchange, and so another of these futures.
        let opening = self
            .connector
            .open(&plan, target, found, recorder, observed);
        let opened = Box::pin(opening).await;
        let open = opened.map_err(|error| error.of_proxy(proxy.map(|p| &p.0)))?;
        if plan.early_data && !open.has_early_data() {
            observed
                .notes
                .push("early data was requested, but no ticket allows it".into());
        }
        self.counts.count_connection();
        Ok(open)
    }

    /// Finds the addresses to connect to for `target`.
    pub(crate) async fn look_up(
        &mut self,
        target: &Target,
        recorder: &Recorder,
    ) -> Result<NameFacts, ProbeError> {
        let destination = self.options.destination(target);
        self.names
            .look_up(&destination, target, recorder, Self::new)
            .await
    }

    /// Adds the facts that a repetition of the lookup shows.
    pub(crate) async fn look_up_again(&mut self, exchange: &mut Exchange) {
        if let Some(name) = &mut exchange.name {
            name.waits.again = self.names.again().await;
        }
    }

    /// Records the counters of a connection after its last answer.
    pub(crate) fn read_gauges(&self, transaction: &mut Transaction<'_>, open: &OpenConnection) {
        let observed = &mut transaction.observed;
        (observed.tcp, observed.quic, observed.tls) = open.facts();
        if let Some(tls) = &mut observed.tls {
            self.connector.read_tls(tls, open.is_over_quic());
        }
    }

    /// Completes an exchange whose timeline is complete: with the answer, even a partial one, the
    /// observations of its connection, and the error.
    pub(crate) fn conclude(
        &mut self,
        exchange: &mut Exchange,
        target: &Target,
        mut facts: HttpFacts,
        observed: &Observed,
        error: Option<&ProbeError>,
    ) {
        if facts.status == 0 {
            exchange.unanswered = Some(facts);
        } else {
            if let Some(alt_svc) = answer::read(&mut facts)
                && self.options.announcements
            {
                self.protocols.read_alt_svc(target, &alt_svc);
            }
            exchange.http = Some(facts);
        }
        observed.conclude(exchange, error);
        if exchange.http.as_ref().is_some_and(|http| http.is_cut) {
            exchange.notes.push(CUT.into());
        }
    }

    /// Remembers the protocol of an answer if later requests depend on its ticket or connection, or
    /// must use the same protocol.
    pub(crate) fn remember(&mut self, exchange: &Exchange, target: &Target) {
        let keeps = self.options.strategy.is_warm() || self.options.keeps_way;
        if keeps && exchange.ok() {
            self.protocols.remember(target, exchange.used.http);
        }
    }

    /// Returns the unfinished exchange that was in progress when the user interrupted.
    pub(crate) fn interrupted(&mut self, run: u32) -> Option<Exchange> {
        let (url, recorder) = self.interruption.take_under_way()?;
        recorder.record(Event::Finished);
        let asked = self.options.strategy;
        let mut exchange = Exchange {
            url,
            run,
            asked,
            used: asked,
            timeline: recorder.snapshot(),
            ..Exchange::default()
        };
        exchange.failure = Some(ProbeError::Interrupted.explain(&exchange));
        Some(exchange)
    }

    /// Returns an exchange that could not even begin.
    pub(crate) fn refused(&self, target: &Target, run: u32, error: &ProbeError) -> Exchange {
        let asked = self.options.strategy;
        let mut exchange = Exchange {
            url: target.redacted(),
            run,
            asked,
            used: asked,
            ..Exchange::default()
        };
        exchange.failure = Some(error.explain(&exchange));
        exchange
    }
}
