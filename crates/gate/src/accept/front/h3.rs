//! The HTTP/3 front (RFC 9114). The `h3` crate speaks the protocol over our own QUIC. This file
//! begins and ends connections, and ends those of clients that use too much.

mod answer;
mod body;
mod refused;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h3::error::{Code, ConnectionError};
use h3::quic::SendStream;
use h3::server::{Connection, RequestResolver};
use roundtrip_quic_tokio::{Connection as QuicConnection, H3Connection, SectionLimits};
use tokio::task::{JoinError, JoinSet};

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

/// The frame header in front of a head: type and length.
const FRAME_HEAD: u64 = 16;

type Request = RequestResolver<H3Connection, Bytes>;

/// Serves until the connection ends. Until `confirmed` ends, requests may be replays; if the
/// handshake fails, it never ends.
pub(crate) async fn serve<S: Sessions + 'static>(
    link: QuicConnection,
    confirmed: impl Future<Output = ()>,
    peer: Peer,
    thread: &Rc<Thread<S>>,
) -> Result<(), ExchangeError> {
    let limits = thread.site().policy.limits.clone();
    let mut builder = h3::server::builder();
    builder
        .max_field_section_size(limits.head.0)
        .send_grease(false);
    let deadline = thread.deadlines.new_deadline();
    let section_limits = SectionLimits {
        fields: limits.fields,
        size: usize::try_from(limits.head.0).unwrap_or(usize::MAX),
    };
    let transport = H3Connection::with_limits(&link, section_limits);
    let begun = deadline
        .within(Some(limits.head_time.0), builder.build(transport))
        .await;
    let connection = begun
        .map_err(|_| ExchangeError::Slow(Limit::HeadTime))?
        .map_err(broken)?;
    let table = Table {
        connection,
        link,
        state: Rc::new(ConnectionState::new(thread, peer, Version::H3)),
        deadline,
        running: JoinSet::new(),
        served: 0,
        resets: ResetCount::new(limits.resets),
        leaving: false,
        limits,
    };
    table.run(pin!(confirmed)).await
}

/// One connection, and its exchanges.
struct Table<S> {
    connection: Connection<H3Connection, Bytes>,
    link: QuicConnection,
    limits: Limits,
    state: Rc<ConnectionState<S>>,
    deadline: Rc<Deadline>,
    running: JoinSet<StreamEnd>,
    served: u64,
    resets: ResetCount,
    /// The client was asked to connect anew.
    leaving: bool,
}

enum Event {
    Asked(Box<Request>),
    StreamEnd(Result<StreamEnd, JoinError>),
    Confirmed,
    Over(Result<(), ConnectionError>),
}

impl<S: Sessions + 'static> Table<S> {
    async fn run(
        mut self,
        mut confirmed: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), ExchangeError> {
        let outcome = loop {
            if self.is_to_leave() {
                self.leave().await;
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
                Ok(Event::Over(outcome)) => break outcome.map_err(broken),
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
        drop(self.connection);
        while self.running.join_next().await.is_some() {}
        outcome
    }

    fn is_to_leave(&self) -> bool {
        self.state.thread.is_draining() && !self.leaving
    }

    /// Late if nothing is in progress for too long, or if gate is about to end.
    async fn next(
        &mut self,
        confirmed: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Event, Elapsed> {
        let span = match self.running.is_empty() {
            false => Duration::MAX,
            // After GOAWAY the client closes the connection; closing it here could overtake the
            // last answer.
            true if self.leaving => SHORT_TIMEOUT,
            true => self.limits.idle_time.0,
        };
        let waits = !self.state.confirmed.is_given();
        let (connection, running) = (&mut self.connection, &mut self.running);
        let event = async {
            tokio::select! {
                biased;
                () = confirmed, if waits => Event::Confirmed,
                Some(parted) = running.join_next() => Event::StreamEnd(parted),
                asked = connection.accept() => match asked {
                    Ok(Some(request)) => Event::Asked(Box::new(request)),
                    Ok(None) => Event::Over(Ok(())),
                    Err(error) => Event::Over(Err(error)),
                },
            }
        };
        self.deadline.at_rest(span, event).await
    }

    async fn begin(&mut self, mut request: Request) {
        // The limit was announced before the first stream, in the transport parameters; this
        // catches a limit that has changed since.
        if self.running.len() >= self.limits.streams as usize {
            self.state.thread.ledger.count(Limit::Streams);
            request
                .frame_stream
                .reset(Code::H3_REQUEST_REJECTED.value());
            return;
        }
        self.served += 1;
        if self.limits.requests > 0 && self.served == self.limits.requests {
            self.state.thread.ledger.count(Limit::Requests);
            self.leave().await;
        }
        let (state, link) = (self.state.clone(), self.link.clone());
        self.running.spawn_local(stream(state, request, link));
    }

    /// Exchanges in progress are finished. RFC 9114 §5.2.
    async fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            let telling = self.connection.shutdown(0);
            // If GOAWAY cannot be sent, accepting the next stream will fail too.
            let _ = self.deadline.within(Some(SHORT_TIMEOUT), telling).await;
        }
    }
}

async fn stream<S: Sessions>(
    state: Rc<ConnectionState<S>>,
    mut request: Request,
    link: QuicConnection,
) -> StreamEnd {
    let id = request.frame_stream.send_id().into_inner();
    let most = state.thread.site().policy.limits.head.0;
    link.set_read_allowance(id, most.saturating_add(FRAME_HEAD));
    let coming = poll_fn(|cx| request.frame_stream.poll_next(cx));
    let Ok(frame) = state.in_head_time(coming).await else {
        return StreamEnd::Reset;
    };
    let resolving = request.accept_with_frame(frame);
    let refusal = link.refusal(id);
    if let Some(error) = refusal {
        refused::refuse(&state, &link, id, error);
        // When the stream is dropped, it ends with the answer.
        if error.can_be_answered() {
            return StreamEnd::Reset;
        }
    }
    // If the engine refuses the head, it has answered already.
    let Ok(resolving) = resolving else {
        return StreamEnd::Reset;
    };
    let resolved = state.in_head_time(resolving.resolve()).await;
    let (Ok(Ok((request, stream))), None) = (resolved, refusal) else {
        return StreamEnd::Reset;
    };
    link.take_over(id, 0);
    let (parts, ()) = request.into_parts();
    let (sending, receiving) = stream.split();
    let mut answer = Answer::new(sending);
    let mut body = Body::new(receiving, link.clone(), state.confirmed.clone());
    let mut entry = state.entry();
    let outcome = tokio::select! {
        biased;
        outcome = exchange(&state, parts, &mut body, &mut answer, &mut entry) => outcome,
        () = link.stopped(id) => Err(ExchangeError::Gone),
    };
    state.close(&mut entry, outcome.as_ref().err());
    match outcome {
        // The rest of the body is not wanted, which the client learns when the body is dropped. RFC
        // 9114 §4.1.
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
    parts: http::request::Parts,
    body: &mut Body,
    answer: &mut Answer,
    entry: &mut Entry,
) -> Result<(), ExchangeError> {
    let headers = &parts.headers;
    let bodiless = matches!(parts.method.as_str(), "GET" | "HEAD" | "OPTIONS")
        && !headers.contains_key(http::header::CONTENT_LENGTH);
    let ended = state.in_head_time(body.is_ended(bodiless)).await??;
    let head = Head::new(parts, ended);
    state.exchange(head, body, answer, entry).await
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

fn broken(error: ConnectionError) -> ExchangeError {
    ExchangeError::Client(io::Error::other(error))
}

#[cfg(test)]
mod tests;
