//! An HTTP/3 connection. The `h3` crate implements the protocol over any transport; here a stream
//! becomes an [`HttpExchange`], and the connection ends as knobs and faults say.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::carrier::{QuicCarrier, StreamControl};
use super::{
    AnswerError, FLUSH_TIME, HttpExchange, MAX_HEAD_BYTES, PIECE_TIMEOUT, STALL_TIME, answer,
};
use crate::FaultKind;
use crate::request::OriginRequest;
use crate::site::OriginState;

/// How long a client may take to close after GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The read allowance of a request in bytes, until the server has handled what was read.
const READ_ALLOWANCE: u64 = 1 << 20;

type Connection<C> = h3::server::Connection<<C as QuicCarrier>::Transport, Bytes>;
type Resolver<C> = RequestResolver<<C as QuicCarrier>::Transport, Bytes>;

/// Serves until the connection ends.
pub(crate) async fn serve<C: QuicCarrier>(mut carrier: C, site: Arc<OriginState>) {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_HEAD_BYTES as u64);
    let handshake = builder.build(carrier.transport());
    let Ok(Ok(mut connection)) = timeout(PIECE_TIMEOUT, handshake).await else {
        return;
    };
    let Some(struck) = streams(&mut connection, &mut carrier, &site).await else {
        // After GOAWAY the client closes the connection; closing it here could overtake the last
        // answer.
        let _ = timeout(CLOSE_TIMEOUT, carrier.closed()).await;
        return;
    };
    let code = match struck.kind {
        FaultKind::Stall => {
            let _ = timeout(STALL_TIME, carrier.closed()).await;
            return;
        }
        FaultKind::Reset => Code::H3_INTERNAL_ERROR,
        FaultKind::Close | FaultKind::Garbage => Code::H3_NO_ERROR,
    };
    tokio::time::sleep(FLUSH_TIME).await;
    carrier.close(code.value());
}

/// A fault in one stream. The other streams are kept: dropping them would send resets to the
/// client.
struct H3Fault {
    kind: FaultKind,
    _streams: JoinSet<()>,
}

/// Accepts streams until the connection ends, or until a fault occurs in one of them.
async fn streams<C: QuicCarrier>(
    connection: &mut Connection<C>,
    carrier: &mut C,
    site: &Arc<OriginState>,
) -> Option<H3Fault> {
    let (struck, mut faults) = mpsc::channel(1);
    let mut running = JoinSet::new();
    let mut served = 0_u32;
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            stream = connection.accept() => {
                let resolver = stream.ok()??;
                served = served.saturating_add(1);
                let early = !carrier.is_confirmed();
                if site.http.close_after.is_some_and(|most| served == most) {
                    // GOAWAY: nothing after this stream (RFC 9114, section 5.2).
                    let _ = connection.shutdown(0).await;
                }
                let control = carrier.control();
                running.spawn(run::<C>(resolver, early, control, site.clone(), struck.clone()));
            }
            Some(_) = running.join_next() => idle_since = Instant::now(),
            Some(kind) = faults.recv() => return Some(H3Fault { kind, _streams: running }),
            () = sleep_until(idle_since + site.http.keep_alive), if running.is_empty() => {
                let _ = timeout(FLUSH_TIME, connection.shutdown(0)).await;
                return None;
            }
        }
    }
}

async fn run<C: QuicCarrier>(
    resolver: Resolver<C>,
    early: bool,
    control: C::Control,
    site: Arc<OriginState>,
    struck: mpsc::Sender<FaultKind>,
) {
    let Ok(Ok((request, stream))) = timeout(PIECE_TIMEOUT, resolver.resolve_request()).await else {
        site.counters.bad_requests.increment();
        return;
    };
    site.counters.h3_requests.increment();
    let (parts, ()) = request.into_parts();
    let request = OriginRequest::new(parts, true, early);
    let mut stream = H3Exchange::<C> { stream, control };
    stream.allow();
    match answer(&mut stream, &request, &site).await {
        Ok(()) => {
            let _ = timeout(PIECE_TIMEOUT, stream.stream.finish()).await;
        }
        Err(AnswerError::Fault(kind)) => {
            // Only the first fault counts: it ends the connection, and with it this task.
            let _ = struck.try_send(kind);
            tokio::time::sleep(STALL_TIME).await;
        }
        Err(AnswerError::Cut) => {
            // A reset drops queued data.
            tokio::time::sleep(FLUSH_TIME).await;
            stream.stream.stop_stream(Code::H3_INTERNAL_ERROR);
        }
        Err(AnswerError::Gone) => stream.stream.stop_stream(Code::H3_INTERNAL_ERROR),
    }
}

struct H3Exchange<C: QuicCarrier> {
    stream: RequestStream<C::Bidi, Bytes>,
    control: C::Control,
}

impl<C: QuicCarrier> H3Exchange<C> {
    fn allow(&self) {
        self.control.entrust(|| self.stream.id(), READ_ALLOWANCE);
    }

    async fn send_head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<(), AnswerError> {
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let sent = self.stream.send_response(response).await;
        sent.map_err(|_| AnswerError::Gone)
    }
}

impl<C: QuicCarrier> HttpExchange for H3Exchange<C> {
    async fn receive(&mut self) -> Result<Option<Bytes>, AnswerError> {
        self.allow();
        match self.stream.recv_data().await {
            Ok(Some(mut data)) => Ok(Some(data.copy_to_bytes(data.remaining()))),
            Ok(None) => Ok(None),
            Err(_) => Err(AnswerError::Gone),
        }
    }

    async fn inform(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), AnswerError> {
        self.send_head(status, headers).await
    }

    async fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        _bodiless: bool,
    ) -> Result<(), AnswerError> {
        self.send_head(status, headers).await
    }

    /// The engine sends a head as one frame, so the fault occurs before it.
    async fn half_head(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), AnswerError> {
        Ok(())
    }

    async fn piece(&mut self, bytes: Bytes, _last: bool) -> Result<(), AnswerError> {
        self.stream
            .send_data(bytes)
            .await
            .map_err(|_| AnswerError::Gone)
    }

    /// The engine sends by itself.
    async fn flush(&mut self) -> Result<(), AnswerError> {
        Ok(())
    }
}
