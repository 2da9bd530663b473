//! The HTTP/2 front (RFC 9113), over our own layer in `wire`. This file begins and ends
//! connections, and ends those of clients that use too much.

mod answer;
mod body;
mod frames;
mod link;
mod refused;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_wire::h2::{Arrival, Code, Server, ServerConfig, Tally};
use roundtrip_wire::qpack::SectionBounds;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::streams::{ConnectionState, Head, ResetCount, SHORT_TIMEOUT, StreamEnd};
use crate::accept::stream::{Peer, Stream};
use crate::accept::thread::Thread;
use crate::config::Limits;
use crate::forward::deadlines::{Deadline, Elapsed};
use crate::forward::exchange::ExchangeError;
use crate::judge::guard::Sessions;
use crate::judge::request::Version;
use crate::record::Limit;
use answer::Answer;
use body::Body;
use frames::Frames;
use link::{Link, LinkError, LinkEvent, SharedServer, StreamHandle};

/// The largest number of bytes that a client may send ahead: on one stream, and on all streams of a
/// connection together. A larger upload takes a round trip for each window; gate never holds more
/// than this for one connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The largest number of pseudo-header fields in a request. RFC 9113 §8.3.1, RFC 8441 §4.
const PSEUDO_FIELDS: usize = 5;

/// Serves until the connection ends.
pub(crate) async fn serve<S: Sessions + 'static>(
    stream: impl Stream,
    peer: Peer,
    thread: &Rc<Thread<S>>,
) -> Result<(), ExchangeError> {
    let mut table = Table::new(stream, peer, thread);
    table.serve().await
}

/// `sockets`: whether streams may become WebSockets. RFC 8441 §3.
fn config(limits: &Limits, sockets: bool) -> ServerConfig {
    ServerConfig {
        streams: limits.streams,
        stream_window: STREAM_WINDOW,
        connection_window: CONNECTION_WINDOW,
        section: SectionBounds {
            // The pseudo-header fields do not count.
            lines: limits.fields.saturating_add(PSEUDO_FIELDS),
            size: usize::try_from(limits.head.0).unwrap_or(usize::MAX),
        },
        extended_connect: sockets,
    }
}

/// One connection, and its exchanges.
struct Table<IO, S> {
    link: Link<IO>,
    server: SharedServer,
    spans: Spans,
    /// 0 means no limit.
    max_requests: u64,
    state: Rc<ConnectionState<S>>,
    deadline: Rc<Deadline>,
    frames: Rc<Frames>,
    running: JoinSet<StreamEnd>,
    served: u64,
    resets: ResetCount,
    phase: Phase,
    /// When the client was asked to connect again.
    left: Option<Instant>,
}

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
struct Spans {
    head: Duration,
    idle: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// There is no exchange, and the buffers have been freed.
    AtRest,
    /// The client was asked to connect again.
    Leaving,
}

enum Event {
    StreamEnd(Result<StreamEnd, JoinError>),
    Link(LinkEvent),
}

impl<IO: Stream, S: Sessions + 'static> Table<IO, S> {
    fn new(stream: IO, peer: Peer, thread: &Rc<Thread<S>>) -> Self {
        let site = thread.site();
        let limits = &site.policy.limits;
        let state = Rc::new(ConnectionState::new(thread, peer, Version::H2));
        let sockets = site.policy.routes.have_upgrades();
        let server = Rc::new(RefCell::new(Server::new(config(limits, sockets))));
        Self {
            link: Link::new(stream, server.clone(), state.confirmed.clone()),
            server,
            frames: Rc::new(Frames::new(limits.control_frames)),
            resets: ResetCount::new(limits.resets),
            deadline: thread.deadlines.new_deadline(),
            spans: Spans {
                head: limits.head_time.0,
                idle: limits.idle_time.0,
            },
            max_requests: limits.requests,
            state,
            running: JoinSet::new(),
            served: 0,
            phase: Phase::Open,
            left: None,
        }
    }

    async fn serve(&mut self) -> Result<(), ExchangeError> {
        let head_time = Some(self.spans.head);
        let outcome = match self.deadline.within(head_time, self.link.greeted()).await {
            Ok(Ok(())) => self.run().await,
            Ok(Err(error)) => self.end(Err(error)).await,
            Err(Elapsed) => {
                self.state.thread.ledger.count(Limit::HeadTime);
                Err(ExchangeError::Slow(Limit::HeadTime))
            }
        };
        // Tells the running exchanges that their client is gone.
        self.server.borrow_mut().disconnect(Code::CANCEL);
        while self.running.join_next().await.is_some() {}
        outcome
    }

    async fn run(&mut self) -> Result<(), ExchangeError> {
        loop {
            if self.is_to_leave() {
                self.leave();
            }
            if self
                .left
                .is_some_and(|since| since.elapsed() >= SHORT_TIMEOUT)
            {
                self.server.borrow_mut().finish_leaving();
            }
            match self.next().await {
                Ok(Event::Link(LinkEvent::Asked(arrival))) => self.begin(arrival),
                Ok(Event::Link(LinkEvent::Excess(limit))) => return self.expel(limit).await,
                Ok(Event::Link(LinkEvent::Over(outcome))) => return self.end(outcome).await,
                Ok(Event::StreamEnd(parted)) => {
                    if self.resets.enter(parted.unwrap_or(StreamEnd::Well)) {
                        return self.expel(Limit::Resets).await;
                    }
                }
                // An exchange is in progress, or gate is about to end.
                Err(Elapsed) if !self.running.is_empty() || self.is_to_leave() => {}
                Err(Elapsed) => match self.phase {
                    Phase::Leaving => return self.end(Ok(())).await,
                    Phase::Open => {
                        self.phase = Phase::AtRest;
                        self.running = JoinSet::new();
                        self.link.rest();
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
        let idle = self.spans.idle;
        let span = match self.phase {
            Phase::Leaving => SHORT_TIMEOUT.min(idle),
            _ if !self.running.is_empty() => Duration::MAX,
            Phase::Open => SHORT_TIMEOUT.min(idle),
            Phase::AtRest => idle.saturating_sub(SHORT_TIMEOUT),
        };
        let (link, running) = (&mut self.link, &mut self.running);
        let (resets, frames) = (&mut self.resets, &self.frames);
        let mut exceeded = |tally: Tally| {
            if (0..tally.resets).any(|_| resets.enter(StreamEnd::Reset)) {
                return Some(Limit::Resets);
            }
            (!frames.take(tally)).then_some(Limit::ControlFrames)
        };
        let event = async {
            tokio::select! {
                biased;
                Some(parted) = running.join_next() => Event::StreamEnd(parted),
                event = poll_fn(|cx| link.poll(cx, &mut exceeded)) => Event::Link(event),
            }
        };
        self.deadline.at_rest(span, event).await
    }

    fn begin(&mut self, arrival: Arrival) {
        self.served += 1;
        if self.max_requests > 0 && self.served == self.max_requests {
            self.state.thread.ledger.count(Limit::Requests);
            self.leave();
        }
        if self.phase == Phase::AtRest {
            self.phase = Phase::Open;
        }
        let handle = StreamHandle {
            id: arrival.stream,
            server: self.server.clone(),
        };
        let (state, frames) = (self.state.clone(), self.frames.clone());
        self.running
            .spawn_local(stream(state, frames, handle, arrival));
    }

    /// Exchanges in progress are finished, and so are requests that the client sent before the
    /// GOAWAY reached it. RFC 9113 §6.8.
    fn leave(&mut self) {
        if self.phase != Phase::Leaving {
            self.phase = Phase::Leaving;
            self.left = Some(Instant::now());
            self.server.borrow_mut().leave();
        }
    }

    async fn expel(&mut self, limit: Limit) -> Result<(), ExchangeError> {
        self.state.thread.ledger.count(limit);
        self.running.abort_all();
        self.server.borrow_mut().abort(Code::ENHANCE_YOUR_CALM);
        self.close().await;
        Ok(())
    }

    async fn end(&mut self, outcome: Result<(), LinkError>) -> Result<(), ExchangeError> {
        if matches!(outcome, Ok(()) | Err(LinkError::Client(_))) {
            self.close().await;
        }
        // The GOAWAY has been sent and nothing is in progress, so the rest need not be read.
        let left = self.phase == Phase::Leaving && self.running.is_empty();
        match outcome {
            Err(error) if !left => {
                if let LinkError::Client(error) = &error
                    && error.code == Code::ENHANCE_YOUR_CALM
                {
                    self.state.thread.ledger.count(Limit::ControlFrames);
                }
                Err(broken(error))
            }
            _ => Ok(()),
        }
    }

    /// Sends pending bytes, if the client reads them.
    async fn close(&mut self) {
        let closing = self.link.close();
        let _ = self.deadline.within(Some(SHORT_TIMEOUT), closing).await;
    }
}

async fn stream<S: Sessions>(
    state: Rc<ConnectionState<S>>,
    frames: Rc<Frames>,
    handle: StreamHandle,
    arrival: Arrival,
) -> StreamEnd {
    let head = match arrival.head {
        Ok(section) => Head::new(section, arrival.is_ended),
        Err(error) => {
            refused::refuse(&state, &handle, error);
            return StreamEnd::Reset;
        }
    };
    let mut body = Body::new(&handle, state.confirmed.clone());
    let mut answer = Answer::new(&handle, &frames);
    let mut entry = state.entry();
    // In a separate box, because spawning a task moves it.
    let exchange = Box::pin(state.exchange(head, &mut body, &mut answer, &mut entry));
    let outcome = tokio::select! {
        biased;
        _ = handle.reset() => Err(ExchangeError::Gone),
        outcome = exchange => outcome,
    };
    state.close(&mut entry, outcome.as_ref().err());
    match outcome {
        // The rest of the body is not wanted: releasing the stream says so. RFC 9113 §8.1.
        Ok(()) => StreamEnd::Well,
        Err(_) if answer.is_ended() => StreamEnd::Well,
        Err(error) => {
            handle.cut(reason(&error));
            if error.is_the_clients() {
                StreamEnd::Reset
            } else {
                StreamEnd::Well
            }
        }
    }
}

/// RFC 9113 §7.
fn reason(error: &ExchangeError) -> Code {
    match error {
        ExchangeError::Client(_)
        | ExchangeError::Gone
        | ExchangeError::Slow(_)
        | ExchangeError::Over => Code::CANCEL,
        ExchangeError::Refused(_) => Code::PROTOCOL_ERROR,
        _ => Code::INTERNAL_ERROR,
    }
}

fn broken(error: LinkError) -> ExchangeError {
    ExchangeError::Client(match error {
        LinkError::Io(error) => error,
        LinkError::Client(error) => io::Error::other(error),
    })
}

#[cfg(test)]
pub(super) mod tests;
