//! One request and its response on a stream.

use bytes::Bytes;
use roundtrip_quic_tokio::{
    H3Error, H3Requests, MessagePart, MessageSender, MessageStream, RecvStream, SendStream,
    request_lines, response_head,
};
use roundtrip_wire::h3::{Code, MessageError};

use super::datagrams::DatagramRecorder;
use crate::body::ReceivedBody;
use crate::response::{MAX_HEAD_SIZE, MAX_INTERIM, describe, expected_length, head_size};
use crate::run::{Unsent, answer};
use crate::{HttpError, RequestRun};

/// The largest number of bytes that are read of a body at once.
const MAX_PIECE: usize = 256 << 10;
/// The most of a body that is handed over at once. Fewer bytes are not counted if the server stops
/// reading.
const MAX_SENT_PIECE: usize = 16 << 10;

/// Queues the request before any other task runs, unless the peer allows no further stream yet;
/// then carries it to the end of the response.
pub(super) async fn carry(
    requests: H3Requests,
    run: &mut RequestRun<'_>,
    datagrams: &DatagramRecorder,
) -> Result<(), HttpError> {
    let request = run.request;
    run.facts.method.clone_from(&request.method);
    let head = request.modern()?;
    run.facts.request_bytes = request.modern_size()?;
    run.recorder.started();
    let (mut sender, mut response) = requests.open().await.map_err(|error| failed(&error))?;
    let id = sender.id();
    // The server did not act on a request above its GOAWAY's id, however the stream ended.
    let failed = |error: H3Error| {
        if requests.is_rejected(id) {
            HttpError::H3Rejected(error.to_string())
        } else {
            failed(&error)
        }
    };
    sender.section(request_lines(&head));
    let queued = run.recorder.now();
    let mut uploaded = 0;
    let sending = async {
        match send(&mut sender, &request.body, &mut uploaded).await {
            // A server may answer without reading the rest, and its answer counts. RFC 9114 §4.1.
            Err(error) if error.reset_code() == Some(Code::H3_NO_ERROR) => {
                return Err(Unsent::Stopped);
            }
            sent => sent.map_err(|error| Unsent::Failed(failed(error)))?,
        }
        // Yielding lets the driver write, so that the request has left before that is recorded.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        Ok(())
    };
    let parts = {
        let _one_by_one = datagrams.one_by_one();
        let recorder = run.recorder.clone();
        let answering = final_response(&mut response, run, &failed);
        tokio::select! {
            biased;
            parts = answer(sending, answering, || recorder.departed_since(queued, request), request, &recorder) => parts,
            // The server may keep the stream open, and never answer.
            () = requests.rejected(id) => {
                Err(HttpError::H3Rejected(H3Error::GoingAway.to_string()))
            }
        }
    };
    run.facts.uploaded = uploaded;
    describe(&parts?, "3", run.facts);
    // Until the end of the response, the server is not told that the rest of the request does not
    // come: it might end its response as well.
    let received = receive(response, run, &failed).await;
    drop(sender);
    received
}

/// Sends the body, and ends the request. A small one leaves with its head in one write.
async fn send(
    sender: &mut MessageSender<SendStream>,
    body: &Bytes,
    uploaded: &mut u64,
) -> Result<(), H3Error> {
    let mut rest = body.clone();
    while !rest.is_empty() {
        let piece = rest.split_to(MAX_SENT_PIECE.min(rest.len()));
        let length = piece.len() as u64;
        sender.send_data(piece).await?;
        *uploaded += length;
    }
    sender.finish().await
}

/// Receives responses up to the final one, and records when the first and the last arrived.
async fn final_response(
    message: &mut MessageStream<RecvStream>,
    run: &mut RequestRun<'_>,
    failed: &impl Fn(H3Error) -> HttpError,
) -> Result<::http::response::Parts, HttpError> {
    let too_large = HttpError::HeadTooLarge {
        limit: MAX_HEAD_SIZE,
    };
    loop {
        let section = match message.head().await {
            Ok(section) => section,
            Err(H3Error::Message(error))
                if error.is_limit() || error == MessageError::TooMuchIgnored =>
            {
                return Err(too_large);
            }
            Err(error) => return Err(failed(error)),
        };
        let head = response_head(&section).map_err(|error| message.refuse_head(error));
        let (response, ()) = head.map_err(failed)?.into_parts();
        if run.facts.interim.is_empty() {
            run.recorder.arrived_since_departure();
        }
        if !response.status.is_informational() {
            run.recorder.answered();
            return Ok(response);
        }
        run.facts.interim.push(response.status.as_u16());
        run.facts.header_bytes += head_size(&response.headers);
        if run.facts.interim.len() > MAX_INTERIM {
            return Err(HttpError::TooManyInterim(MAX_INTERIM));
        }
        if run.facts.header_bytes > MAX_HEAD_SIZE as u64 {
            return Err(too_large);
        }
    }
}

async fn receive(
    mut message: MessageStream<RecvStream>,
    run: &mut RequestRun<'_>,
    failed: &impl Fn(H3Error) -> HttpError,
) -> Result<(), HttpError> {
    let mut body = ReceivedBody::new(run.facts, run.decode, run.sink);
    let outcome = loop {
        let error = match message.next(MAX_PIECE).await {
            Ok(Some(MessagePart::Data(data))) => {
                body.take(&data)?;
                body.settle().await?;
                continue;
            }
            // Trailers are not shown.
            Ok(Some(MessagePart::Head(_) | MessagePart::Trailers(_))) => continue,
            Ok(None) => break Ok(()),
            Err(error) => error,
        };
        match error.reset_code() {
            Some(code) if code != Code::H3_REQUEST_REJECTED => {
                return Err(HttpError::BodyReset {
                    what: format!("stream ({code})"),
                    got: body.downloaded(),
                    expected: expected_length(body.facts),
                });
            }
            _ if matches!(error, H3Error::Message(MessageError::Malformed(_))) => {
                return Err(failed(error));
            }
            _ => break Err(failed(error)),
        }
    };
    let (got, asked) = (body.downloaded(), body.facts.method.as_str());
    if let Some(expected) = expected_length(body.facts).filter(|e| got < *e && asked != "HEAD") {
        return Err(HttpError::BodyCutShort { got, expected });
    }
    outcome?;
    body.finish()
}

fn failed(error: &H3Error) -> HttpError {
    // In both cases the server did not act on the request. RFC 9114 §4.1.1, §5.2.
    let rejected =
        *error == H3Error::GoingAway || error.reset_code() == Some(Code::H3_REQUEST_REJECTED);
    if rejected {
        HttpError::H3Rejected(error.to_string())
    } else {
        HttpError::H3(error.to_string())
    }
}
