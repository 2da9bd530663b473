//! HTTP/2 as a client speaks it. RFC 9113. The `h2` crate frames; what leaves when is decided here.

use std::future::poll_fn;

use ::h2::client::{self, ResponseFuture, SendRequest};
use ::h2::{RecvStream, SendStream};
use bytes::Bytes;
use roundtrip_model::{Event, HttpFacts, Recorder};
use tokio::task::JoinHandle;

use crate::body::Body;
use crate::{HttpError, Request, Sink, Stream};

/// Large windows, so that a body is limited by the path and not by us (curl takes as much).
const STREAM_WINDOW: u32 = 10 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;
const HEADER_LIST_LIMIT: u32 = 256 * 1024;

pub struct Session {
    send: SendRequest<Bytes>,
    driver: Driver,
}

/// Moves frames; started only after the first request is queued, so that preface and request share a flight.
enum Driver {
    Waiting(Box<dyn FnOnce() -> JoinHandle<()> + Send>),
    Running(JoinHandle<()>),
    Gone,
}

impl Session {
    pub(crate) async fn open(stream: impl Stream + 'static) -> Result<Self, HttpError> {
        let (send, connection) = client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADER_LIST_LIMIT)
            .enable_push(false)
            .handshake::<_, Bytes>(stream)
            .await?;
        // The connection's own error reaches the request; the driver has nobody to tell.
        let start = move || tokio::spawn(async move { drop(connection.await) });
        Ok(Self {
            send,
            driver: Driver::Waiting(Box::new(start)),
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(&self.driver, Driver::Running(task) if task.is_finished())
    }

    pub(crate) fn close(mut self) {
        self.driver.stop();
    }

    pub(crate) async fn exchange(
        &mut self,
        request: &Request,
        decode: bool,
        recorder: &Recorder,
        sink: &mut dyn Sink,
        facts: &mut HttpFacts,
    ) -> Result<(), HttpError> {
        facts.method.clone_from(&request.method);
        let head = request.modern()?;
        facts.request_bytes = request.head()?.len() as u64;
        recorder.record(Event::RequestStarted);
        if let Driver::Running(_) = self.driver {
            poll_fn(|cx| self.send.poll_ready(cx)).await?;
        }
        let (mut response, upload) = self.send.send_request(head, request.body.is_empty())?;
        self.driver.start();
        self.upload(upload, request, facts).await?;
        recorder.record_departure(Event::RequestSent);
        interim(&mut response, facts).await?;
        let (parts, body) = response.await?.into_parts();
        recorder.record_arrival(Event::FirstByte);
        describe(&parts, "2", facts);
        receive(body, decode, sink, facts).await
    }

    async fn upload(
        &mut self,
        mut stream: SendStream<Bytes>,
        request: &Request,
        facts: &mut HttpFacts,
    ) -> Result<(), HttpError> {
        // The driver writes when it is polled: let it, so that the request has left when we say so.
        tokio::task::yield_now().await;
        let mut rest = request.body.clone();
        while !rest.is_empty() {
            stream.reserve_capacity(rest.len());
            let granted = match poll_fn(|cx| stream.poll_capacity(cx)).await {
                Some(granted) => granted?,
                // The server has reset the stream; its response may still say why.
                None => return Ok(()),
            };
            let part = rest.split_to(granted.min(rest.len()));
            facts.uploaded += part.len() as u64;
            stream.send_data(part, rest.is_empty())?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }
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

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.stop();
    }
}

/// Collects interim responses (1xx) until the final one is on its way.
async fn interim(response: &mut ResponseFuture, facts: &mut HttpFacts) -> Result<(), HttpError> {
    const LIMIT: usize = 32;
    while let Some(told) = poll_fn(|cx| response.poll_informational(cx)).await {
        facts.interim.push(told?.status().as_u16());
        if facts.interim.len() > LIMIT {
            return Err(HttpError::TooManyInterim(LIMIT));
        }
    }
    Ok(())
}

/// The head of a binary response, its size counted as HTTP/1.1 would have written it (as curl counts).
pub(crate) fn describe(parts: &::http::response::Parts, version: &str, facts: &mut HttpFacts) {
    facts.version = version.into();
    facts.status = parts.status.as_u16();
    facts.keep_alive = true;
    facts.headers = parts
        .headers
        .iter()
        .map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_vec()))
        .collect();
    let lines: usize = facts
        .headers
        .iter()
        .map(|(n, v)| n.len() + v.len() + 4)
        .sum();
    facts.header_bytes = ("HTTP/2 200 \r\n".len() + lines + 2) as u64;
}

async fn receive(
    mut stream: RecvStream,
    decode: bool,
    sink: &mut dyn Sink,
    facts: &mut HttpFacts,
) -> Result<(), HttpError> {
    let mut body = Body::new(facts, decode, sink);
    let mut outcome = Ok(());
    while let Some(chunk) = stream.data().await {
        match chunk {
            Ok(data) => {
                // Failing to return credit only means that the stream is over already.
                let _ = stream.flow_control().release_capacity(data.len());
                body.take(&data)?;
            }
            Err(e) => {
                outcome = Err(e);
                break;
            }
        }
    }
    facts.downloaded = body.downloaded;
    let expected = expected_length(facts);
    match outcome {
        Err(_) if expected.is_some_and(|e| facts.downloaded < e) => Err(HttpError::BodyCutShort {
            got: facts.downloaded,
            expected: expected.unwrap_or_default(),
        }),
        Err(e) => Err(e.into()),
        Ok(()) => {
            facts.decoded = body.finish()?;
            Ok(())
        }
    }
}

pub(crate) fn expected_length(facts: &HttpFacts) -> Option<u64> {
    std::str::from_utf8(facts.header("content-length")?)
        .ok()?
        .trim()
        .parse()
        .ok()
}
