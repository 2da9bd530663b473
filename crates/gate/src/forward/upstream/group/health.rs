//! Active checks: a periodic GET to each server, over a separate connection. A server that fails
//! [`MAX_FAILURES`] checks in a row gets no requests until a check succeeds.

use std::io;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::info;

use super::Group;
use crate::config::UpstreamProtocol;
use crate::forward::upstream::h2;
use crate::forward::upstream::pool::after;
use crate::forward::upstream::wire::Wire;

/// Failures in a row before a server counts as down, because a single packet may be lost.
const MAX_FAILURES: u32 = 2;
/// The largest number of bytes that are read of an answer's first line.
const MAX_ANSWER: usize = 1024;

impl Group {
    pub(super) async fn keep_checked(&self, server: usize) {
        let (Some(health), Some(well)) = (&self.config.health, self.well.get(server)) else {
            return;
        };
        let mut failures = 0;
        loop {
            failures = match self.check(server, &health.path).await {
                Some(200..400) => 0,
                _ => MAX_FAILURES.min(failures + 1),
            };
            if failures == 0
                && let Some(health) = self.health.get(server)
            {
                health.succeeded();
            }
            if failures == 0 || failures == MAX_FAILURES {
                let is_well = failures == 0;
                if well.swap(is_well, Ordering::Relaxed) != is_well {
                    info!(server = %self.shown(server), is_well, "a health check has a new result");
                }
            }
            sleep(health.every.0).await;
        }
    }

    /// The status of a server's answer, if it arrives in time.
    async fn check(&self, server: usize, path: &str) -> Option<u16> {
        let deadline = after(Instant::now(), self.config.connect.0);
        let opened = self.open(server, false, deadline).await.ok()?;
        let authority = self.servers.get(server)?.address.authority();
        let asking = async {
            match self.config.protocol {
                UpstreamProtocol::H1 => ask(opened.wire, &authority, path).await,
                UpstreamProtocol::H2 => h2::check(opened.wire, &authority, path).await,
            }
        };
        timeout_at(deadline, asking).await.ok()?.ok()?
    }
}

async fn ask(mut wire: Wire, authority: &str, path: &str) -> io::Result<Option<u16>> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: roundtrip-gate\r\nConnection: close\r\n\r\n"
    );
    wire.write_all(request.as_bytes()).await?;
    wire.flush().await?;
    let mut answer = Vec::with_capacity(MAX_ANSWER);
    while !answer.contains(&b'\n') && answer.len() < MAX_ANSWER {
        if wire.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(status(&answer))
}

/// RFC 9112 §4.
fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(1..)?.strip_prefix(b" ")?.get(..3)?;
    let end = rest.get(5);
    if !matches!(end, Some(b' ' | b'\r' | b'\n')) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        for (line, expected) in [
            ("HTTP/1.1 200 OK\r\n", Some(200)),
            ("HTTP/1.0 503\r\n", Some(503)),
            ("HTTP/1.1 2000 OK\r\n", None),
            ("HTTP/2 200 OK\r\n", None),
            ("HTTP/1.1 20", None),
            ("SSH-2.0", None),
            ("", None),
        ] {
            assert_eq!(status(line.as_bytes()), expected, "{line}");
        }
    }
}
