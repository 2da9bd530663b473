//! Carries out a plan, in the same way for HTTP/1.1, HTTP/2 and HTTP/3: each implements
//! [`HttpExchange`], and [`answer`] knows nothing else about it. The modules below handle what a
//! connection does between requests, and how it ends.

pub(crate) mod carrier;
pub(crate) mod h1;
pub(crate) mod h2;
pub(crate) mod h3;
pub(crate) mod hq;
mod prefixed;

pub(crate) use prefixed::Prefixed;

use std::future::Future;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tracing::debug;

use crate::body::AnswerBody;
use crate::plan::AnswerPlan;
use crate::request::OriginRequest;
use crate::routes;
use crate::site::OriginState;
use crate::{Expect, FaultKind, FaultPhase};

/// How long to wait for a peer to send or accept a piece.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stalled connection is kept open.
pub(crate) const STALL_TIME: Duration = Duration::from_mins(10);
/// How long a protocol engine may still send before its connection is closed.
pub(crate) const FLUSH_TIME: Duration = Duration::from_millis(20);
/// The largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// What the fault `garbage` sends: neither HTTP, nor TLS, nor text.
pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x16\x80 this is nothing you know \r\n\r\n\x00";

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Why an answer was not sent completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerError {
    /// The peer left, or violated the protocol.
    Gone,
    /// The body was truncated, as planned.
    Cut,
    /// A fault occurred; the connection carries it out.
    Fault(FaultKind),
}

/// One request and its response, over any version of HTTP.
pub(crate) trait HttpExchange: Send {
    /// Returns the next piece of the request's body; `None` at its end.
    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, AnswerError>> + Send;

    /// Sends an interim response (1xx) at once.
    fn inform(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<(), AnswerError>> + Send;

    /// Sends the head. It may be held back until the first piece, the end, or a flush.
    fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        bodiless: bool,
    ) -> impl Future<Output = Result<(), AnswerError>> + Send;

    /// Sends half of the head, if the protocol allows that.
    fn half_head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<(), AnswerError>> + Send;

    fn piece(
        &mut self,
        bytes: Bytes,
        last: bool,
    ) -> impl Future<Output = Result<(), AnswerError>> + Send;

    fn flush(&mut self) -> impl Future<Output = Result<(), AnswerError>> + Send;
}

/// Reads the request's body, waits, and answers.
pub(crate) async fn answer<E: HttpExchange>(
    exchange: &mut E,
    request: &OriginRequest,
    site: &OriginState,
) -> Result<(), AnswerError> {
    count(request, site);
    let mut plan = routes::plan(request, site);
    if !plan.hasty {
        read_body(exchange, request, site, &mut plan).await?;
    }
    strike(site, FaultPhase::Request)?;
    let waited = think(exchange, &plan).await?;
    finish_headers(&mut plan, site, waited);

    let headers = std::mem::take(&mut plan.headers);
    if let Err(fault) = strike(site, FaultPhase::Head) {
        within(exchange.half_head(plan.status, headers)).await?;
        return Err(fault);
    }
    let is_head = request.method == Method::HEAD;
    let bodiless = is_head || (plan.body.len() == 0 && plan.cut.is_none());
    within(exchange.head(plan.status, headers, bodiless)).await?;
    if is_head {
        return within(exchange.flush()).await;
    }
    send_body(exchange, plan, site).await
}

fn count(request: &OriginRequest, site: &OriginState) {
    let OriginRequest {
        method,
        version,
        early,
        ..
    } = request;
    debug!(%method, path = request.path(), ?version, early, "a request");
    site.counters.requests.increment();
    if request.early {
        site.counters.early_requests.increment();
    }
}

fn strike(site: &OriginState, phase: FaultPhase) -> Result<(), AnswerError> {
    site.fault_at(&[phase])
        .map_or(Ok(()), |kind| Err(AnswerError::Fault(kind)))
}

/// Reads the request's body to its end. For an echo, it is kept up to the limit; otherwise it is
/// dropped.
async fn read_body<E: HttpExchange>(
    exchange: &mut E,
    request: &OriginRequest,
    site: &OriginState,
    plan: &mut AnswerPlan,
) -> Result<(), AnswerError> {
    let expected = request.headers.contains_key(header::EXPECT);
    if expected && site.http.expect == Expect::Continue {
        within(exchange.inform(StatusCode::CONTINUE, HeaderMap::new())).await?;
    }
    let mut kept = (plan.body == AnswerBody::Echo).then(BytesMut::new);
    while let Some(piece) = within(exchange.receive()).await? {
        site.counters.body_bytes_received.add(piece.len() as u64);
        if let Some(kept) = &mut kept {
            if (kept.len() + piece.len()) as u64 > site.http.max_body {
                let headers = std::mem::take(&mut plan.headers);
                *plan = AnswerPlan::refusal(StatusCode::PAYLOAD_TOO_LARGE, "too much to echo\n");
                plan.headers.extend(headers);
                return Ok(());
            }
            kept.extend_from_slice(&piece);
        }
    }
    if let Some(kept) = kept {
        plan.body = AnswerBody::Held(kept.freeze());
    }
    Ok(())
}

/// Sends a 103 if the plan says so, and then waits as long as the plan says. Returns the total
/// time.
async fn think<E: HttpExchange>(
    exchange: &mut E,
    plan: &AnswerPlan,
) -> Result<Duration, AnswerError> {
    let begun = Instant::now();
    if plan.early_hints {
        let mut headers = HeaderMap::new();
        let link = HeaderValue::from_static("</style.css>; rel=preload; as=style");
        headers.insert(header::LINK, link);
        within(exchange.inform(StatusCode::EARLY_HINTS, headers)).await?;
    }
    if !plan.think.is_zero() {
        tokio::time::sleep(plan.think).await;
    }
    Ok(begun.elapsed())
}

fn finish_headers(plan: &mut AnswerPlan, site: &OriginState, waited: Duration) {
    plan.headers.insert(header::DATE, site.date.now());
    if !site.http.no_server_timing {
        let took = format!("think;dur={:.3}", waited.as_secs_f64() * 1e3);
        if let Ok(value) = HeaderValue::try_from(took) {
            plan.headers.insert(SERVER_TIMING, value);
        }
    }
    // RFC 9110, section 8.6: not with 204, and with 304 it would describe a different body.
    let sized = !plan.unsized_body || plan.body.len() == 0;
    if sized && !plan.is_bodiless() {
        let length = plan.body.len().into();
        plan.headers.insert(header::CONTENT_LENGTH, length);
    }
}

async fn send_body<E: HttpExchange>(
    exchange: &mut E,
    plan: AnswerPlan,
    site: &OriginState,
) -> Result<(), AnswerError> {
    let fault = site.fault_at(&[FaultPhase::Body]).map(AnswerError::Fault);
    let cut = plan.cut.map(|at| (at, AnswerError::Cut));
    let whole = plan.body.len();
    let end = fault.map(|fault| (whole / 2, fault)).or(cut);

    let mut pieces = plan.body.pieces(plan.piece);
    if let Some((at, _)) = end {
        pieces.truncate(at);
    }
    let mut first = true;
    while let Some(piece) = pieces.next() {
        if !first && !plan.every.is_zero() {
            within(exchange.flush()).await?;
            tokio::time::sleep(plan.every).await;
        }
        first = false;
        site.counters.body_bytes_sent.add(piece.len() as u64);
        let last = pieces.left() == 0 && end.is_none();
        within(exchange.piece(piece, last)).await?;
    }
    within(exchange.flush()).await?;
    end.map_or(Ok(()), |(_, ended)| Err(ended))
}

/// Limits the time of one step, so that a peer that neither reads nor writes does not block us for
/// ever.
async fn within<T>(step: impl Future<Output = Result<T, AnswerError>>) -> Result<T, AnswerError> {
    tokio::time::timeout(PIECE_TIMEOUT, step)
        .await
        .unwrap_or(Err(AnswerError::Gone))
}
