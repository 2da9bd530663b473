//! An HTTP/3 connection, over any transport; here a stream becomes an [`HttpExchange`], and the
//! connection ends as knobs and faults say.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use roundtrip_quic_tokio::{
    H3Error, H3Server, H3Transport, MessagePart, MessageSender, MessageStream, request_head,
    response_lines,
};
use roundtrip_wire::h3::{Code, SectionLimits};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::carrier::QuicCarrier;
use super::{
    AnswerError, FLUSH_TIME, HttpExchange, MAX_HEAD_BYTES, PIECE_TIMEOUT, STALL_TIME, answer,
};
use crate::FaultKind;
use crate::request::OriginRequest;
use crate::site::OriginState;

/// How long a client may take to close after GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The largest number of bytes that are read of a body at once.
const MAX_PIECE: usize = 256 << 10;
/// The limits of a field section. Each line of it counts 32 bytes at least. RFC 9114 §4.2.2.
const LIMITS: SectionLimits = SectionLimits {
    fields: MAX_HEAD_BYTES / 32,
    size: MAX_HEAD_BYTES,
};

type Sender<C> = MessageSender<<<C as QuicCarrier>::Transport as H3Transport>::Sending>;
type Receiver<C> = MessageStream<<<C as QuicCarrier>::Transport as H3Transport>::Receiving>;

/// Serves until the connection ends.
pub(crate) async fn serve<C: QuicCarrier>(mut carrier: C, site: Arc<OriginState>) {
    let starting = H3Server::start(carrier.transport(), LIMITS);
    let Ok(Ok(mut server)) = timeout(PIECE_TIMEOUT, starting).await else {
        return;
    };
    let Some(struck) = streams(&mut server, &mut carrier, &site).await else {
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
    carrier.close(code);
}

/// A fault in one stream. The other streams are kept: dropping them would send resets to the
/// client.
struct H3Fault {
    kind: FaultKind,
    _streams: JoinSet<()>,
}

/// Accepts streams until the connection ends, or until a fault occurs in one of them.
async fn streams<C: QuicCarrier>(
    server: &mut H3Server<C::Transport>,
    carrier: &mut C,
    site: &Arc<OriginState>,
) -> Option<H3Fault> {
    let (struck, mut faults) = mpsc::channel(1);
    let mut running = JoinSet::new();
    let mut requests = 0_u32;
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            accepted = server.accept() => {
                let (sender, receiver) = accepted.ok()?;
                requests = requests.saturating_add(1);
                let early = !carrier.is_confirmed();
                if site.http.close_after.is_some_and(|most| requests == most) {
                    // GOAWAY: nothing after this stream (RFC 9114, section 5.2).
                    let _ = server.go_away().await;
                }
                running.spawn(run::<C>(sender, receiver, early, site.clone(), struck.clone()));
            }
            Some(_) = running.join_next() => idle_since = Instant::now(),
            Some(kind) = faults.recv() => return Some(H3Fault { kind, _streams: running }),
            () = sleep_until(idle_since + site.http.keep_alive), if running.is_empty() => {
                let _ = timeout(FLUSH_TIME, server.go_away()).await;
                return None;
            }
        }
    }
}

async fn run<C: QuicCarrier>(
    sender: Sender<C>,
    mut receiver: Receiver<C>,
    early: bool,
    site: Arc<OriginState>,
    struck: mpsc::Sender<FaultKind>,
) {
    let head = async {
        let section = receiver.head().await?;
        request_head(&section).map_err(|error| receiver.refuse_head(error))
    };
    let request = match timeout(PIECE_TIMEOUT, head).await {
        Ok(Ok(request)) => request,
        Ok(Err(error)) => return refuse::<C>(sender, &error, &site).await,
        Err(_) => return site.counters.bad_requests.increment(),
    };
    site.counters.h3_requests.increment();
    let (parts, ()) = request.into_parts();
    let request = OriginRequest::new(parts, true, early);
    let mut stream = H3Exchange::<C> {
        sender,
        receiver,
        code: Code::H3_INTERNAL_ERROR,
    };
    match answer(&mut stream, &request, &site).await {
        Ok(()) => {
            let _ = timeout(PIECE_TIMEOUT, stream.sender.finish()).await;
        }
        Err(AnswerError::Fault(kind)) => {
            // Only the first fault counts: it ends the connection, and with it this task.
            let _ = struck.try_send(kind);
            tokio::time::sleep(STALL_TIME).await;
        }
        Err(AnswerError::Cut) => {
            // A reset drops queued data.
            tokio::time::sleep(FLUSH_TIME).await;
            stream.sender.reset(stream.code);
        }
        Err(AnswerError::Gone) => stream.sender.reset(stream.code),
    }
}

/// Answers a head that exceeds a limit, and resets the stream of one that is malformed.
async fn refuse<C: QuicCarrier>(mut sender: Sender<C>, error: &H3Error, site: &OriginState) {
    site.counters.bad_requests.increment();
    match error {
        H3Error::Message(error) if error.is_limit() => {
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            sender.section(response_lines(&status, &HeaderMap::new()));
            let _ = timeout(PIECE_TIMEOUT, sender.finish()).await;
        }
        H3Error::Message(error) => sender.reset(error.code()),
        _ => {}
    }
}

struct H3Exchange<C: QuicCarrier> {
    sender: Sender<C>,
    receiver: Receiver<C>,
    /// The code that resets an incomplete answer.
    code: Code,
}

impl<C: QuicCarrier> H3Exchange<C> {
    fn append_head(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.sender.section(response_lines(&status, headers));
    }

    fn gone(&mut self, error: &H3Error) -> AnswerError {
        if let H3Error::Message(error) = error {
            self.code = error.code();
        }
        AnswerError::Gone
    }
}

impl<C: QuicCarrier> HttpExchange for H3Exchange<C> {
    async fn receive(&mut self) -> Result<Option<Bytes>, AnswerError> {
        match self.receiver.next(MAX_PIECE).await {
            Ok(Some(MessagePart::Data(data))) => Ok(Some(data)),
            Ok(Some(MessagePart::Head(_) | MessagePart::Trailers(_))) => {
                // Nothing may follow; the reader knows that when the stream has ended.
                let end = self.receiver.next(MAX_PIECE).await;
                end.map(|_| None).map_err(|error| self.gone(&error))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.gone(&error)),
        }
    }

    async fn inform(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), AnswerError> {
        self.append_head(status, &headers);
        self.flush().await
    }

    async fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        _bodiless: bool,
    ) -> Result<(), AnswerError> {
        self.append_head(status, &headers);
        Ok(())
    }

    /// A client sees nothing of an incomplete frame, so the fault occurs before it.
    async fn half_head(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), AnswerError> {
        Ok(())
    }

    /// The last piece leaves with the end of the stream.
    async fn piece(&mut self, bytes: Bytes, last: bool) -> Result<(), AnswerError> {
        let sent = self.sender.send_data(bytes).await;
        sent.map_err(|_| AnswerError::Gone)?;
        if last { Ok(()) } else { self.flush().await }
    }

    async fn flush(&mut self) -> Result<(), AnswerError> {
        self.sender.flush().await.map_err(|_| AnswerError::Gone)
    }
}
