//! The HTTP/3 front (RFC 9114), over our own QUIC. This file begins and ends connections, and ends
//! connections of clients that use too much.

mod answer;
mod body;
mod refused;

use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use roundtrip_quic_tokio::{Accepted, Connection, ConnectionStreams, H3Error, H3Server};
use roundtrip_wire::h3::{Code, SectionLimits};
use roundtrip_wire::message::content_length;
use roundtrip_wire::qpack::Section;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::streams::{ConnectionState, Head, ResetCount, SHORT_TIMEOUT, StreamEnd};
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::config::Limits;
use crate::forward::deadlines::{Deadline, Elapsed};
use crate::forward::exchange::ExchangeError;
use crate::judge::guard::Sessions;
use crate::judge::request::Version;
use crate::record::{Entry, Limit};
use answer::Answer;
use body::Body;

/// How long requests are accepted after the client was told that gate is about to end.
const GRACE: Duration = Duration::from_secs(1);

type Request = Accepted<ConnectionStreams>;

/// Serves until the connection ends. Until `confirmed` completes, requests may be replays; if the
/// handshake fails, `confirmed` never completes.
pub(crate) async fn serve<S: Sessions + 'static>(
    link: Connection,
    confirmed: impl Future<Output = ()>,
    peer: Peer,
    thread: &Rc<Thread<S>>,
) -> Result<(), ExchangeError> {
    let limits = thread.site().policy.limits.clone();
    let deadline = thread.deadlines.new_deadline();
    let section_limits = SectionLimits {
        fields: limits.fields,
        size: usize::try_from(limits.head.0).unwrap_or(usize::MAX),
    };
    let starting = H3Server::start(ConnectionStreams::new(&link), section_limits);
    let begun = deadline.within(Some(limits.head_time.0), starting).await;
    let server = begun
        .map_err(|_| ExchangeError::Slow(Limit::HeadTime))?
        .map_err(broken)?;
    let table = Table {
        server,
        link,
        state: Rc::new(ConnectionState::new(thread, peer, Version::H3)),
        deadline,
        running: JoinSet::new(),
        served: 0,
        resets: ResetCount::new(limits.resets),
        announced: None,
        leaving: false,
        limits,
    };
    table.run(pin!(confirmed)).await
}

/// One connection, and its exchanges.
struct Table<S> {
    server: H3Server<ConnectionStreams>,
    link: Connection,
    limits: Limits,
    state: Rc<ConnectionState<S>>,
    deadline: Rc<Deadline>,
    running: JoinSet<StreamEnd>,
    served: u64,
    resets: ResetCount,
    /// When the client was told that gate is about to end.
    announced: Option<Instant>,
    /// The client was asked to connect again, and no further requests are accepted.
    leaving: bool,
}

enum Event {
    Asked(Box<Request>),
    StreamEnd(Result<StreamEnd, JoinError>),
    Confirmed,
    Over(H3Error),
}

impl<S: Sessions + 'static> Table<S> {
    async fn run(
        mut self,
        mut confirmed: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), ExchangeError> {
        let outcome = loop {
            if self.is_to_leave() {
                self.leave_gently().await;
            }
            match self.next(confirmed.as_mut()).await {
                Ok(Event::Asked(request)) => self.begin(*request).await,
                Ok(Event::Confirmed) => self.state.confirmed.give(),
                Ok(Event::StreamEnd(parted)) => {
                    if self.resets.enter(parted.unwrap_or(StreamEnd::Well)) {
                        self.state.thread.ledger.count(Limit::Resets);
                        self.link.close(Code::H3_EXCESSIVE_LOAD.value(), b"");
                        break Ok(());
                    }
                }
                // A client without an exchange may leave in any way.
                Ok(Event::Over(_)) if self.running.is_empty() => break Ok(()),
                Ok(Event::Over(error)) => break Err(broken(error)),
                // An exchange is in progress, or gate is about to end.
                Err(Elapsed) if !self.running.is_empty() || self.is_to_leave() => {}
                Err(Elapsed) if self.leaving => break Ok(()),
                Err(Elapsed) => {
                    self.state.thread.ledger.count(Limit::IdleTime);
                    self.leave().await;
                }
            }
        };
        // Closes the connection, which tells the running exchanges that their client is gone.
        drop(self.server);
        while self.running.join_next().await.is_some() {}
        outcome
    }

    fn is_to_leave(&self) -> bool {
        let is_time = self.announced.is_none_or(|at| at.elapsed() >= GRACE);
        self.state.thread.is_draining() && !self.leaving && is_time
    }

    /// The next event; `Elapsed` if nothing is in progress for too long, or if gate is about to
    /// end.
    async fn next(
        &mut self,
        confirmed: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Event, Elapsed> {
        let span = match self.running.is_empty() {
            false => Duration::MAX,
            // After GOAWAY the client closes the connection; closing it here could overtake the
            // last answer.
            true if self.leaving => SHORT_TIMEOUT,
            true if self.announced.is_some() => GRACE,
            true => self.limits.idle_time.0,
        };
        let waits = !self.state.confirmed.is_given();
        let (server, running) = (&mut self.server, &mut self.running);
        let event = async {
            tokio::select! {
                biased;
                () = confirmed, if waits => Event::Confirmed,
                Some(parted) = running.join_next() => Event::StreamEnd(parted),
                asked = server.accept() => match asked {
                    Ok(request) => Event::Asked(Box::new(request)),
                    Err(error) => Event::Over(error),
                },
            }
        };
        self.deadline.at_rest(span, event).await
    }

    async fn begin(&mut self, (mut sending, mut receiving): Request) {
        // The limit was announced before the first stream, in the transport parameters; this
        // catches a limit that has changed since.
        if self.running.len() >= self.limits.streams as usize {
            self.state.thread.ledger.count(Limit::Streams);
            receiving.stop(Code::H3_REQUEST_REJECTED);
            sending.reset(Code::H3_REQUEST_REJECTED);
            return;
        }
        self.served += 1;
        if self.limits.requests > 0 && self.served == self.limits.requests {
            self.state.thread.ledger.count(Limit::Requests);
            self.leave().await;
        }
        let (state, link) = (self.state.clone(), self.link.clone());
        let stream = stream(state, (sending, receiving), link);
        self.running.spawn_local(stream);
    }

    /// The server also answers requests that the client sends before it knows that gate is about to
    /// end. RFC 9114 §5.2.
    async fn leave_gently(&mut self) {
        if self.announced.is_some() {
            return self.leave().await;
        }
        self.announced = Some(Instant::now());
        let telling = self.server.announce_end();
        let _ = self.deadline.within(Some(SHORT_TIMEOUT), telling).await;
    }

    /// Lets exchanges in progress finish, and begins no others. RFC 9114 §5.2.
    async fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            let telling = self.server.go_away();
            // If GOAWAY cannot be sent, accepting the next stream will fail too.
            let _ = self.deadline.within(Some(SHORT_TIMEOUT), telling).await;
        }
    }
}

async fn stream<S: Sessions>(
    state: Rc<ConnectionState<S>>,
    (sending, mut receiving): Request,
    link: Connection,
) -> StreamEnd {
    let section = match state.in_head_time(receiving.head()).await {
        Ok(Ok(section)) => section,
        Ok(Err(H3Error::Message(error))) => {
            refused::refuse(&state, sending, error).await;
            return StreamEnd::Reset;
        }
        Ok(Err(_)) | Err(_) => return StreamEnd::Reset,
    };
    // Until a head is complete, its stream costs little: a client may have many, on many
    // connections.
    Box::pin(carry(state, section, (sending, receiving), link)).await
}

/// Carries a request whose head is complete.
async fn carry<S: Sessions>(
    state: Rc<ConnectionState<S>>,
    section: Section,
    (sending, receiving): Request,
    link: Connection,
) -> StreamEnd {
    let id = sending.id();
    let mut answer = Answer::new(sending);
    let mut body = Body::new(receiving, state.confirmed.clone());
    let mut entry = state.entry();
    let outcome = tokio::select! {
        biased;
        outcome = exchange(&state, section, &mut body, &mut answer, &mut entry) => outcome,
        () = link.stopped(id) => Err(ExchangeError::Gone),
    };
    state.close(&mut entry, outcome.as_ref().err());
    match outcome {
        // The rest of the body is not wanted; dropping the body tells the client so. RFC 9114 §4.1.
        Ok(()) => StreamEnd::Well,
        Err(_) if answer.is_ended() => StreamEnd::Well,
        Err(error) => {
            answer.cut(reason(&error));
            if error.is_the_clients() {
                StreamEnd::Reset
            } else {
                StreamEnd::Well
            }
        }
    }
}

async fn exchange<S: Sessions>(
    state: &ConnectionState<S>,
    section: Section,
    body: &mut Body,
    answer: &mut Answer,
    entry: &mut Entry,
) -> Result<(), ExchangeError> {
    let ended = body.is_ended(is_bodiless(&section));
    let ended = state.in_head_time(ended).await??;
    let head = Head::new(section, ended);
    state.exchange(head, body, answer, entry).await
}

/// Whether the head is probably the whole request.
fn is_bodiless(section: &Section) -> bool {
    match content_length(section.lines()) {
        Ok(Some(length)) => length == 0,
        Ok(None) | Err(_) => section.lines().any(|(name, value)| {
            name == b":method" && matches!(value, b"GET" | b"HEAD" | b"OPTIONS")
        }),
    }
}

/// RFC 9114 §8.1.
fn reason(error: &ExchangeError) -> Code {
    match error {
        ExchangeError::Client(_)
        | ExchangeError::Gone
        | ExchangeError::Slow(_)
        | ExchangeError::Over => Code::H3_REQUEST_CANCELLED,
        ExchangeError::Refused(_) => Code::H3_MESSAGE_ERROR,
        _ => Code::H3_INTERNAL_ERROR,
    }
}

fn broken(error: H3Error) -> ExchangeError {
    ExchangeError::Client(io::Error::other(error))
}

#[cfg(test)]
mod tests;
