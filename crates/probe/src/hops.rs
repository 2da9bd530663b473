//! Goes from one exchange to the next: redirects, and 425 Too Early.

mod cookies;
mod redirect;
mod spool;

use roundtrip_http::{HttpError, Request, Sink};
use roundtrip_model::{EarlyData, Exchange, Memory, Scheme, Strategy, Target, TraceContext};

use crate::exchange::{echo, exchange};
use crate::exchanger::Exchanger;
use crate::{Options, ProbeError};
use cookies::Cookies;
pub(crate) use spool::Spool;

/// Requests a target, and follows its answers to further requests. The body of the last goes to
/// `sink`.
pub(crate) async fn ask(
    exchanger: &mut Exchanger,
    target: &Target,
    strategy: Strategy,
    run: u32,
    sink: &mut dyn Sink,
) -> Vec<Exchange> {
    if target.scheme == Scheme::Tcp {
        return vec![echo(exchanger, target, strategy, run).await];
    }
    let first = (exchanger.options().request(target), strategy);
    follow(exchanger, first, Vec::new(), run, sink).await
}

/// Continues from `first`, after the previous hops.
pub(crate) async fn follow(
    exchanger: &mut Exchanger,
    first: (Request, Strategy),
    mut hops: Vec<Exchange>,
    run: u32,
    sink: &mut dyn Sink,
) -> Vec<Exchange> {
    let mut next = Some(first);
    let mut cookies = Cookies::default();
    while let Some((mut request, strategy)) = next.take() {
        if let Some(trace) = exchanger.options().trace {
            pass_on(trace.child(run, hops.len() as u32), &mut request);
        }
        // Only the last hop's body is wanted, and only its head shows which hop is the last: bodies
        // are buffered until then.
        let mut spool = Spool::new(exchanger.options().follow, sink);
        let with_cookies = cookies.added_to(&request);
        let sent = with_cookies.as_ref().unwrap_or(&request);
        let mut exchange = exchange(exchanger, sent, strategy, &mut spool).await;
        if let Some(http) = exchange
            .http
            .as_ref()
            .filter(|_| exchanger.options().cookies)
        {
            cookies.receive(&request.target, http);
        }
        (exchange.run, exchange.hop) = (run, hops.len() as u32);
        next = settle(
            exchanger.options(),
            &mut exchange,
            &request,
            strategy,
            spool,
        );
        hops.push(exchange);
    }
    hops
}

/// Sets the field that links the server's work to the trace.
fn pass_on(span: TraceContext, request: &mut Request) {
    request
        .headers
        .retain(|(name, _)| !name.eq_ignore_ascii_case("traceparent"));
    request.headers.push((
        "traceparent".into(),
        String::from_utf8_lossy(&span.to_field()).into(),
    ));
}

/// Returns the next request if an answer leads to one; otherwise passes the body on to its sink.
pub(crate) fn settle(
    options: &Options,
    exchange: &mut Exchange,
    request: &Request,
    strategy: Strategy,
    spool: Spool<'_>,
) -> Option<(Request, Strategy)> {
    let next = next(options, exchange, request, strategy);
    if next.is_none()
        && let Err(error) = spool.release()
    {
        let error = ProbeError::Http(HttpError::Sink(error));
        exchange.failure.get_or_insert(error.explain(exchange));
    }
    next
}

/// The request that an answer leads to: the same one without early data, or one for another URL.
fn next(
    options: &Options,
    exchange: &mut Exchange,
    request: &Request,
    strategy: Strategy,
) -> Option<(Request, Strategy)> {
    if is_too_early(exchange) && exchange.hop < 2 {
        let note = "the server answered 425 Too Early: sent again without early data";
        exchange.notes.push(note.into());
        let memory = Memory::Resume;
        return Some((request.clone(), Strategy { memory, ..strategy }));
    }
    if !exchange.ok() {
        return None;
    }
    match redirect::next(exchange, request, options) {
        Ok(next) => next.map(|request| (request, strategy)),
        Err(error) => {
            exchange.failure = Some(error.explain(exchange));
            None
        }
    }
}

fn is_too_early(exchange: &Exchange) -> bool {
    let tls = exchange.tls.as_ref();
    let early = tls.is_some_and(|t| t.early_data == EarlyData::Accepted);
    early && exchange.http.as_ref().is_some_and(|h| h.status == 425)
}
