//! One request and its response on a stream of their own.

use ::h3::client::RequestStream;
use ::h3::error::{Code, StreamError};
use bytes::{Buf, Bytes};

use super::layer::Sender;
use super::watch::Watched;
use crate::body::Body;
use crate::dock::Stream;
use crate::h2::{describe, expected_length};
use crate::{HttpError, Turn};

/// Queues the request before it lets anybody else run, unless the peer allows no further stream yet; then carries it to
/// the response's end.
pub(super) async fn carry(
    mut sender: Sender,
    turn: &mut Turn<'_>,
    watched: &Watched,
) -> Result<(), HttpError> {
    let request = turn.request;
    turn.facts.method.clone_from(&request.method);
    let head = request.modern()?;
    turn.facts.request_bytes = request.modern_size()?;
    turn.pen.started();
    let mut stream = sender.send_request(head).await.map_err(failed)?;
    let queued = turn.pen.now();
    if !request.body.is_empty() {
        let body = request.body.clone();
        stream.send_data(body).await.map_err(failed)?;
        turn.facts.uploaded = request.body.len() as u64;
    }
    stream.finish().await.map_err(failed)?;
    // The dock's task writes: let it, so that the request has left when we say so.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    if request.body.is_empty() {
        turn.pen.departed_first(queued);
    } else {
        turn.pen.departed();
    }
    let response = {
        let _one_by_one = watched.one_by_one();
        stream.recv_response().await.map_err(failed)?
    };
    turn.pen.arrived_since_departure();
    describe(&response.into_parts().0, "3", turn.facts);
    receive(stream, turn).await
}

async fn receive(
    mut stream: RequestStream<Stream, Bytes>,
    turn: &mut Turn<'_>,
) -> Result<(), HttpError> {
    let mut body = Body::new(turn.facts, turn.decode, turn.sink);
    let outcome = loop {
        match stream.recv_data().await {
            Ok(Some(mut chunk)) => {
                while chunk.has_remaining() {
                    let n = chunk.chunk().len();
                    body.take(chunk.chunk())?;
                    chunk.advance(n);
                }
            }
            Ok(None) => break Ok(()),
            Err(e) => break Err(failed(e)),
        }
    };
    let (got, asked) = (body.downloaded(), body.facts.method.as_str());
    if let Some(expected) = expected_length(body.facts).filter(|e| got < *e && asked != "HEAD") {
        return Err(HttpError::BodyCutShort { got, expected });
    }
    outcome?;
    body.finish()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a function to map errors with"
)]
fn failed(error: StreamError) -> HttpError {
    let rejected = matches!(
        error,
        StreamError::RemoteClosing { .. }
            | StreamError::RemoteTerminate {
                code: Code::H3_REQUEST_REJECTED,
                ..
            }
    );
    // Neither was acted upon. RFC 9114 §4.1.1, §5.2.
    if rejected {
        HttpError::H3Rejected(error.to_string())
    } else {
        HttpError::H3(error.to_string())
    }
}
