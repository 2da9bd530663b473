//! A connection of HTTP/3. The `h3` crate speaks the protocol over quinn; here a stream becomes an [`Exchange`], and the
//! connection ends as knobs and faults want it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use h3_quinn::BidiStream;
use http::{HeaderMap, Response, StatusCode};
use quinn::VarInt;
use roundtrip_http::Confirmation;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Ended, Exchange, LARGEST_HEAD, LAST_WORDS, PATIENCE, STALL, answer};
use crate::FaultKind;
use crate::request::Request;
use crate::site::Site;

/// How long a client that was told to go may take.
const GOODBYE: Duration = Duration::from_secs(1);

type Connection = h3::server::Connection<h3_quinn::Connection, Bytes>;

/// Serves until the connection ends.
pub(crate) async fn serve(
    quic: quinn::Connection,
    mut confirmation: Confirmation,
    site: Arc<Site>,
) {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(LARGEST_HEAD as u64);
    let handshake = builder.build(h3_quinn::Connection::new(quic.clone()));
    let Ok(Ok(mut connection)) = timeout(PATIENCE, handshake).await else {
        return;
    };
    let Some(struck) = streams(&mut connection, &mut confirmation, &site).await else {
        // Whoever was told to go closes the connection; closing it here could overtake the last answer.
        let _ = timeout(GOODBYE, quic.closed()).await;
        return;
    };
    let code = match struck.kind {
        FaultKind::Stall => {
            let _ = timeout(STALL, quic.closed()).await;
            return;
        }
        FaultKind::Reset => Code::H3_INTERNAL_ERROR,
        FaultKind::Close | FaultKind::Garbage => Code::H3_NO_ERROR,
    };
    tokio::time::sleep(LAST_WORDS).await;
    quic.close(VarInt::from_u64(code.value()).unwrap_or_default(), b"");
}

/// A fault has struck one stream. The others are kept as they are: dropping them would tell the client.
struct Struck {
    kind: FaultKind,
    _streams: JoinSet<()>,
}

/// Accepts streams until the end of the connection, or until a fault strikes in one of them.
async fn streams(
    connection: &mut Connection,
    confirmation: &mut Confirmation,
    site: &Arc<Site>,
) -> Option<Struck> {
    let (struck, mut faults) = mpsc::channel(1);
    let mut running = JoinSet::new();
    let mut served = 0_u32;
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            stream = connection.accept() => {
                let resolver = stream.ok()??;
                served = served.saturating_add(1);
                let early = !confirmation.is_complete();
                if site.http.close_after.is_some_and(|most| served == most) {
                    // GOAWAY: nothing after this stream (RFC 9114, section 5.2).
                    let _ = connection.shutdown(0).await;
                }
                running.spawn(run(resolver, early, site.clone(), struck.clone()));
            }
            Some(_) = running.join_next() => idle_since = Instant::now(),
            Some(kind) = faults.recv() => return Some(Struck { kind, _streams: running }),
            () = sleep_until(idle_since + site.http.keep_alive), if running.is_empty() => {
                let _ = timeout(LAST_WORDS, connection.shutdown(0)).await;
                return None;
            }
        }
    }
}

async fn run(
    resolver: RequestResolver<h3_quinn::Connection, Bytes>,
    early: bool,
    site: Arc<Site>,
    struck: mpsc::Sender<FaultKind>,
) {
    let Ok(Ok((request, stream))) = timeout(PATIENCE, resolver.resolve_request()).await else {
        site.counters.bad_requests.increment();
        return;
    };
    site.counters.h3_requests.increment();
    let (parts, ()) = request.into_parts();
    let request = Request::new(parts, true, early);
    let mut stream = Stream(stream);
    match answer(&mut stream, &request, &site).await {
        Ok(()) => {
            let _ = timeout(PATIENCE, stream.0.finish()).await;
        }
        Err(Ended::Fault(kind)) => {
            // Only the first fault is waited for; the connection ends with it, and so does this task.
            let _ = struck.try_send(kind);
            tokio::time::sleep(STALL).await;
        }
        Err(Ended::Cut) => {
            // What is queued is dropped by a reset.
            tokio::time::sleep(LAST_WORDS).await;
            stream.0.stop_stream(Code::H3_INTERNAL_ERROR);
        }
        Err(Ended::Gone) => stream.0.stop_stream(Code::H3_INTERNAL_ERROR),
    }
}

struct Stream(RequestStream<BidiStream<Bytes>, Bytes>);

impl Stream {
    async fn send_head(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), Ended> {
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let sent = self.0.send_response(response).await;
        sent.map_err(|_| Ended::Gone)
    }
}

impl Exchange for Stream {
    async fn receive(&mut self) -> Result<Option<Bytes>, Ended> {
        match self.0.recv_data().await {
            Ok(Some(mut data)) => Ok(Some(data.copy_to_bytes(data.remaining()))),
            Ok(None) => Ok(None),
            Err(_) => Err(Ended::Gone),
        }
    }

    async fn inform(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), Ended> {
        self.send_head(status, headers).await
    }

    async fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        _bodiless: bool,
    ) -> Result<(), Ended> {
        self.send_head(status, headers).await
    }

    /// A head is one frame for the engine: the fault strikes before it.
    async fn half_head(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), Ended> {
        Ok(())
    }

    async fn piece(&mut self, bytes: Bytes, _last: bool) -> Result<(), Ended> {
        self.0.send_data(bytes).await.map_err(|_| Ended::Gone)
    }

    /// The engine sends on its own.
    async fn flush(&mut self) -> Result<(), Ended> {
        Ok(())
    }
}
