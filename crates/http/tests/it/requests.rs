//! Helpers of the tests: requests, and a clock that stands still.

use std::sync::Arc;

use bytes::Bytes;
use roundtrip_http::{BodyEnd, Connection, HttpError, Request, RequestRecorder, RequestRun};
use roundtrip_model::{HttpFacts, Moment, Recorder, Target};
use roundtrip_tls::Offer;

pub(crate) fn recorder() -> Recorder {
    Recorder::new(Arc::new(Moment::ZERO))
}

/// An offer of HTTP/3 that shows no ticket.
pub(crate) fn h3_offer() -> Offer {
    Offer {
        tls12: false,
        tls13: true,
        post_quantum: false,
        early_data: false,
        resume: false,
        alpn: vec!["h3"],
        quic: true,
    }
}

/// One request without headers and without a body: how it ended, its facts, and the body of the
/// response.
pub(crate) async fn ask(
    connection: &mut Connection,
    method: &str,
    url: &str,
    recorder: &Recorder,
) -> (Result<(), HttpError>, HttpFacts, Vec<u8>) {
    let request = Request {
        method: method.into(),
        target: Target::parse(url).unwrap(),
        headers: Vec::new(),
        body: Bytes::new(),
        absolute_form: false,
    };
    carry(connection, &request, recorder).await
}

/// Uploads this many bytes.
pub(crate) async fn upload(
    connection: &mut Connection,
    bytes: usize,
    recorder: &Recorder,
) -> (Result<(), HttpError>, HttpFacts, Vec<u8>) {
    let request = Request {
        method: "POST".into(),
        target: Target::parse("https://localhost/").unwrap(),
        headers: Vec::new(),
        body: vec![b'x'; bytes].into(),
        absolute_form: false,
    };
    carry(connection, &request, recorder).await
}

pub(crate) async fn carry(
    connection: &mut Connection,
    request: &Request,
    recorder: &Recorder,
) -> (Result<(), HttpError>, HttpFacts, Vec<u8>) {
    let (mut facts, mut body) = (HttpFacts::default(), Vec::new());
    let run = RequestRun {
        request,
        decode: true,
        recorder: RequestRecorder::alone(recorder),
        sink: &mut body,
        body_end: BodyEnd::Length,
        facts: &mut facts,
    };
    let outcome = connection.exchange(run).await;
    (outcome, facts, body)
}
