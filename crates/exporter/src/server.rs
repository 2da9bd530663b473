//! Serves one HTTP/1.1 connection: the size and time of heads are limited, and bodies are refused.

use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_model::TraceContext;
use roundtrip_wire::http1::{self, Strictness};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::connections::OpenConnection;
use crate::message::{Answered, Asked, prefers_protobuf};
use crate::routes;
use crate::state::ExporterState;

const MAX_HEAD: usize = 16 * 1024;
const MAX_FIELDS: usize = 64;
/// The time limit for a whole head, and for the wait before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take after the client has closed its side: it can be waiting, or gone.
const CLOSED_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn serve(mut stream: TcpStream, own: OpenConnection, state: Rc<ExporterState>) {
    let mut buffer = Vec::new();
    loop {
        let next = {
            let waiting = own.wait();
            tokio::select! {
                next = read(&mut stream, &mut buffer) => next,
                () = waiting.ended() => break,
            }
        };
        let (answered, stays, is_head) = match next {
            Some(Ok(asked)) => {
                // Boxed, because a connection that waits would take the memory of a probe.
                let answer = Box::pin(routes::answer(&asked, &state));
                let answered = tokio::select! {
                    answered = answer => answered,
                    () = gone(&mut stream, &mut buffer) => break,
                };
                (answered, asked.stays, asked.method == "HEAD")
            }
            Some(Err(status)) => (Answered::text(status, reason(status)), false, false),
            None => break,
        };
        let bytes = written(&answered, stays, is_head);
        let sent = timeout(WRITE_TIMEOUT, stream.write_all(&bytes)).await;
        if !matches!(sent, Ok(Ok(()))) || !stays {
            break;
        }
    }
    let _ = timeout(WRITE_TIMEOUT, stream.shutdown()).await;
}

/// Returns when the client has reset the connection, or when it has closed it and the answer takes
/// too long. Keeps the bytes of a next request.
async fn gone(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    while buffer.len() <= MAX_HEAD {
        match stream.read_buf(buffer).await {
            Ok(0) => {
                sleep(CLOSED_TIMEOUT).await;
                return;
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
    std::future::pending::<()>().await;
}

/// Reads the next request, or returns the status that refuses it. Returns `None` if the client has
/// closed the connection or is too slow.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Result<Asked, u16>> {
    if buffer.is_empty() {
        let came = timeout(IDLE_TIMEOUT, stream.read_buf(buffer)).await;
        came.ok()?.ok().filter(|length| *length > 0)?;
    }
    timeout(HEAD_TIMEOUT, head(stream, buffer)).await.ok()?
}

async fn head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Result<Asked, u16>> {
    loop {
        match parsed(buffer) {
            Ok(Some((asked, length))) => {
                buffer.drain(..length);
                return Some(Ok(asked));
            }
            Err(status) => return Some(Err(status)),
            Ok(None) if buffer.len() > MAX_HEAD => return Some(Err(431)),
            Ok(None) => {}
        }
        let length = stream.read_buf(buffer).await.ok()?;
        if length == 0 {
            return None;
        }
    }
}

fn parsed(buffer: &[u8]) -> Result<Option<(Asked, usize)>, u16> {
    let mut room = [MaybeUninit::uninit(); MAX_FIELDS];
    let head = http1::request(buffer, &mut room, Strictness::Strict).map_err(|_| 400_u16)?;
    let Some(head) = head else {
        return Ok(None);
    };
    let field = |name: &str| {
        let found = head
            .fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name));
        found
            .and_then(|field| std::str::from_utf8(field.value).ok())
            .map(str::trim)
    };
    // A body would be taken for the next request.
    let bodiless = field("content-length").is_none_or(|length| length == "0")
        && field("transfer-encoding").is_none();
    let closes = field("connection").is_some_and(|word| word.eq_ignore_ascii_case("close"));
    let asked = Asked {
        method: head.method.to_owned(),
        path: path(head.target).to_owned(),
        scrape_timeout: field("x-prometheus-scrape-timeout-seconds")
            .filter(|value| !value.is_empty())
            .map(|value| value.parse().map_err(drop)),
        trace: field("traceparent").and_then(TraceContext::parse),
        prefers_protobuf: field("accept").is_some_and(prefers_protobuf),
        stays: bodiless && !closes && !head.is_http10,
    };
    Ok(Some((asked, head.length)))
}

/// Path and query of a request's target, which may be a whole URL. RFC 9112 §3.2.2.
fn path(target: &str) -> &str {
    let scheme = ["http://", "https://"].into_iter().find(|scheme| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let Some(scheme) = scheme else {
        return target;
    };
    let rest = target.get(scheme.len()..).unwrap_or_default();
    rest.find(['/', '?'])
        .and_then(|at| rest.get(at..))
        .unwrap_or("/")
}

fn written(answered: &Answered, stays: bool, is_head: bool) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n",
        answered.status,
        reason(answered.status),
        answered.content_type,
        answered.body.len()
    );
    if answered.content_type.starts_with("text/html") {
        head += "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n";
    }
    if !stays {
        head += "Connection: close\r\n";
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    if !is_head {
        bytes.extend_from_slice(&answered.body);
    }
    bytes
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::connections::Connections;
    use crate::state::ExporterOptions;

    #[tokio::test]
    async fn a_connection_that_waits_takes_little_memory() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listen = listener.local_addr().unwrap();
        let stream = TcpStream::connect(listen).await.unwrap();
        let options = ExporterOptions {
            config: None,
            skip_unsupported: false,
            listen,
            timeout_offset: Duration::ZERO,
            history: 1,
            probes: 1,
            prefix: String::new(),
            telemetry: None,
        };
        let state = Rc::new(ExporterState::new(options).unwrap());
        let own = Rc::new(Connections::new(1)).open();
        let size = size_of_val(&serve(stream, own, state));
        assert!(size < 2048, "{size}");
    }
}
