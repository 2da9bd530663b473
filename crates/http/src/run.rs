//! One request on a connection: the request itself, where its body goes, and where its events are
//! recorded.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use roundtrip_model::{Event, HttpFacts, Moment, Recorder};

use crate::{HttpError, Request, Sink};

pub struct RequestRun<'a> {
    pub request: &'a Request,
    /// Decompress the body.
    pub decode: bool,
    pub recorder: RequestRecorder,
    pub sink: &'a mut dyn Sink,
    pub body_end: BodyEnd,
    /// The facts, filled in as far as the exchange gets.
    pub facts: &'a mut HttpFacts,
}

/// Where the body of an HTTP/2 response ends. If there is a `Content-Length`, HTTP/2 announces the
/// end twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEnd {
    /// The body ends at the end of the stream.
    Stream,
    /// The body ends as soon as it has the announced length. Proxies send the end of the stream in
    /// a separate packet, which the congestion window may delay for a round trip. Trailers are
    /// lost.
    Length,
}

/// Records the boundaries of a request with the times of the bytes that carried them. If several
/// requests share a connection, each has its own recorder, and the bytes are on that of the
/// connection.
#[derive(Clone)]
pub struct RequestRecorder {
    bytes: Recorder,
    own: Recorder,
}

/// Is called as each of several turns ends, with its index and its outcome.
pub type OnEnded<'a> = dyn FnMut(usize, Result<(), HttpError>) + Send + 'a;

impl RequestRecorder {
    /// Makes a recorder for a request that has the connection to itself.
    pub fn alone(recorder: &Recorder) -> Self {
        Self::beside(recorder, recorder)
    }

    /// Makes a recorder for one of several requests: its boundaries go to `own`, with the times of
    /// the bytes on `connection`.
    pub fn beside(connection: &Recorder, own: &Recorder) -> Self {
        let (bytes, own) = (connection.clone(), own.clone());
        Self { bytes, own }
    }

    pub(crate) fn now(&self) -> Moment {
        self.own.now()
    }

    pub(crate) fn started(&self) {
        self.own.record(Event::RequestStarted);
    }

    /// Records that the end of the request left with the last bytes sent.
    pub(crate) fn departed(&self) {
        self.write(self.bytes.last(is_sent), Event::RequestSent);
    }

    /// Like `departed`, for a request that was queued at that time. A request without a body left
    /// with the first bytes since: later bytes may be acknowledgements only, and the answer may be
    /// here before this is called.
    pub(crate) fn departed_since(&self, queued: Moment, request: &Request) {
        if !request.body.is_empty() {
            return self.departed();
        }
        let left = self.bytes.first_since(queued, is_sent);
        self.write(left, Event::RequestSent);
    }

    /// Records that the request ended with the last bytes that were sent by this time, because its
    /// answer arrived then.
    pub(crate) fn departed_until(&self, answered: Option<Moment>) {
        let at = answered.unwrap_or_else(|| self.now());
        let left = self.bytes.last_until(at, is_sent);
        let began = self.own.last(|e| *e == Event::RequestStarted);
        self.write(left.max(began), Event::RequestSent);
    }

    /// Records that the response began with the bytes that arrived last.
    pub(crate) fn arrived(&self) {
        self.write(self.bytes.last(is_received), Event::FirstByte);
    }

    /// Like `arrived`, but ignores bytes that arrived before the request left, which cannot be its
    /// answer.
    pub(crate) fn arrived_since_departure(&self) {
        let left = self.own.last(|e| *e == Event::RequestSent);
        let at = self.bytes.last(is_received);
        self.write(at.filter(|at| Some(*at) > left), Event::FirstByte);
    }

    /// Records that the head of the final response arrived with the latest bytes.
    pub(crate) fn answered(&self) {
        self.answered_at(self.last_arrival());
    }

    /// Like `answered`, for bytes that arrived at this time.
    pub(crate) fn answered_at(&self, at: Option<Moment>) {
        let began = self.own.last(|e| *e == Event::FirstByte);
        self.write(at.max(began), Event::Answered);
    }

    /// When the last bytes arrived.
    pub(crate) fn last_arrival(&self) -> Option<Moment> {
        self.bytes.last(is_received)
    }

    fn write(&self, at: Option<Moment>, event: Event) {
        let at = at.unwrap_or_else(|| self.own.now());
        self.own.record_at(at, event);
    }
}

/// Why a request was not sent to its end.
pub(crate) enum Unsent {
    /// The server does not want the rest of the body, and its answer says why.
    Stopped,
    Failed(HttpError),
}

/// Sends a request and receives its answer, which ends the sending. An answer that came before
/// sending failed counts. A request without a body leaves before anything is received. `left`
/// records that all of it was sent. RFC 9113 §8.1, RFC 9114 §4.1.
pub(crate) async fn answer<T>(
    sending: impl Future<Output = Result<(), Unsent>>,
    answering: impl Future<Output = Result<T, HttpError>>,
    left: impl Fn(),
    request: &Request,
    recorder: &RequestRecorder,
) -> Result<T, HttpError> {
    let (mut sending, mut answering) = (pin!(sending), pin!(answering));
    let (mut is_sending, mut has_left) = (true, false);
    let answer = poll_fn(|cx| {
        let mut unsent = None;
        if is_sending {
            match sending.as_mut().poll(cx) {
                Poll::Pending if request.body.is_empty() => return Poll::Pending,
                Poll::Pending => {}
                Poll::Ready(outcome) => {
                    is_sending = false;
                    unsent = outcome.err();
                    if unsent.is_none() {
                        has_left = true;
                        left();
                    }
                }
            }
        }
        match (answering.as_mut().poll(cx), unsent) {
            (Poll::Ready(Ok(answer)), _) => Poll::Ready(Ok(answer)),
            (_, Some(Unsent::Failed(error))) => Poll::Ready(Err(error)),
            (Poll::Pending, Some(Unsent::Stopped)) => {
                has_left = true;
                recorder.departed();
                Poll::Pending
            }
            (polled, _) => polled,
        }
    })
    .await?;
    if !has_left {
        recorder.departed_until(recorder.own.last(|e| *e == Event::Answered));
    }
    Ok(answer)
}

fn is_sent(event: &Event) -> bool {
    matches!(event, Event::Sent { .. })
}

fn is_received(event: &Event) -> bool {
    matches!(event, Event::Received { .. })
}

/// Runs all futures at once, in this task. `ended` is called for each, with its index.
pub(crate) async fn all<T>(
    futures: impl IntoIterator<Item = impl Future<Output = T>>,
    mut ended: impl FnMut(usize, T),
) {
    let boxed = futures.into_iter().map(Box::pin);
    let mut running: Vec<(usize, Pin<Box<_>>)> = boxed.enumerate().collect();
    poll_fn(|cx| {
        running.retain_mut(|(place, future)| match future.as_mut().poll(cx) {
            Poll::Ready(outcome) => {
                ended(*place, outcome);
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
