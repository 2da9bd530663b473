//! The one who asks: holds what lasts from exchange to exchange (trust, tickets, name servers, an open connection).

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::{Request, Sink};
use roundtrip_model::{Clock, Exchange, Http, Memory, Recorder, Scheme, Strategy, Target};
use roundtrip_net::{Resolver, SystemClock};
use roundtrip_tls::Client;

use crate::open::{Open, basic};
use crate::{Options, Trouble, redirect};

/// How long to wait for a ticket that comes after the response.
const TICKET_WAIT: Duration = Duration::from_millis(500);
const TICKET_STEP: Duration = Duration::from_millis(5);

pub struct Prober {
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    tls: Option<Client>,
    resolver: Option<Resolver>,
    pub(crate) idle: Option<Open>,
    /// Origins that said `Alt-Svc: h3`.
    pub(crate) alt_svc_h3: Vec<(Scheme, String, u16)>,
    primed: bool,
}

impl Prober {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            clock: Arc::new(SystemClock::start()),
            tls: None,
            resolver: None,
            idle: None,
            alt_svc_h3: Vec::new(),
            primed: false,
        }
    }

    /// Asks once; one exchange for each hop, the last of them being the answer or the failure. The body of the last
    /// response goes to `sink`.
    pub async fn run(&mut self, target: &Target, run: u32, sink: &mut dyn Sink) -> Vec<Exchange> {
        let strategy = self.options.strategy;
        if strategy.is_warm() && !self.options.cold && !self.primed {
            self.prime(target).await;
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
        let asked = self.options.strategy;
        let mut exchange = Exchange {
            url: target.redacted(),
            run,
            asked,
            used: asked,
            ..Exchange::default()
        };
        let trouble = Trouble::Http(roundtrip_http::HttpError::Sink(error));
        exchange.failure = Some(trouble.explain(&exchange));
        exchange
    }

    async fn hops(
        &mut self,
        target: &Target,
        strategy: Strategy,
        run: u32,
        sink: &mut dyn Sink,
    ) -> Vec<Exchange> {
        if target.scheme == Scheme::Tcp {
            return vec![self.echo(target, strategy, run).await];
        }
        let mut hops = Vec::new();
        let mut next = Some((self.request(target), strategy));
        while let Some((request, strategy)) = next.take() {
            // Only the last hop's body is wanted, and which that is shows in its head: bodies are kept aside.
            let mut aside = Spool::new(self.options.follow, sink);
            let mut exchange = self.exchange(&request, strategy, &mut aside).await;
            (exchange.run, exchange.hop) = (run, hops.len() as u32);
            exchange.primed = self.primed;
            if too_early(&exchange) && hops.len() < 2 {
                exchange.notes.push(
                    "the server answered 425 Too Early: asked again without early data".into(),
                );
                next = Some((
                    request,
                    Strategy {
                        memory: Memory::Resume,
                        ..strategy
                    },
                ));
            } else if exchange.ok() {
                match redirect::next(&exchange, &request, &self.options) {
                    Ok(Some(request)) => next = Some((request, strategy)),
                    Ok(None) => {}
                    Err(trouble) => exchange.failure = Some(trouble.explain(&exchange)),
                }
            }
            if next.is_none()
                && let Err(error) = aside.release()
            {
                let trouble = Trouble::Http(roundtrip_http::HttpError::Sink(error));
                exchange.failure.get_or_insert(trouble.explain(&exchange));
            }
            hops.push(exchange);
        }
        hops
    }

    /// One exchange that nobody measures, for the ticket, the cookie or the connection it leaves behind.
    async fn prime(&mut self, target: &Target) {
        self.primed = true;
        let plain = Strategy {
            memory: priming_memory(self.options.strategy),
            reuse: false,
            ..self.options.strategy
        };
        let hops = self.hops(target, plain, 0, &mut std::io::sink()).await;
        let quic = hops.last().is_some_and(|e| e.quic.is_some());
        if self.options.strategy.memory != Memory::Cold && hops.last().is_some_and(Exchange::ok) {
            self.await_ticket(quic).await;
        }
        if !self.options.strategy.reuse {
            self.retire().await;
        }
    }

    /// Tickets follow the handshake when the server likes: keep reading for a moment. RFC 8446 §4.6.1.
    async fn await_ticket(&mut self, quic: bool) {
        let mut waited = Duration::ZERO;
        while waited < TICKET_WAIT
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
        if let Some(open) = self.idle.take() {
            open.connection.close().await;
        }
    }

    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(self.clock.clone())
    }

    /// Makes the TLS client, if there is none yet.
    pub(crate) fn prepare_tls(&mut self) -> Result<(), Trouble> {
        if self.tls.is_none() {
            self.tls = Some(Client::new(
                self.options.roots.clone(),
                self.options.identity.as_ref(),
            )?);
        }
        Ok(())
    }

    pub(crate) fn tls_ready(&self) -> Result<&Client, Trouble> {
        self.tls.as_ref().ok_or(Trouble::Strategy {
            strategy: self.options.strategy,
            why: "TLS was not set up",
        })
    }

    pub(crate) fn tls(&self) -> Option<&Client> {
        self.tls.as_ref()
    }

    pub(crate) fn resolver(&mut self) -> Result<&Resolver, Trouble> {
        if self.resolver.is_none() {
            self.resolver = Some(Resolver::system()?);
        }
        self.resolver
            .as_ref()
            .ok_or(Trouble::Name(roundtrip_net::ResolveError::NoServer))
    }

    fn request(&self, target: &Target) -> Request {
        let options = &self.options;
        let given = |name: &str| {
            options
                .headers
                .iter()
                .any(|(n, _)| n.eq_ignore_ascii_case(name))
        };
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| {
            if !given(name) {
                headers.push((name.to_owned(), value));
            }
        };
        let user = options
            .user
            .clone()
            .or_else(|| target.userinfo().map(|(u, p)| (decoded(u), decoded(p))));
        if let Some((user, password)) = user {
            add("Authorization", basic(&user, &password));
        }
        add("User-Agent", options.user_agent.clone());
        add("Accept", "*/*".into());
        if options.compressed {
            add("Accept-Encoding", "deflate, gzip, br".into());
        }
        if !options.body.is_empty() {
            add("Content-Type", "application/x-www-form-urlencoded".into());
        }
        // `-H 'Accept:'` takes a header away, as with curl; one that is to be sent empty came as a space.
        let sent = options.headers.iter().filter(|(_, v)| !v.is_empty());
        headers.extend(sent.map(|(n, v)| (n.clone(), v.trim().to_owned())));
        let default = if options.body.is_empty() {
            "GET"
        } else {
            "POST"
        };
        let absolute_form = options.proxy.is_some() && target.scheme == Scheme::Http;
        if absolute_form {
            headers.extend(
                self.proxy_headers()
                    .into_iter()
                    .filter(|(n, _)| n.starts_with("Proxy-")),
            );
        }
        Request {
            method: options.method.clone().unwrap_or_else(|| default.into()),
            target: target.clone(),
            headers,
            body: options.body.clone(),
            absolute_form,
        }
    }
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

/// Percent-decoding of a URL's user and password; what does not decode stays as it is.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Holds back the body of a response that may turn out to be a redirect.
struct Spool<'a> {
    held: Option<Vec<u8>>,
    sink: &'a mut dyn Sink,
}

/// A redirect's body is small; a larger one is no redirect's.
const SPOOL_LIMIT: usize = 1 << 20;

impl<'a> Spool<'a> {
    fn new(hold: bool, sink: &'a mut dyn Sink) -> Self {
        Self {
            held: hold.then(Vec::new),
            sink,
        }
    }

    fn release(mut self) -> std::io::Result<()> {
        if let Some(held) = self.held.take() {
            self.sink.write_all(&held)?;
        }
        self.sink.flush()
    }
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.held {
            Some(held) if held.len() + bytes.len() <= SPOOL_LIMIT => {
                held.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Some(held) => {
                let held = std::mem::take(held);
                self.held = None;
                self.sink.write_all(&held)?;
                self.sink.write(bytes)
            }
            None => self.sink.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
