//! The client side of HTTP/2. RFC 9113. The `h2` crate does the framing; this module decides what
//! is sent when.

mod first_error;
mod headers;

use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::h2::client::{self, ResponseFuture, SendRequest};
use ::h2::{Reason, RecvStream, SendStream};
use bytes::Bytes;
use roundtrip_model::HttpFacts;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::body::ReceivedBody;
use crate::response::{MAX_HEAD_SIZE, MAX_INTERIM, describe, expected_length, fields, head_size};
use crate::run::{Unsent, all, answer};
use crate::{BodyEnd, ByteStream, HttpError, OnEnded, Request, RequestRun, Sink};
use first_error::{ErrorRecorder, FirstError};
use headers::{HeadersObserver, ObservedStream};

/// Windows as large as curl's, so that the path and not the client limits a body.
const STREAM_WINDOW: u32 = 10 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;
/// How long the end of a stream is waited for after the end of its body.
const MAX_STREAM_END: Duration = Duration::from_secs(10);
/// The limit that is announced to the server. It exceeds our own limit, so that we refuse a head
/// that is too large ourselves, with a clear error.
const MAX_HEADER_LIST_SIZE: u32 = 1024 * 1024;

pub struct H2Session {
    send: SendRequest<Bytes>,
    driver: Mutex<Driver>,
    first_error: FirstError,
    headers: HeadersObserver,
}

/// The task that moves frames. It starts once the first requests are queued, so that they share a
/// flight with the preface.
enum Driver {
    Waiting(Box<dyn FnOnce() -> JoinHandle<()> + Send>),
    Running(JoinHandle<()>),
    Gone,
}

impl H2Session {
    pub(crate) async fn open(stream: impl ByteStream + 'static) -> Result<Self, HttpError> {
        let (stream, first_error) = ErrorRecorder::new(stream);
        let headers = HeadersObserver::default();
        let (send, connection) = client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEADER_LIST_SIZE)
            .enable_push(false)
            .handshake::<_, Bytes>(ObservedStream::new(stream, headers.clone()))
            .await?;
        // The error of the connection reaches the request; the driver need not report it.
        let start = move || tokio::spawn(async move { drop(connection.await) });
        Ok(Self {
            send,
            driver: Mutex::new(Driver::Waiting(Box::new(start))),
            first_error,
            headers,
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(&*self.driver(), Driver::Running(task) if task.is_finished())
    }

    /// Whether the server has sent GOAWAY, so that it takes no further request.
    pub(crate) fn is_going_away(&self) -> bool {
        self.headers.is_going_away()
    }

    /// Becomes true once the server has announced its limit of streams.
    pub(crate) fn settings_received(&self) -> Receiver<bool> {
        self.headers.settings_received()
    }

    /// The server's limit of streams, once it has been announced.
    pub(crate) fn allowed(&self) -> Option<usize> {
        let received = *self.headers.settings_received().borrow();
        received.then(|| self.send.current_max_send_streams())
    }

    pub(crate) fn close(&self) {
        self.driver().stop();
    }

    /// Lets frames move before anything is requested.
    pub(crate) fn start(&self) {
        self.driver().start();
    }

    /// Carries one request, alongside others that begin and end at any time.
    pub(crate) async fn exchange(&self, mut run: RequestRun<'_>) -> Result<(), HttpError> {
        let asked = self.ask(&mut run);
        self.start();
        self.carry(run, asked).await
    }

    /// All requests are queued before the driver may write: on a new connection they leave in its
    /// first flight.
    pub(crate) async fn exchange_all(
        &self,
        mut runs: Vec<RequestRun<'_>>,
        ended: &mut OnEnded<'_>,
    ) {
        let asked: Vec<_> = runs.iter_mut().map(|run| self.ask(run)).collect();
        self.start();
        let carried = runs.into_iter().zip(asked);
        all(carried.map(|(run, asked)| self.carry(run, asked)), ended).await;
    }

    async fn carry(
        &self,
        run: RequestRun<'_>,
        asked: Result<SentRequest, HttpError>,
    ) -> Result<(), HttpError> {
        let mut heard = false;
        let outcome = match asked {
            Ok(asked) => asked.carry(run, &mut heard).await,
            Err(error) => Err(error),
        };
        outcome.map_err(|error| self.explain(error, heard))
    }

    fn driver(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request.
    fn ask(&self, run: &mut RequestRun<'_>) -> Result<SentRequest, HttpError> {
        let request = run.request;
        run.facts.method.clone_from(&request.method);
        let head = request.modern()?;
        run.facts.request_bytes = request.modern_size()?;
        run.recorder.started();
        let mut send = self.send.clone();
        let (response, upload) = send.send_request(head, request.body.is_empty())?;
        let stream = response.stream_id().as_u32();
        let is_whole = request.body.is_empty();
        self.headers.await_response(stream, &run.recorder, is_whole);
        let awaited = Awaited {
            headers: self.headers.clone(),
            stream,
        };
        Ok(SentRequest {
            response,
            upload,
            awaited,
        })
    }

    /// Prefers the error of the stream below to its effect on HTTP/2. `heard`: the response had
    /// begun.
    fn explain(&self, error: HttpError, heard: bool) -> HttpError {
        let HttpError::H2(error) = error else {
            return error;
        };
        if error.is_io() {
            return match self.first_error.get() {
                Some(HttpError::ClosedUnanswered) if heard => error.into(),
                Some(cause) => cause,
                None => error.into(),
            };
        }
        // The `h2` crate itself objects to frames without end. RFC 9113 §10.5.1.
        if error.is_library() && error.reason() == Some(Reason::ENHANCE_YOUR_CALM) {
            return HttpError::HeadTooLarge {
                limit: MAX_HEAD_SIZE,
            };
        }
        error.into()
    }
}

/// A request that is on its way.
struct SentRequest {
    response: ResponseFuture,
    upload: SendStream<Bytes>,
    awaited: Awaited,
}

/// A response whose HEADERS are awaited until this is dropped.
struct Awaited {
    headers: HeadersObserver,
    stream: u32,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.headers.forget(self.stream);
    }
}

impl SentRequest {
    /// Follows the request from its departure to the end of the response.
    async fn carry(mut self, run: RequestRun<'_>, heard: &mut bool) -> Result<(), HttpError> {
        let RequestRun { request, facts, .. } = run;
        let mut uploaded = 0;
        let sending = upload(&mut self.upload, request, &mut uploaded);
        let answering = async {
            interim(&mut self.response, facts).await?;
            let (parts, body) = self.response.await?.into_parts();
            let told = facts.interim.len();
            self.awaited.headers.answered(self.awaited.stream, told);
            Ok((parts, body))
        };
        // If the request has no body, the stream below sees when it leaves.
        let left = || {
            if !request.body.is_empty() {
                run.recorder.departed();
            }
        };
        let answer = answer(sending, answering, left, request, &run.recorder).await;
        facts.uploaded = uploaded;
        let (parts, body) = answer?;
        *heard = true;
        describe(&parts, "2", facts);
        if facts.header_bytes > MAX_HEAD_SIZE as u64 {
            return Err(HttpError::HeadTooLarge {
                limit: MAX_HEAD_SIZE,
            });
        }
        receive(body, run.decode, run.sink, run.body_end, facts).await
    }
}

async fn upload(
    stream: &mut SendStream<Bytes>,
    request: &Request,
    uploaded: &mut u64,
) -> Result<(), Unsent> {
    // Yielding lets the driver write, so that the request has left before that is recorded.
    tokio::task::yield_now().await;
    let mut rest = request.body.clone();
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        // After a reset, the response says why.
        let Some(Ok(granted)) = poll_fn(|cx| stream.poll_capacity(cx)).await else {
            return Err(Unsent::Stopped);
        };
        let part = rest.split_to(granted.min(rest.len()));
        *uploaded += part.len() as u64;
        let sent = stream.send_data(part, rest.is_empty());
        sent.map_err(|_| Unsent::Stopped)?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

impl Driver {
    fn start(&mut self) {
        match std::mem::replace(self, Self::Gone) {
            Self::Waiting(start) => *self = Self::Running(start()),
            other => *self = other,
        }
    }

    fn stop(&mut self) {
        if let Self::Running(task) = std::mem::replace(self, Self::Gone) {
            task.abort();
        }
    }
}

impl Drop for H2Session {
    fn drop(&mut self) {
        self.close();
    }
}

/// Collects interim responses (1xx) until the final response begins.
async fn interim(response: &mut ResponseFuture, facts: &mut HttpFacts) -> Result<(), HttpError> {
    while let Some(told) = poll_fn(|cx| response.poll_informational(cx)).await {
        let told = told?;
        facts.interim.push(told.status().as_u16());
        facts.header_bytes += head_size(told.headers());
        if facts.interim.len() > MAX_INTERIM {
            return Err(HttpError::TooManyInterim(MAX_INTERIM));
        }
    }
    Ok(())
}

async fn receive(
    mut stream: RecvStream,
    decode: bool,
    sink: &mut dyn Sink,
    end: BodyEnd,
    facts: &mut HttpFacts,
) -> Result<(), HttpError> {
    let length = expected_length(facts);
    let enough = length.filter(|_| end == BodyEnd::Length);
    let mut body = ReceivedBody::new(facts, decode, sink);
    let mut outcome = Ok(());
    loop {
        match stream.data().await {
            Some(Ok(data)) => {
                // Returning credit fails only if the stream has already ended.
                let _ = stream.flow_control().release_capacity(data.len());
                body.take(&data)?;
                body.settle().await?;
                if Some(body.downloaded()) == enough {
                    if !stream.is_end_stream() {
                        tokio::spawn(timeout(MAX_STREAM_END, stream_end(stream)));
                    }
                    break;
                }
            }
            Some(Err(e)) => {
                outcome = Err(e);
                break;
            }
            None => {
                // The body is complete, even if the stream is reset now.
                if let Ok(Some(trailers)) = stream.trailers().await {
                    body.facts.trailers = fields(&trailers);
                }
                break;
            }
        }
    }
    let got = body.downloaded();
    let expected = length.filter(|e| got < *e);
    match (outcome, expected) {
        (Err(error), expected) if let Some(what) = what_was_reset(&error) => {
            Err(HttpError::BodyReset {
                what,
                got,
                expected,
            })
        }
        (Err(_), Some(expected)) => Err(HttpError::BodyCutShort { got, expected }),
        (Err(e), None) => Err(e.into()),
        (Ok(()), _) => body.finish(),
    }
}

/// Waits for the end of a stream whose body is complete. If the stream were dropped sooner, it
/// would be reset, which servers count against their clients.
async fn stream_end(mut stream: RecvStream) {
    while let Some(Ok(_)) = stream.data().await {}
}

/// The name of what was reset: the stream, or the connection below it.
fn what_was_reset(error: &::h2::Error) -> Option<String> {
    if let Some(reason) = error.reason().filter(|_| error.is_reset()) {
        return Some(format!("stream ({reason:?})"));
    }
    // The `h2` crate reports the end of the connection as a broken pipe.
    let kind = error.get_io()?.kind();
    let is_reset = matches!(
        kind,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    );
    is_reset.then(|| "connection".to_owned())
}
