//! HTTP/0.9 over QUIC (`hq-interop`), as used by interoperability tests: a stream carries `GET
//! /path`, and the bare body comes back. An error is only its text.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode, Uri, Version};
use roundtrip_quic_tokio::{Connection, RecvStream, SendStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::{AnswerError, FLUSH_TIME, HttpExchange, PIECE_TIMEOUT, STALL_TIME, answer};
use crate::FaultKind;
use crate::request::OriginRequest;
use crate::site::OriginState;

/// The longest request, in bytes; it is one line.
const MAX_REQUEST_BYTES: usize = 8 * 1024;
/// The only error code, for clients that misbehave.
const FAILED: u64 = 1;

/// Serves until the connection ends.
pub(crate) async fn serve(link: Connection, site: Arc<OriginState>) {
    let mut running = JoinSet::new();
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            accepted = link.accept_bi() => {
                let Ok((sending, receiving)) = accepted else {
                    return;
                };
                running.spawn(run(link.clone(), sending, receiving, site.clone()));
            }
            Some(_) = running.join_next() => idle_since = Instant::now(),
            () = sleep_until(idle_since + site.http.keep_alive), if running.is_empty() => {
                link.close(0, b"");
                return;
            }
        }
    }
}

async fn run(
    link: Connection,
    sending: SendStream,
    mut receiving: RecvStream,
    site: Arc<OriginState>,
) {
    let early = !link.is_connected();
    let Ok(Some(request)) = timeout(PIECE_TIMEOUT, read(&mut receiving, early)).await else {
        site.counters.bad_requests.increment();
        return;
    };
    site.counters.hq_requests.increment();
    let mut stream = Bare(sending);
    match answer(&mut stream, &request, &site).await {
        // Dropping an unfinished stream resets it.
        Ok(()) => drop(stream.0.finish()),
        Err(AnswerError::Fault(FaultKind::Stall)) => tokio::time::sleep(STALL_TIME).await,
        Err(AnswerError::Fault(_)) => {
            tokio::time::sleep(FLUSH_TIME).await;
            link.close(FAILED, b"");
        }
        Err(AnswerError::Cut) => tokio::time::sleep(FLUSH_TIME).await,
        Err(AnswerError::Gone) => {}
    }
}

/// The request, if the line is valid.
async fn read(receiving: &mut RecvStream, early: bool) -> Option<OriginRequest> {
    let mut line = BytesMut::new();
    while !line.contains(&b'\n') {
        let Some(bytes) = receiving.read_chunk().await.ok()? else {
            break;
        };
        line.extend_from_slice(&bytes);
        if line.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    parse(&line, early)
}

fn parse(line: &[u8], early: bool) -> Option<OriginRequest> {
    let line = line.split(|byte| *byte == b'\n').next()?;
    let path = line.trim_ascii_end().strip_prefix(b"GET ")?;
    Some(OriginRequest {
        method: Method::GET,
        uri: Uri::try_from(path)
            .ok()
            .filter(|uri| uri.path().starts_with('/'))?,
        version: Version::HTTP_09,
        headers: HeaderMap::new(),
        secure: true,
        early,
    })
}

struct Bare(SendStream);

impl HttpExchange for Bare {
    async fn receive(&mut self) -> Result<Option<Bytes>, AnswerError> {
        Ok(None)
    }

    async fn inform(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), AnswerError> {
        Ok(())
    }

    async fn head(&mut self, _: StatusCode, _: HeaderMap, _: bool) -> Result<(), AnswerError> {
        Ok(())
    }

    async fn half_head(&mut self, _: StatusCode, _: HeaderMap) -> Result<(), AnswerError> {
        Ok(())
    }

    async fn piece(&mut self, bytes: Bytes, _last: bool) -> Result<(), AnswerError> {
        self.0
            .write_chunk(bytes)
            .await
            .map_err(|_| AnswerError::Gone)
    }

    async fn flush(&mut self) -> Result<(), AnswerError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_line_with_a_path() {
        for (line, path) in [
            ("GET /bytes/9\r\n", Some("/bytes/9")),
            ("GET /a?b=c\n", Some("/a?b=c")),
            ("GET /", Some("/")),
            ("GET /x\r\nHost: a\r\n", Some("/x")),
            ("GET", None),
            ("GET \r\n", None),
            ("POST /\r\n", None),
            ("GET bytes\r\n", None),
            ("GET /\u{7f}\u{1}\r\n", None),
            ("", None),
        ] {
            let request = parse(line.as_bytes(), true);
            assert_eq!(request.is_some(), path.is_some(), "{line}");
            if let (Some(request), Some(path)) = (request, path) {
                assert_eq!(request.uri.to_string(), path);
                assert!(request.early && request.secure);
            }
        }
    }
}
