//! HTTP/2 to servers: the exchanges of a thread share connections to each server, as few as the
//! server's limit of streams allows. RFC 9113.
//!
//! `pools` limits and queues streams as it does connections. An exchange gets a [`H2Stream`], which
//! it writes and reads like an HTTP/1.1 connection, so requests and answers are handled in one way.

mod answer;
mod asking;
mod head;
mod stream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::pool::after;
use super::wire::Wire;
pub(super) use asking::SharedSlot;
pub(crate) use stream::H2Stream;

/// The most streams on one connection. RFC 9113 §6.5.2 recommends that servers allow as many.
const MAX_STREAMS: usize = 100;
/// The largest number of bytes that a server may send before gate takes them: for one stream, and
/// in total. Clients that read nothing on all other streams cannot block one of them.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = MAX_STREAMS as u32 * STREAM_WINDOW;
const SEND_BUFFER: usize = 64 * 1024;
const HEADER_LIST: u32 = 64 * 1024;

/// A connection that exchanges with a server share.
#[derive(Debug)]
pub(super) struct SharedH2 {
    send: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    secure: bool,
    standing: Arc<H2Standing>,
    since: Instant,
    used: Instant,
}

/// What the streams of a connection know of it.
#[derive(Debug, Default)]
struct H2Standing {
    /// It must not be used for others.
    suspect: AtomicBool,
    ended: AtomicBool,
    /// Its end was counted as a failure of the server.
    blamed: AtomicBool,
}

/// Why a shared connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedEnd {
    Left,
    Aged,
    Idled,
}

impl SharedH2 {
    /// `most` limits the streams until the server states its limit.
    pub(super) async fn open(wire: Wire, most: usize) -> Result<Self, h2::Error> {
        let secure = wire.is_secure();
        let (send, connection) = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER)
            .max_header_list_size(HEADER_LIST)
            .initial_max_send_streams(most)
            .enable_push(false)
            .handshake::<_, Bytes>(wire)
            .await?;
        // It ends when the server closes, or when all handles and streams are dropped. Streams see
        // errors.
        let standing = Arc::<H2Standing>::default();
        let driving = standing.clone();
        let driver = tokio::spawn(async move {
            drop(connection.await);
            driving.ended.store(true, Ordering::Relaxed);
        });
        Ok(Self {
            send,
            driver,
            secure,
            standing,
            since: Instant::now(),
            used: Instant::now(),
        })
    }

    /// Whether the server accepts no further stream for now. One more would wait, and nothing could
    /// tell why.
    pub(super) fn is_full(&self) -> bool {
        self.streams() >= self.most_streams()
    }

    fn most_streams(&self) -> usize {
        let most = self.send.current_max_send_streams();
        most.min(MAX_STREAMS)
    }

    /// The number of streams in use: each shares the standing, as does the driver.
    fn streams(&self) -> usize {
        let driver = usize::from(!self.driver.is_finished());
        Arc::strong_count(&self.standing).saturating_sub(1 + driver)
    }

    /// A stream for one more exchange; an error if the server accepts none.
    pub(super) async fn stream(&mut self) -> Result<H2Stream, h2::Error> {
        self.used = Instant::now();
        let send = self.send.clone().ready().await?;
        Ok(H2Stream::new(send, self.secure, self.standing.clone()))
    }

    /// Whether and why it is given up: exchanges in progress keep it; new ones get another
    /// connection.
    pub(super) fn over(&self, idle_time: Duration, age: Duration) -> Option<SharedEnd> {
        let now = Instant::now();
        if self.driver.is_finished() || self.standing.suspect.load(Ordering::Relaxed) {
            Some(SharedEnd::Left)
        } else if after(self.since, age) <= now {
            Some(SharedEnd::Aged)
        } else if self.streams() == 0 && after(self.used, idle_time) <= now {
            Some(SharedEnd::Idled)
        } else {
            None
        }
    }
}

/// The status of a server's answer to GET, over a separate connection.
pub(super) async fn check(wire: Wire, authority: &str, path: &str) -> io::Result<Option<u16>> {
    let mut shared = SharedH2::open(wire, 1).await.map_err(broken)?;
    let stream = shared.stream().await.map_err(broken)?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: roundtrip-gate\r\n\r\n");
    let answered = stream.status(request.as_bytes()).await;
    shared.driver.abort();
    answered.map(Some)
}

/// Reports a reset stream as a reset connection, for callers that do not know about streams.
fn broken(error: h2::Error) -> io::Error {
    let kind = if error.is_remote() {
        io::ErrorKind::ConnectionReset
    } else {
        io::ErrorKind::BrokenPipe
    };
    io::Error::new(kind, error)
}

/// Whether the server said that it has not processed the request, which may therefore be sent again
/// (RFC 9113 §8.7): it refused the stream, or left in order before this stream.
pub(crate) fn was_not_processed(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<h2::Error>());
    inner.is_some_and(|error| {
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let left = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        error.is_remote() && (refused || left)
    })
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
