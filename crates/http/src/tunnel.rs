//! A tunnel through an HTTP proxy. RFC 9110 §9.3.6.

use std::fmt::Write as _;

use roundtrip_model::{Event, Recorder, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::response::MAX_INTERIM;
use crate::{ByteStream, HttpError, response_head};

/// The largest answer that a proxy may give to CONNECT.
const MAX_ANSWER_SIZE: usize = 64 * 1024;

/// Asks the proxy on `stream` for a tunnel to the target. Returns the proxy's status, which is a
/// success.
pub async fn open_tunnel(
    stream: &mut dyn ByteStream,
    target: &Target,
    headers: &[(String, String)],
    recorder: &Recorder,
) -> Result<u16, HttpError> {
    let peer = format!("{}:{}", target.host, target.port);
    let mut head = format!("CONNECT {peer} HTTP/1.1\r\nHost: {peer}\r\n");
    for (name, value) in headers {
        // Writing to a String cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    recorder.record(Event::TunnelStarted);
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    let mut interim = 0;
    loop {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(HttpError::ClosedUnanswered);
        }
        while let Some((head, length)) = response_head(&answer)? {
            answer.drain(..length);
            if !head.is_final() {
                interim += 1;
                if interim > MAX_INTERIM {
                    return Err(HttpError::TooManyInterim(MAX_INTERIM));
                }
                continue;
            }
            if !(200..300).contains(&head.status) {
                return Err(HttpError::Proxy {
                    status: head.status,
                    reason: head.reason().to_owned(),
                });
            }
            // TLS follows, and the client sends first in TLS.
            if !answer.is_empty() {
                return Err(HttpError::Malformed("the proxy sent more than its head"));
            }
            recorder.record(Event::TunnelReady);
            return Ok(head.status);
        }
        if answer.len() >= MAX_ANSWER_SIZE {
            return Err(HttpError::HeadTooLarge {
                limit: MAX_ANSWER_SIZE,
            });
        }
    }
}
