//! The one who asks: holds what lasts from exchange to exchange (trust, tickets, name servers, an open connection).

use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::{Request, Sink, Tokens};
use roundtrip_model::{
    Clock, Event, Exchange, Http, Memory, Primer, Recorder, Scheme, Strategy, Target,
};
use roundtrip_net::{Resolver, SystemClock};
use roundtrip_tls::Client;
use tokio::sync::watch;

use crate::again::Tally;
use crate::open::Open;
use crate::spool::Spool;
use crate::{Options, ProbeError, redirect};

/// Scheme, host and port.
pub(crate) type Origin = (Scheme, String, u16);

/// How long to wait for a ticket that comes after the response.
const MAX_TICKET_WAIT: Duration = Duration::from_millis(500);
const TICKET_STEP: Duration = Duration::from_millis(5);

pub struct Prober {
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    tls: Option<Client>,
    pub(crate) tokens: Tokens,
    resolver: Option<Resolver>,
    pub(crate) idle: Option<Open>,
    /// Origins that said `Alt-Svc: h3`.
    pub(crate) alt_svc_h3: Vec<Origin>,
    /// What was spoken with whom first, where a strategy presumes what that left behind.
    pub(crate) spoken: Vec<(Origin, Http)>,
    pub(crate) primed: bool,
    pub(crate) primer: Option<Primer>,
    pub(crate) tally: Tally,
    /// Somebody has had enough: whatever is under way ends, with what is known of it.
    pub(crate) enough: Arc<watch::Sender<bool>>,
    /// What is being asked right now, for when somebody has had enough of it.
    pub(crate) under_way: Option<(String, Recorder)>,
}

impl Prober {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            clock: Arc::new(SystemClock::start()),
            tls: None,
            tokens: Tokens::default(),
            resolver: None,
            idle: None,
            alt_svc_h3: Vec::new(),
            spoken: Vec::new(),
            primed: false,
            primer: None,
            tally: Tally::default(),
            enough: Arc::new(watch::Sender::new(false)),
            under_way: None,
        }
    }

    /// Asks once; one exchange for each hop, the last of them being the answer or the failure. The body of the last
    /// response goes to `sink`.
    pub async fn run(&mut self, target: &Target, run: u32, sink: &mut dyn Sink) -> Vec<Exchange> {
        let strategy = self.options.strategy;
        if strategy.is_warm() && !self.options.cold && !self.primed {
            let hops = self.prime(target).await;
            if *self.enough.borrow() {
                return hops;
            }
        }
        if !strategy.reuse {
            self.retire().await;
        }
        let hops = self.hops(target, strategy, run, sink).await;
        if !strategy.reuse {
            self.retire().await;
        }
        hops
    }

    /// A run that could not begin, because its body had nowhere to go.
    pub(crate) fn unstarted(&self, target: &Target, run: u32, error: std::io::Error) -> Exchange {
        self.refused(
            target,
            run,
            &ProbeError::Http(roundtrip_http::HttpError::Sink(error)),
        )
    }

    /// An exchange that could not even begin.
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

    /// What there is of the exchange that was under way when the user had enough.
    pub(crate) fn interrupted(&mut self, run: u32) -> Option<Exchange> {
        let (url, recorder) = self.under_way.take()?;
        recorder.record(Event::Finished);
        let asked = self.options.strategy;
        let timeline = recorder.snapshot();
        let mut exchange = Exchange {
            url,
            run,
            asked,
            used: asked,
            timeline,
            ..Exchange::default()
        };
        exchange.failure = Some(ProbeError::Interrupted.explain(&exchange));
        Some(exchange)
    }

    pub(crate) async fn hops(
        &mut self,
        target: &Target,
        strategy: Strategy,
        run: u32,
        sink: &mut dyn Sink,
    ) -> Vec<Exchange> {
        if target.scheme == Scheme::Tcp {
            return vec![self.echo(target, strategy, run).await];
        }
        let first = (self.request(target), strategy);
        self.follow(first, Vec::new(), run, sink).await
    }

    /// Goes on from `first`, after the hops that there were already.
    pub(crate) async fn follow(
        &mut self,
        first: (Request, Strategy),
        mut hops: Vec<Exchange>,
        run: u32,
        sink: &mut dyn Sink,
    ) -> Vec<Exchange> {
        let mut next = Some(first);
        while let Some((request, strategy)) = next.take() {
            // Only the last hop's body is wanted, and which that is shows in its head: bodies are kept aside.
            let mut aside = Spool::new(self.options.follow, sink);
            let mut exchange = self.exchange(&request, strategy, &mut aside).await;
            (exchange.run, exchange.hop) = (run, hops.len() as u32);
            next = self.next(&mut exchange, request, strategy);
            if next.is_none()
                && let Err(error) = aside.release()
            {
                let error = ProbeError::Http(roundtrip_http::HttpError::Sink(error));
                exchange.failure.get_or_insert(error.explain(&exchange));
            }
            hops.push(exchange);
        }
        hops
    }

    /// What an answer asks for: the same again without early data, or another place.
    pub(crate) fn next(
        &self,
        exchange: &mut Exchange,
        request: Request,
        strategy: Strategy,
    ) -> Option<(Request, Strategy)> {
        if too_early(exchange) && exchange.hop < 2 {
            let note = "the server answered 425 Too Early: asked again without early data";
            exchange.notes.push(note.into());
            let memory = Memory::Resume;
            return Some((request, Strategy { memory, ..strategy }));
        }
        if !exchange.ok() {
            return None;
        }
        match redirect::next(exchange, &request, &self.options) {
            Ok(next) => next.map(|request| (request, strategy)),
            Err(error) => {
                exchange.failure = Some(error.explain(exchange));
                None
            }
        }
    }

    /// One exchange that nobody measures, for the ticket, the cookie or the connection it leaves behind.
    pub(crate) async fn prime(&mut self, target: &Target) -> Vec<Exchange> {
        self.primed = true;
        let plain = Strategy {
            memory: priming_memory(self.options.strategy),
            reuse: false,
            ..self.options.strategy
        };
        let hops = self.hops(target, plain, 0, &mut std::io::sink()).await;
        self.primer = primer(&hops);
        let quic = hops.last().is_some_and(|e| e.quic.is_some());
        if self.options.strategy.memory != Memory::Cold && hops.last().is_some_and(Exchange::ok) {
            self.await_ticket(quic).await;
        }
        if !self.options.strategy.reuse {
            self.retire().await;
        }
        hops
    }

    /// Tickets follow the handshake when the server likes: keep reading for a moment. RFC 8446 §4.6.1.
    async fn await_ticket(&mut self, quic: bool) {
        let mut waited = Duration::ZERO;
        while waited < MAX_TICKET_WAIT
            && self
                .tls
                .as_ref()
                .is_some_and(|t| t.tickets(quic).received() == 0)
        {
            if let Some(stream) = self.idle.as_mut().and_then(|open| open.connection.stream()) {
                let mut byte = [0; 1];
                let _ = tokio::time::timeout(
                    TICKET_STEP,
                    tokio::io::AsyncReadExt::read(stream, &mut byte),
                )
                .await;
            } else {
                tokio::time::sleep(TICKET_STEP).await;
            }
            waited += TICKET_STEP;
        }
    }

    /// Closes the connection that was kept.
    pub async fn retire(&mut self) {
        self.tally.not_kept = None;
        if let Some(open) = self.idle.take() {
            open.connection.close().await;
        }
    }

    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(self.clock.clone())
    }

    /// Makes the TLS client, if there is none yet.
    pub(crate) fn prepare_tls(&mut self) -> Result<(), ProbeError> {
        if self.tls.is_none() {
            self.tls = Some(Client::new(
                self.options.roots.clone(),
                self.options.identity.as_ref(),
            )?);
        }
        Ok(())
    }

    pub(crate) fn tls_ready(&self) -> Result<&Client, ProbeError> {
        self.tls.as_ref().ok_or_else(|| self.no_tls())
    }

    pub(crate) fn no_tls(&self) -> ProbeError {
        ProbeError::Strategy {
            strategy: self.options.strategy,
            why: "TLS was not set up",
        }
    }

    pub(crate) fn tls(&self) -> Option<&Client> {
        self.tls.as_ref()
    }

    pub(crate) fn resolver(&mut self) -> Result<&Resolver, ProbeError> {
        if self.resolver.is_none() {
            self.resolver = Some(Resolver::system()?.asking(&self.options.name_servers));
        }
        self.resolver
            .as_ref()
            .ok_or(ProbeError::Name(roundtrip_net::ResolveError::NoServer))
    }
}

/// What these hops paid, where they came to an answer.
fn primer(hops: &[Exchange]) -> Option<Primer> {
    let last = hops.last().filter(|e| e.ok())?;
    Some(Primer {
        used: last.used,
        took: hops.iter().map(Exchange::total).sum(),
        round_trips: hops.iter().map(Exchange::round_trips).sum(),
    })
}

/// The exchange that fetches a ticket shows none; it must still be one that remembers.
fn priming_memory(strategy: Strategy) -> Memory {
    if strategy.memory == Memory::Cold || strategy.http == Http::Echo {
        Memory::Cold
    } else {
        Memory::Resume
    }
}

fn too_early(exchange: &Exchange) -> bool {
    let early = exchange
        .tls
        .as_ref()
        .is_some_and(|t| t.early_data == roundtrip_model::EarlyData::Accepted);
    early && exchange.http.as_ref().is_some_and(|h| h.status == 425)
}
