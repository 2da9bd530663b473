//! A client that speaks HTTP/3. The `h3` crate speaks the protocol, over our own QUIC. Here a connection begins, ends, and
//! is ended when its client takes too much. RFC 9114.

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

use super::streams::{Hall, Head, Parted, SHORT, Tally};
use crate::accept::stream::Peer;
use crate::accept::thread::House;
use crate::config::Limits;
use crate::forward::deadlines::{Late, Post};
use crate::forward::exchange::Broken;
use crate::judge::guard::Sessions;
use crate::judge::request::Version;
use crate::record::{Entry, Limit};
use answer::Answer;
use body::Body;

/// Of a frame that carries a head: its type, and its length.
const FRAME_HEAD: u64 = 16;

type Request = RequestResolver<H3Connection, Bytes>;

/// Serves until the connection ends. Until `confirmed` is over, what comes may be a replay; where the handshake fails, it never is.
pub(crate) async fn serve<S: Sessions + 'static>(
    link: QuicConnection,
    confirmed: impl Future<Output = ()>,
    peer: Peer,
    house: &Rc<House<S>>,
) -> Result<(), Broken> {
    let limits = house.site().policy.limits.clone();
    let mut builder = h3::server::builder();
    builder
        .max_field_section_size(limits.head.0)
        .send_grease(false);
    let post = house.patrol.post();
    let section_limits = SectionLimits {
        fields: limits.fields,
        size: usize::try_from(limits.head.0).unwrap_or(usize::MAX),
    };
    let transport = H3Connection::with_limits(&link, section_limits);
    let begun = post
        .within(Some(limits.head_time.0), builder.build(transport))
        .await;
    let connection = begun
        .map_err(|_| Broken::Slow(Limit::HeadTime))?
        .map_err(broken)?;
    let table = Table {
        connection,
        link,
        hall: Rc::new(Hall::new(house, peer, Version::H3)),
        post,
        running: JoinSet::new(),
        served: 0,
        tally: Tally::new(limits.resets),
        leaving: false,
        limits,
    };
    table.run(pin!(confirmed)).await
}

/// One connection, and those who are served on it.
struct Table<S> {
    connection: Connection<H3Connection, Bytes>,
    link: QuicConnection,
    limits: Limits,
    hall: Rc<Hall<S>>,
    post: Rc<Post>,
    running: JoinSet<Parted>,
    served: u64,
    tally: Tally,
    /// The client was asked to come anew.
    leaving: bool,
}

enum Event {
    Asked(Box<Request>),
    Parted(Result<Parted, JoinError>),
    Confirmed,
    Over(Result<(), ConnectionError>),
}

impl<S: Sessions + 'static> Table<S> {
    async fn run(
        mut self,
        mut confirmed: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), Broken> {
        let outcome = loop {
            if self.is_to_leave() {
                self.leave().await;
            }
            match self.next(confirmed.as_mut()).await {
                Ok(Event::Asked(request)) => self.begin(*request).await,
                Ok(Event::Confirmed) => self.hall.confirmed.give(),
                Ok(Event::Parted(parted)) => {
                    if self.tally.enter(parted.unwrap_or(Parted::Well)) {
                        self.hall.house.ledger.count(Limit::Resets);
                        self.link.close(Code::H3_EXCESSIVE_LOAD.value(), b"");
                        break Ok(());
                    }
                }
                // Whom nobody serves may go as they like.
                Ok(Event::Over(_)) if self.running.is_empty() => break Ok(()),
                Ok(Event::Over(outcome)) => break outcome.map_err(broken),
                // Somebody is served, or gate is about to end.
                Err(Late) if !self.running.is_empty() || self.is_to_leave() => {}
                Err(Late) if self.leaving => break Ok(()),
                Err(Late) => {
                    self.hall.house.ledger.count(Limit::IdleTime);
                    self.leave().await;
                }
            }
        };
        // Closes the connection, which tells what still runs that its client is gone.
        drop(self.connection);
        while self.running.join_next().await.is_some() {}
        outcome
    }

    fn is_to_leave(&self) -> bool {
        self.hall.house.is_draining() && !self.leaving
    }

    /// Late where nobody is served for too long, or gate is about to end.
    async fn next(&mut self, confirmed: Pin<&mut impl Future<Output = ()>>) -> Result<Event, Late> {
        let span = match self.running.is_empty() {
            false => Duration::MAX,
            // Whoever was told to go closes the connection; closing it here could overtake the last answer.
            true if self.leaving => SHORT,
            true => self.limits.idle_time.0,
        };
        let waits = !self.hall.confirmed.is_given();
        let (connection, running) = (&mut self.connection, &mut self.running);
        let event = async {
            tokio::select! {
                biased;
                () = confirmed, if waits => Event::Confirmed,
                Some(parted) = running.join_next() => Event::Parted(parted),
                asked = connection.accept() => match asked {
                    Ok(Some(request)) => Event::Asked(Box::new(request)),
                    Ok(None) => Event::Over(Ok(())),
                    Err(error) => Event::Over(Err(error)),
                },
            }
        };
        self.post.at_rest(span, event).await
    }

    async fn begin(&mut self, mut request: Request) {
        // The client was told before the first stream, by what QUIC has from its configuration; unless that has changed.
        if self.running.len() >= self.limits.streams as usize {
            self.hall.house.ledger.count(Limit::Streams);
            request
                .frame_stream
                .reset(Code::H3_REQUEST_REJECTED.value());
            return;
        }
        self.served += 1;
        if self.limits.requests > 0 && self.served == self.limits.requests {
            self.hall.house.ledger.count(Limit::Requests);
            self.leave().await;
        }
        let (hall, link) = (self.hall.clone(), self.link.clone());
        self.running.spawn_local(stream(hall, request, link));
    }

    /// What runs is served to its end. RFC 9114 §5.2.
    async fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            let telling = self.connection.shutdown(0);
            // Where it cannot be told, it is met when a stream is accepted next.
            let _ = self.post.within(Some(SHORT), telling).await;
        }
    }
}

async fn stream<S: Sessions>(
    hall: Rc<Hall<S>>,
    mut request: Request,
    link: QuicConnection,
) -> Parted {
    let id = request.frame_stream.send_id().into_inner();
    let most = hall.house.site().policy.limits.head.0;
    link.set_read_allowance(id, most.saturating_add(FRAME_HEAD));
    let coming = poll_fn(|cx| request.frame_stream.poll_next(cx));
    let Ok(frame) = hall.in_head_time(coming).await else {
        return Parted::Reset;
    };
    let resolving = request.accept_with_frame(frame);
    let refusal = link.refusal(id);
    if let Some(error) = refusal {
        refused::refuse(&hall, &link, id, error);
        // Let go of, the stream ends as it was answered.
        if error.can_be_answered() {
            return Parted::Reset;
        }
    }
    // What the engine does not take, it has answered where there was something to answer.
    let Ok(resolving) = resolving else {
        return Parted::Reset;
    };
    let resolved = hall.in_head_time(resolving.resolve()).await;
    let (Ok(Ok((request, stream))), None) = (resolved, refusal) else {
        return Parted::Reset;
    };
    link.take_over(id, 0);
    let (parts, ()) = request.into_parts();
    let (sending, receiving) = stream.split();
    let mut answer = Answer::new(sending);
    let mut body = Body::new(receiving, link.clone(), hall.confirmed.clone());
    let mut entry = hall.entry();
    let outcome = tokio::select! {
        biased;
        outcome = exchange(&hall, parts, &mut body, &mut answer, &mut entry) => outcome,
        () = link.stopped(id) => Err(Broken::Gone),
    };
    hall.close(&mut entry, outcome.as_ref().err());
    match outcome {
        // What the client still sends is not wanted, which it hears when the body is let go of. RFC 9114 §4.1.
        Ok(()) => Parted::Well,
        Err(_) if answer.is_ended() => Parted::Well,
        Err(error) => {
            answer.cut(reason(&error));
            if error.is_the_clients() {
                Parted::Reset
            } else {
                Parted::Well
            }
        }
    }
}

async fn exchange<S: Sessions>(
    hall: &Hall<S>,
    parts: http::request::Parts,
    body: &mut Body,
    answer: &mut Answer,
    entry: &mut Entry,
) -> Result<(), Broken> {
    let headers = &parts.headers;
    let bodiless = matches!(parts.method.as_str(), "GET" | "HEAD" | "OPTIONS")
        && !headers.contains_key(http::header::CONTENT_LENGTH);
    let ended = hall.in_head_time(body.is_ended(bodiless)).await??;
    let head = Head::new(parts, ended);
    hall.exchange(head, body, answer, entry).await
}

/// RFC 9114 §8.1.
fn reason(error: &Broken) -> Code {
    match error {
        Broken::Client(_) | Broken::Gone | Broken::Slow(_) | Broken::Over => {
            Code::H3_REQUEST_CANCELLED
        }
        Broken::Refused(_) => Code::H3_MESSAGE_ERROR,
        _ => Code::H3_INTERNAL_ERROR,
    }
}

fn broken(error: ConnectionError) -> Broken {
    Broken::Client(io::Error::other(error))
}

#[cfg(test)]
mod tests;
