//! HTTP/2 to servers: the exchanges of a thread share connections to each server, as few as the
//! server's limit of streams allows. RFC 9113.
//!
//! `pools` limits and queues streams as it does connections. An exchange gets a [`H2Stream`], which
//! it writes and reads like an HTTP/1.1 connection, so requests and answers are handled in one way.

mod answer;
mod asking;
mod frames;
mod gathered;
mod head;
mod standing;
mod stream;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, PingPong};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::pool::after;
use super::wire::Wire;
pub(super) use asking::SharedSlot;
use frames::WatchedFrames;
use standing::{H2Standing, StreamPlace};
pub(crate) use stream::H2Stream;

/// The largest number of streams on one connection. RFC 9113 §6.5.2 recommends that servers allow
/// as many.
const MAX_STREAMS: usize = 100;
/// The largest number of streams until the server has stated its limit, if nothing is known about
/// it.
const FIRST_STREAMS: usize = 4;
/// Streams that gate has reset, and that are remembered for some time. Frames that arrive for
/// others are answered with RST_STREAM, which some servers count.
const MAX_RESETS: usize = 10 * MAX_STREAMS;
const RESET_TIME: Duration = Duration::from_secs(5);
/// The largest number of bytes that a server may send before gate takes them: for one stream, and
/// in total. One stream is not blocked even if the clients of all others read nothing.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = MAX_STREAMS as u32 * STREAM_WINDOW;
const SEND_BUFFER: usize = 64 * 1024;
const HEADER_LIST: u32 = 64 * 1024;

/// How long a server may be silent after a new request before it gets a PING, and how long after
/// the PING before its connection is given up.
const PING_AFTER: Duration = Duration::from_secs(2);
const PONG_TIME: Duration = Duration::from_secs(3);

/// A connection that exchanges with a server share.
#[derive(Debug)]
pub(super) struct SharedH2 {
    send: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    secure: bool,
    standing: Arc<H2Standing>,
    since: Instant,
    used: Instant,
    /// The connection has carried no stream.
    unused: bool,
    ping: Option<PingPong>,
    /// When the first request was sent since something last arrived, and when the PING was sent.
    asked: Option<Instant>,
    pinged: Option<Instant>,
}

/// Why a shared connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedEnd {
    Left,
    Aged,
    Idled,
}

impl SharedH2 {
    /// `most` limits the streams until the server states its limit. `room` is notified when a
    /// stream may have become possible.
    pub(super) async fn open(
        wire: Wire,
        most: usize,
        room: Arc<Notify>,
    ) -> Result<Self, h2::Error> {
        let secure = wire.is_secure();
        let standing = H2Standing::new(room);
        // Clients end downloads as often as they like, and the server's data for these still
        // arrives. Nothing that a client does may count as an error of the connection.
        let (send, mut connection) = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER)
            .max_header_list_size(HEADER_LIST)
            .initial_max_send_streams(most)
            .max_concurrent_reset_streams(MAX_RESETS)
            .reset_stream_duration(RESET_TIME)
            .max_local_error_reset_streams(None)
            .enable_push(false)
            .handshake::<_, Bytes>(WatchedFrames::new(wire, standing.clone()))
            .await?;
        let ping = connection.ping_pong();
        // It ends when the server closes, or when all handles and streams are dropped. Streams see
        // errors.
        let driving = standing.clone();
        let driver = tokio::spawn(async move {
            drop(connection.await);
            driving.end();
        });
        Ok(Self {
            send,
            driver,
            secure,
            standing,
            since: Instant::now(),
            used: Instant::now(),
            unused: true,
            ping,
            asked: None,
            pinged: None,
        })
    }

    /// Whether the server accepts no further stream for now. A further stream would wait, and
    /// nothing would show why.
    pub(super) fn is_full(&self) -> bool {
        self.streams() >= self.most_streams() || self.standing.is_refusing()
    }

    fn most_streams(&self) -> usize {
        let most = self.send.current_max_send_streams();
        most.min(MAX_STREAMS)
    }

    /// The limit, if the server has stated it.
    fn stated(&self) -> Option<usize> {
        self.standing.is_settled().then(|| self.most_streams())
    }

    fn streams(&self) -> usize {
        self.standing.streams()
    }

    /// Opens a stream for one more exchange; an error if the server accepts none.
    pub(super) fn stream(&mut self) -> Result<H2Stream, h2::Error> {
        let now = Instant::now();
        self.used = now;
        if self.standing.has_heard() {
            self.asked = None;
            self.pinged = None;
        }
        self.asked.get_or_insert(now);
        let mut send = self.send.clone();
        // A new handle has no wait pending.
        if let Poll::Ready(ready) = send.poll_ready(&mut Context::from_waker(Waker::noop())) {
            ready?;
        }
        let place = StreamPlace::new(&self.standing);
        let is_first = std::mem::replace(&mut self.unused, false);
        Ok(H2Stream::new(send, self.secure, is_first, place))
    }

    /// Finds out whether a server that does not answer is still there: the network may have
    /// forgotten the connection, and new requests should not be sent over it. PING follows a new
    /// request only, because some servers allow few.
    pub(super) fn probe(&mut self) {
        let now = Instant::now();
        if self.standing.has_heard() {
            self.asked = None;
            self.pinged = None;
        }
        match (self.asked, self.pinged) {
            (Some(asked), None) if asked + PING_AFTER <= now && self.streams() > 0 => {
                if let Some(ping) = &mut self.ping {
                    // Makes the next PING possible.
                    let _ = ping.poll_pong(&mut Context::from_waker(Waker::noop()));
                    let _ = ping.send_ping(Ping::opaque());
                    self.pinged = Some(now);
                }
            }
            (_, Some(pinged)) if pinged + PONG_TIME <= now => self.standing.suspect(),
            _ => {}
        }
    }

    /// Whether and why the connection is given up: exchanges in progress keep it; new ones get
    /// another connection.
    pub(super) fn over(&self, idle_time: Duration, age: Duration) -> Option<SharedEnd> {
        let now = Instant::now();
        if self.driver.is_finished() || self.standing.is_suspect() {
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

/// Requests a path with GET over a separate connection, and returns the status.
pub(super) async fn check(wire: Wire, authority: &str, path: &str) -> io::Result<Option<u16>> {
    let opened = SharedH2::open(wire, 1, Arc::default()).await;
    let mut shared = opened.map_err(broken)?;
    let stream = shared.stream().map_err(broken)?;
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
/// (RFC 9113 §8.7): it refused the stream, or left before this stream.
pub(crate) fn was_not_processed(error: &io::Error) -> bool {
    server_error(error).is_some_and(|error| {
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        refused || error.is_go_away()
    })
}

/// Whether the server leaves. Streams that it may have processed fail in another way.
fn leaves(error: &io::Error) -> bool {
    server_error(error).is_some_and(h2::Error::is_go_away)
}

fn server_error(error: &io::Error) -> Option<&h2::Error> {
    let inner = error.get_ref()?.downcast_ref::<h2::Error>()?;
    inner.is_remote().then_some(inner)
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
