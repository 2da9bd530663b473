//! A connection of HTTP/1.0 or 1.1: reads heads, sends answers, one after the other, and ends.
//! Clear-text HTTP/2 is recognised by its preface and passed on.

mod head;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::{HeaderMap, header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use self::head::{BadHead, H1RequestHead};
use self::turn::{BufferedStream, H1Exchange};
use super::prefixed::Prefixed;
use super::{
    AnswerError, FLUSH_TIME, GARBAGE, HttpExchange, PIECE_TIMEOUT, STALL_TIME, answer, h2,
};
use crate::FaultKind;
use crate::connection::TcpConnectionInfo;
use crate::site::OriginState;

/// RFC 9113, section 3.4.
const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long, and how much, the server still reads after closing its side, so that no RST overtakes
/// its last bytes.
const DRAIN: Duration = Duration::from_secs(1);
const DRAINED: usize = 1024 * 1024;

#[allow(clippy::large_enum_variant)] // moved once a request; a box would cost more
enum NextRequest {
    Head(H1RequestHead),
    Bad(BadHead),
    Http2,
    /// The client closed the connection, or was idle for too long.
    End,
}

/// Serves until the connection ends. `input` was already read from `io`.
pub(crate) async fn serve<IO>(
    io: IO,
    input: BytesMut,
    link: TcpConnectionInfo,
    site: Arc<OriginState>,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut wires = BufferedStream::new(io, input);
    let mut served = 0_u32;
    loop {
        match next(&mut wires, &site, &link, served == 0).await {
            NextRequest::Head(head) => {
                served = served.saturating_add(1);
                match respond(&mut wires, head, &site, served).await {
                    Ok(true) => {}
                    Ok(false) | Err(AnswerError::Cut) => break,
                    Err(AnswerError::Fault(kind)) => return carry_out(wires, kind, &link).await,
                    Err(AnswerError::Gone) => return,
                }
            }
            NextRequest::Bad(bad) => {
                site.counters.bad_requests.increment();
                let _ = timeout(PIECE_TIMEOUT, refuse(&mut wires, bad)).await;
                break;
            }
            NextRequest::Http2 => {
                let whole = Prefixed::new(wires.input, wires.io);
                return h2::serve(whole, link, site).await;
            }
            NextRequest::End => break,
        }
    }
    close(wires).await;
}

/// Waits for the next head: the idle timeout until its first byte, then the time limit for a whole
/// head.
async fn next<IO: AsyncRead + Unpin>(
    wires: &mut BufferedStream<IO>,
    site: &OriginState,
    link: &TcpConnectionInfo,
    first: bool,
) -> NextRequest {
    let mut scanned = 0;
    let mut deadline = Instant::now() + site.http.keep_alive;
    let mut begun = false;
    loop {
        let preface = first && is_start_of_preface(&wires.input);
        if preface && wires.input.len() >= H2_PREFACE.len() {
            return NextRequest::Http2;
        }
        if !preface && !wires.input.is_empty() {
            match head::take(&mut wires.input, &mut scanned, link.secure) {
                Ok(Some(mut head)) => {
                    head.request.early = link.early.is_now();
                    return NextRequest::Head(head);
                }
                Ok(None) => {}
                Err(bad) => return NextRequest::Bad(bad),
            }
        }
        if !begun && !wires.input.is_empty() {
            begun = true;
            deadline = Instant::now() + PIECE_TIMEOUT;
        }
        wires.input.reserve(4096);
        match timeout_at(deadline, wires.io.read_buf(&mut wires.input)).await {
            Ok(Ok(n)) if n > 0 => {}
            _ => return NextRequest::End,
        }
    }
}

fn is_start_of_preface(input: &[u8]) -> bool {
    let known = input.len().min(H2_PREFACE.len());
    known > 0 && input.get(..known) == H2_PREFACE.get(..known)
}

/// Handles one request. Returns `Ok(true)` if the connection continues.
async fn respond<IO: AsyncRead + AsyncWrite + Unpin + Send>(
    wires: &mut BufferedStream<IO>,
    head: H1RequestHead,
    site: &OriginState,
    served: u32,
) -> Result<bool, AnswerError> {
    site.counters.h1_requests.increment();
    let last = site.http.close_after.is_some_and(|most| served >= most);
    let announced = last && !site.http.silent_close;
    let mut turn = H1Exchange::new(wires, &head, head.persistent && !announced);
    answer(&mut turn, &head.request, site).await?;
    Ok(turn.is_persistent() && !last)
}

async fn refuse<IO: AsyncRead + AsyncWrite + Unpin + Send>(
    wires: &mut BufferedStream<IO>,
    bad: BadHead,
) -> Result<(), AnswerError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_LENGTH, 0.into());
    let mut turn = H1Exchange::unasked(wires);
    turn.head(bad.0, headers, true).await?;
    turn.flush().await
}

async fn carry_out<IO: AsyncRead + AsyncWrite + Unpin>(
    mut wires: BufferedStream<IO>,
    kind: FaultKind,
    link: &TcpConnectionInfo,
) {
    match kind {
        FaultKind::Reset => {
            tokio::time::sleep(FLUSH_TIME).await;
            link.fuse.blow();
        }
        FaultKind::Close => close(wires).await,
        FaultKind::Stall => {
            let _ = timeout(STALL_TIME, drain(&mut wires.io, usize::MAX)).await;
        }
        FaultKind::Garbage => {
            let _ = timeout(PIECE_TIMEOUT, wires.io.write_all(GARBAGE)).await;
            close(wires).await;
        }
    }
}

/// Ends our direction, then reads for a moment: closing with unread bytes would send RST (RFC 9112,
/// section 9.6).
async fn close<IO: AsyncRead + AsyncWrite + Unpin>(mut wires: BufferedStream<IO>) {
    let ended = timeout(PIECE_TIMEOUT, wires.io.shutdown()).await;
    if matches!(ended, Ok(Ok(()))) {
        let _ = timeout(DRAIN, drain(&mut wires.io, DRAINED)).await;
    }
}

/// Reads and discards bytes, up to the end or a limit.
pub(crate) async fn drain<IO: AsyncRead + Unpin>(io: &mut IO, most: usize) {
    let mut sink = [0; 4096];
    let mut seen = 0;
    while let Ok(n) = io.read(&mut sink).await {
        seen += n;
        if n == 0 || seen >= most {
            return;
        }
    }
}
