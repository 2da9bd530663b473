//! The HTTP/2 front (RFC 9113). The `h2` crate speaks the protocol and limits what it can see by
//! itself: heads, their CONTINUATION frames, small DATA frames, unacknowledged SETTINGS and PING.
//! This file begins and ends connections, and ends those of clients that use too much.

mod answer;
mod body;
mod frames;
mod wire;

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream};
use tokio::task::{JoinError, JoinSet};

use super::streams::{ConnectionState, Head, ResetCount, SHORT_TIMEOUT, StreamEnd};
use crate::accept::stream::{Peer, Stream};
use crate::accept::thread::Thread;
use crate::config::Limits;
use crate::forward::deadlines::{Deadline, Elapsed};
use crate::forward::exchange::ExchangeError;
use crate::judge::guard::Sessions;
use crate::judge::request::Version;
use crate::record::Limit;
use answer::{Answer, ResponseWriter};
use body::Body;
use frames::Frames;
use wire::Wire;

/// The most bytes that a client may send ahead: on one stream, and on all streams of a connection
/// together. A larger upload takes a round trip for each window; gate never holds more than the
/// latter for one connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The most that the engine holds for each stream of a client that reads slowly.
const SEND_BUFFER: usize = 32 * 1024;

type Request = (http::Request<RecvStream>, SendResponse<Bytes>);

/// Serves until the connection ends.
pub(crate) async fn serve<S: Sessions + 'static>(
    stream: impl Stream,
    peer: Peer,
    thread: &Rc<Thread<S>>,
) -> Result<(), ExchangeError> {
    let limits = thread.site().policy.limits.clone();
    let state = Rc::new(ConnectionState::new(thread, peer, Version::H2));
    let (deadline, rest) = (thread.deadlines.new_deadline(), Rc::new(Cell::new(false)));
    let sockets = thread.site().policy.routes.have_upgrades();
    let frames = Rc::new(Frames::new(limits.control_frames));
    let wire = Wire::new(
        stream,
        state.confirmed.clone(),
        rest.clone(),
        frames.clone(),
    );
    let begun = {
        // Pinned here before it is passed on; otherwise it would take its memory twice in every
        // connection.
        let handshake = pin!(builder(&limits, sockets).handshake(wire));
        deadline.within(Some(limits.head_time.0), handshake).await
    };
    let connection = match begun {
        Ok(begun) => begun.map_err(broken)?,
        Err(Elapsed) => {
            thread.ledger.count(Limit::HeadTime);
            return Err(ExchangeError::Slow(Limit::HeadTime));
        }
    };
    let resets = ResetCount::new(limits.resets);
    let mut table = Table {
        connection,
        limits,
        state,
        deadline,
        rest,
        frames,
        running: JoinSet::new(),
        served: 0,
        resets,
        phase: Phase::Open,
    };
    let outcome = table.run().await;
    // Dropping it tells the running exchanges that their client is gone.
    drop(table.connection);
    while table.running.join_next().await.is_some() {}
    outcome
}

/// `sockets`: whether streams may become WebSockets. RFC 8441 §3.
fn builder(limits: &Limits, sockets: bool) -> Builder {
    let resets = limits.resets as usize;
    let head = u32::try_from(limits.head.0).unwrap_or(u32::MAX);
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(head)
        .max_send_buffer_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(resets)
        .max_local_error_reset_streams(Some(resets));
    if sockets {
        builder.enable_connect_protocol();
    }
    builder
}

/// One connection, and its exchanges.
struct Table<IO, S> {
    connection: Connection<Wire<IO>, Bytes>,
    limits: Limits,
    state: Rc<ConnectionState<S>>,
    deadline: Rc<Deadline>,
    rest: Rc<Cell<bool>>,
    frames: Rc<Frames>,
    running: JoinSet<StreamEnd>,
    served: u64,
    resets: ResetCount,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// No exchange, and the buffers have been freed.
    AtRest,
    /// The client was asked to connect again.
    Leaving,
}

enum Event {
    Asked(Box<Request>),
    StreamEnd(Result<StreamEnd, JoinError>),
    Over(Result<(), h2::Error>),
    /// There were too many useless frames.
    Excess,
}

impl<IO: Stream, S: Sessions + 'static> Table<IO, S> {
    async fn run(&mut self) -> Result<(), ExchangeError> {
        loop {
            if self.is_to_leave() {
                self.leave();
            }
            match self.next().await {
                Ok(Event::Asked(request)) => self.begin(*request),
                Ok(Event::StreamEnd(parted)) => {
                    if self.resets.enter(parted.unwrap_or(StreamEnd::Well)) {
                        return self.expel(Limit::Resets).await;
                    }
                }
                Ok(Event::Excess) => return self.expel(Limit::ControlFrames).await,
                Ok(Event::Over(outcome)) => return self.over(outcome),
                // An exchange is in progress, or gate is about to end.
                Err(Elapsed) if !self.running.is_empty() || self.is_to_leave() => {}
                Err(Elapsed) => match self.phase {
                    Phase::Leaving => return Ok(()),
                    Phase::Open => {
                        self.phase = Phase::AtRest;
                        self.rest.set(true);
                    }
                    Phase::AtRest => {
                        self.state.thread.ledger.count(Limit::IdleTime);
                        self.leave();
                    }
                },
            }
        }
    }

    fn is_to_leave(&self) -> bool {
        self.state.thread.is_draining() && self.phase != Phase::Leaving
    }

    /// The next event; `Elapsed` if nothing is in progress for too long, or if gate is about to
    /// end.
    async fn next(&mut self) -> Result<Event, Elapsed> {
        let idle = self.limits.idle_time.0;
        let span = match self.phase {
            _ if !self.running.is_empty() => Duration::MAX,
            Phase::Open | Phase::Leaving => SHORT_TIMEOUT.min(idle),
            Phase::AtRest => idle.saturating_sub(SHORT_TIMEOUT),
        };
        let (connection, running) = (&mut self.connection, &mut self.running);
        let frames = &self.frames;
        let event = async {
            tokio::select! {
                biased;
                Some(parted) = running.join_next() => Event::StreamEnd(parted),
                asked = connection.accept() => match asked {
                    Some(Ok(request)) => Event::Asked(Box::new(request)),
                    Some(Err(error)) => Event::Over(Err(error)),
                    None => Event::Over(Ok(())),
                },
                () = poll_fn(|cx| frames.poll_excess(cx)) => Event::Excess,
            }
        };
        self.deadline.at_rest(span, event).await
    }

    fn begin(&mut self, (request, respond): Request) {
        self.served += 1;
        if self.limits.requests > 0 && self.served == self.limits.requests {
            self.state.thread.ledger.count(Limit::Requests);
            self.leave();
        }
        if self.phase == Phase::AtRest {
            self.phase = Phase::Open;
        }
        self.running.spawn_local(stream(
            self.state.clone(),
            self.frames.clone(),
            request,
            respond,
        ));
    }

    /// Exchanges in progress are finished, and so are requests that the client sent before the
    /// GOAWAY reached it. RFC 9113 §6.8.
    fn leave(&mut self) {
        if self.phase != Phase::Leaving {
            self.phase = Phase::Leaving;
            self.connection.graceful_shutdown();
        }
    }

    async fn expel(&mut self, limit: Limit) -> Result<(), ExchangeError> {
        self.state.thread.ledger.count(limit);
        self.running.abort_all();
        let connection = &mut self.connection;
        connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        let closing = poll_fn(|cx| connection.poll_closed(cx));
        let _ = self.deadline.within(Some(SHORT_TIMEOUT), closing).await;
        Ok(())
    }

    fn over(&self, outcome: Result<(), h2::Error>) -> Result<(), ExchangeError> {
        // The GOAWAY has been sent and nothing is in progress, so the rest need not be read.
        let left = self.phase == Phase::Leaving && self.running.is_empty();
        let error = match outcome {
            Err(error) if !left => error,
            _ => return Ok(()),
        };
        if error.is_go_away()
            && error.is_library()
            && error.reason() == Some(Reason::ENHANCE_YOUR_CALM)
        {
            self.state.thread.ledger.count(Limit::Resets);
        }
        Err(broken(error))
    }
}

async fn stream<S: Sessions>(
    state: Rc<ConnectionState<S>>,
    frames: Rc<Frames>,
    request: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
) -> StreamEnd {
    let (parts, body) = request.into_parts();
    let head = Head::of_parts(parts, body.is_end_stream());
    let way = ResponseWriter::new(respond, frames);
    let mut body = Body::new(body, state.confirmed.clone());
    let mut answer = Answer::new(&way);
    let mut entry = state.entry();
    let outcome = tokio::select! {
        biased;
        () = way.reset() => Err(ExchangeError::Gone),
        outcome = state.exchange(head, &mut body, &mut answer, &mut entry) => outcome,
    };
    state.close(&mut entry, outcome.as_ref().err());
    match outcome {
        // The rest of the body is not wanted: the engine sends RST_STREAM after the answer. RFC
        // 9113 §8.1.
        Ok(()) => StreamEnd::Well,
        Err(_) if answer.is_ended() => StreamEnd::Well,
        Err(error) => {
            way.cut(reason(&error));
            if error.is_the_clients() {
                StreamEnd::Reset
            } else {
                StreamEnd::Well
            }
        }
    }
}

/// RFC 9113 §7.
fn reason(error: &ExchangeError) -> Reason {
    match error {
        ExchangeError::Client(_)
        | ExchangeError::Gone
        | ExchangeError::Slow(_)
        | ExchangeError::Over => Reason::CANCEL,
        ExchangeError::Refused(_) => Reason::PROTOCOL_ERROR,
        _ => Reason::INTERNAL_ERROR,
    }
}

fn broken(error: h2::Error) -> ExchangeError {
    let kind = error.get_io().map_or(io::ErrorKind::Other, io::Error::kind);
    ExchangeError::Client(io::Error::new(kind, error))
}

#[cfg(test)]
pub(super) mod tests;
