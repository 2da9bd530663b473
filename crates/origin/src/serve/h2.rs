//! An HTTP/2 connection. The `h2` crate implements the protocol; here a stream becomes an
//! [`HttpExchange`], and the connection ends as knobs and faults say.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    AnswerError, FLUSH_TIME, HttpExchange, MAX_HEAD_BYTES, PIECE_TIMEOUT, STALL_TIME, answer,
};
use crate::FaultKind;
use crate::connection::TcpConnectionInfo;
use crate::request::OriginRequest;
use crate::site::OriginState;

const WINDOW: u32 = 1024 * 1024;
const SEND_BUFFER: usize = 256 * 1024;

/// Serves until the connection ends.
pub(crate) async fn serve<IO>(io: IO, link: TcpConnectionInfo, site: Arc<OriginState>)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .max_concurrent_streams(site.http.streams)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_send_buffer_size(SEND_BUFFER);
    let Ok(Ok(mut connection)) = timeout(PIECE_TIMEOUT, builder.handshake(io)).await else {
        site.counters.bad_requests.increment();
        return;
    };
    let Some(struck) = streams(&mut connection, &link, &site).await else {
        return;
    };
    // Our own bytes cannot be inserted between the engine's frames: garbage ends the connection
    // like a close.
    let stall = struck.kind == FaultKind::Stall;
    linger(&mut connection, if stall { STALL_TIME } else { FLUSH_TIME }).await;
    if struck.kind == FaultKind::Reset {
        link.fuse.blow();
    }
}

/// Polls the engine without accepting requests, so that queued frames leave.
async fn linger<IO>(connection: &mut Connection<IO, Bytes>, span: Duration)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let mut unanswered = Vec::new();
    let accepting = async {
        while let Some(Ok(stream)) = connection.accept().await {
            unanswered.push(stream);
        }
    };
    let _ = timeout(span, accepting).await;
}

/// A fault in one stream. The other streams are kept: dropping them would send resets to the
/// client.
struct H2Fault {
    kind: FaultKind,
    _streams: JoinSet<()>,
}

/// Accepts streams until the connection ends, or until a fault occurs in one of them.
async fn streams<IO>(
    connection: &mut Connection<IO, Bytes>,
    link: &TcpConnectionInfo,
    site: &Arc<OriginState>,
) -> Option<H2Fault>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let (struck, mut faults) = mpsc::channel(1);
    let mut running = JoinSet::new();
    let mut served = 0_u32;
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            stream = connection.accept() => {
                let (request, respond) = stream?.ok()?;
                served = served.saturating_add(1);
                site.counters.h2_requests.increment();
                if site.http.close_after.is_some_and(|most| served >= most) {
                    connection.graceful_shutdown();
                }
                let (parts, body) = request.into_parts();
                let request = OriginRequest::new(parts, link.secure, link.early.is_now());
                let stream = H2Exchange { body, respond, send: None };
                running.spawn(run(stream, request, site.clone(), struck.clone()));
            }
            Some(_) = running.join_next() => idle_since = Instant::now(),
            Some(kind) = faults.recv() => return Some(H2Fault { kind, _streams: running }),
            () = sleep_until(idle_since + site.http.keep_alive), if running.is_empty() => {
                connection.graceful_shutdown();
                linger(connection, FLUSH_TIME).await;
                return None;
            }
        }
    }
}

async fn run(
    mut stream: H2Exchange,
    request: OriginRequest,
    site: Arc<OriginState>,
    struck: mpsc::Sender<FaultKind>,
) {
    match answer(&mut stream, &request, &site).await {
        Ok(()) => stream.dismiss_body(),
        Err(AnswerError::Fault(kind)) => {
            // Only the first fault counts: it ends the connection, and with it this task.
            let _ = struck.try_send(kind);
            tokio::time::sleep(STALL_TIME).await;
        }
        Err(AnswerError::Cut) => {
            // A reset drops queued DATA.
            tokio::time::sleep(FLUSH_TIME).await;
            stream.reset();
        }
        Err(AnswerError::Gone) => stream.reset(),
    }
}

struct H2Exchange {
    body: RecvStream,
    respond: SendResponse<Bytes>,
    send: Option<SendStream<Bytes>>,
}

impl H2Exchange {
    fn reset(&mut self) {
        match &mut self.send {
            Some(send) => send.send_reset(Reason::INTERNAL_ERROR),
            None => self.respond.send_reset(Reason::INTERNAL_ERROR),
        }
    }

    /// After a complete answer, rejects the rest of an unread body (RFC 9113, section 8.1).
    fn dismiss_body(&mut self) {
        if !self.body.is_end_stream()
            && let Some(send) = &mut self.send
        {
            send.send_reset(Reason::NO_ERROR);
        }
    }

    async fn send(&mut self, mut bytes: Bytes, last: bool) -> Result<(), AnswerError> {
        let Some(send) = &mut self.send else {
            return Err(AnswerError::Gone);
        };
        while !bytes.is_empty() {
            send.reserve_capacity(bytes.len());
            let room = std::future::poll_fn(|cx| send.poll_capacity(cx)).await;
            let room = room.and_then(Result::ok).ok_or(AnswerError::Gone)?;
            let part = bytes.split_to(room.min(bytes.len()));
            let end = last && bytes.is_empty();
            send.send_data(part, end).map_err(|_| AnswerError::Gone)?;
        }
        Ok(())
    }
}

impl HttpExchange for H2Exchange {
    async fn receive(&mut self) -> Result<Option<Bytes>, AnswerError> {
        match self.body.data().await {
            None => {
                // Trailers belong to the body: unread, they would look like a body that was
                // rejected.
                let trailers = self.body.trailers().await;
                trailers.map(|_| None).map_err(|_| AnswerError::Gone)
            }
            Some(Err(_)) => Err(AnswerError::Gone),
            Some(Ok(bytes)) => {
                let window = self.body.flow_control();
                window
                    .release_capacity(bytes.len())
                    .map_err(|_| AnswerError::Gone)?;
                Ok(Some(bytes))
            }
        }
    }

    async fn inform(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), AnswerError> {
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        self.respond
            .send_informational(response)
            .map_err(|_| AnswerError::Gone)
    }

    async fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        bodiless: bool,
    ) -> Result<(), AnswerError> {
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let sent = self.respond.send_response(response, bodiless);
        self.send = Some(sent.map_err(|_| AnswerError::Gone)?);
        Ok(())
    }

    /// The engine sends a head as one frame, so the fault occurs before it.
    async fn half_head(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), AnswerError> {
        Ok(())
    }

    async fn piece(&mut self, bytes: Bytes, last: bool) -> Result<(), AnswerError> {
        self.send(bytes, last).await
    }

    /// The engine sends whenever the connection is polled.
    async fn flush(&mut self) -> Result<(), AnswerError> {
        Ok(())
    }
}
