//! One connection to the admin server: heads of limited size within limited time, GET and HEAD
//! only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::AdminState;
use super::state::{Reply, Topic};
use crate::config::{Bytes, Limits};
use crate::forward::h1;
use crate::judge::request::{BadRequestError, Body, Request, inspect};

const MAX_HEAD: u64 = 8 * 1024;
/// The time for a whole head, and for the wait before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REQUESTS: usize = 1000;
/// RFC 9110 §15.5.20.
const MISDIRECTED: u16 = 421;

/// The requested topic, or why the request is refused.
struct AdminRequest {
    topic: Result<Topic, u16>,
    host: String,
    is_head: bool,
    stays: bool,
}

/// Serves one connection. It sets `waits` while no request has begun.
pub(super) async fn serve(mut stream: TcpStream, state: Arc<AdminState>, waits: Arc<AtomicBool>) {
    let mut buffer = Vec::new();
    for number in 1..=MAX_REQUESTS {
        waits.store(true, Ordering::Relaxed);
        let Some(mut asked) = read(&mut stream, &mut buffer).await else {
            break;
        };
        waits.store(false, Ordering::Relaxed);
        asked.stays &= number < MAX_REQUESTS;
        let bytes = answer(&asked, &state);
        let sent = timeout(WRITE_TIMEOUT, stream.write_all(&bytes)).await;
        if !matches!(sent, Ok(Ok(()))) || !asked.stays {
            break;
        }
    }
    let _ = timeout(WRITE_TIMEOUT, stream.shutdown()).await;
}

/// `None` if the client has closed or is too slow.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<AdminRequest> {
    if buffer.is_empty() {
        let came = timeout(IDLE_TIMEOUT, stream.read_buf(buffer)).await;
        came.ok()?.ok().filter(|length| *length > 0)?;
    }
    timeout(HEAD_TIMEOUT, head(stream, buffer)).await.ok()?
}

async fn head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<AdminRequest> {
    let limits = Limits {
        head: Bytes(MAX_HEAD),
        ..Limits::default()
    };
    loop {
        match h1::request(buffer, &limits, AdminRequest::new) {
            Ok(Some((asked, length))) => {
                buffer.drain(..length);
                return Some(asked);
            }
            Err(refusal) => return Some(AdminRequest::refused(refusal.status())),
            Ok(None) => {}
        }
        let length = stream.read_buf(buffer).await.ok()?;
        if length == 0 {
            return None;
        }
    }
}

impl AdminRequest {
    fn new(request: &Request<'_>) -> Self {
        let inspected = match inspect(request, 0) {
            Ok(inspected) if inspected.body == Body::None => inspected,
            Ok(_) => return Self::refused(BadRequestError::BodyTooLarge.status()),
            Err(refusal) => return Self::refused(refusal.status()),
        };
        let path = inspected.path.split('?').next().unwrap_or_default();
        let topic = match (request.method, Topic::from_path(path)) {
            ("GET" | "HEAD", Some(topic)) => Ok(topic),
            ("GET" | "HEAD", None) => Err(404),
            _ => Err(405),
        };
        Self {
            topic,
            host: inspected.host.name().to_owned(),
            is_head: request.method == "HEAD",
            stays: inspected.keep_alive,
        }
    }

    /// The connection ends, because the next bytes could be a body.
    fn refused(status: u16) -> Self {
        Self {
            topic: Err(status),
            host: String::new(),
            is_head: false,
            stays: false,
        }
    }
}

fn answer(asked: &AdminRequest, state: &AdminState) -> Vec<u8> {
    let reply = match asked.topic {
        Ok(_) if !state.answers_to(&asked.host) => Reply::error(MISDIRECTED),
        Ok(topic) => state.reply(topic),
        Err(status) => Reply::error(status),
    };
    let reason = reason(reply.status);
    let mut head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n",
        reply.status,
        reply.content_type,
        reply.body.len()
    );
    if let Some(policy) = reply.policy {
        head += "Referrer-Policy: no-referrer\r\nContent-Security-Policy: ";
        head += policy;
        head += "\r\n";
    }
    if reply.status == 405 {
        head += "Allow: GET, HEAD\r\n";
    }
    if !asked.stays {
        head += "Connection: close\r\n";
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    if !asked.is_head {
        bytes.extend_from_slice(reply.body.as_bytes());
    }
    bytes
}

impl Reply {
    fn error(status: u16) -> Self {
        let body = match status {
            404 => "The paths are /, /healthz, /readyz, /metrics and /metrics.json.\n".into(),
            MISDIRECTED => "This host name is not accepted; use an address, localhost, or a name in admin.hosts.\n".into(),
            other => format!("{}\n", reason(other)),
        };
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            policy: None,
            body,
        }
    }
}

/// RFC 9110 §15, for the statuses that are used here.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        MISDIRECTED => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}
