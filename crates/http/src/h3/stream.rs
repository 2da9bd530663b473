//! One request and its response on a stream of their own.

use ::h3::client::RequestStream;
use ::h3::error::{Code, StreamError};
use bytes::{Buf, Bytes};
use roundtrip_quic_tokio::{BidiStream, Connection};

use super::client::Sender;
use super::datagrams::DatagramRecorder;
use crate::body::Body;
use crate::response::{MAX_HEAD_SIZE, MAX_INTERIM, describe, expected_length, head_size};
use crate::{HttpError, RequestRun};

/// What may be read of a stream at once: more than the largest head takes, however it is encoded.
const READ_ALLOWANCE: u64 = 2 * MAX_HEAD_SIZE as u64;

/// Queues the request before any other task runs, unless the peer allows no further stream yet;
/// then carries it to the end of the response.
pub(super) async fn carry(
    mut sender: Sender,
    run: &mut RequestRun<'_>,
    connection: &Connection,
    datagrams: &DatagramRecorder,
) -> Result<(), HttpError> {
    let request = run.request;
    run.facts.method.clone_from(&request.method);
    let head = request.modern()?;
    run.facts.request_bytes = request.modern_size()?;
    run.recorder.started();
    let mut stream = sender.send_request(head).await.map_err(failed)?;
    let allowance = ReadAllowance {
        connection,
        stream: stream.id().into_inner(),
    };
    allowance.renew();
    let queued = run.recorder.now();
    if !request.body.is_empty() {
        let body = request.body.clone();
        stream.send_data(body).await.map_err(failed)?;
        run.facts.uploaded = request.body.len() as u64;
    }
    stream.finish().await.map_err(failed)?;
    // The driver writes. It is given the time, so that the request has left when that is recorded.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    run.recorder.departed_since(queued, request);
    let response = {
        let _one_by_one = datagrams.one_by_one();
        final_response(&mut stream, run).await
    };
    let response = response.map_err(|error| {
        if allowance.is_spent() {
            HttpError::HeadTooLarge {
                limit: MAX_HEAD_SIZE,
            }
        } else {
            error
        }
    })?;
    describe(&response.into_parts().0, "3", run.facts);
    receive(stream, run, &allowance).await
}

/// Takes the responses in until the final one, and records when the first and the last came.
async fn final_response(
    stream: &mut RequestStream<BidiStream, Bytes>,
    run: &mut RequestRun<'_>,
) -> Result<::http::Response<()>, HttpError> {
    loop {
        let response = stream.recv_response().await.map_err(failed)?;
        if run.facts.interim.is_empty() {
            run.recorder.arrived_since_departure();
        }
        if !response.status().is_informational() {
            run.recorder.answered();
            return Ok(response);
        }
        run.facts.interim.push(response.status().as_u16());
        run.facts.header_bytes += head_size(response.headers());
        if run.facts.interim.len() > MAX_INTERIM {
            return Err(HttpError::TooManyInterim(MAX_INTERIM));
        }
    }
}

/// The read allowance of a stream. Without one, `h3` would gather a frame whole, however large it
/// is.
struct ReadAllowance<'a> {
    connection: &'a Connection,
    stream: u64,
}

impl ReadAllowance<'_> {
    fn renew(&self) {
        self.connection
            .set_read_allowance(self.stream, READ_ALLOWANCE);
    }

    fn is_spent(&self) -> bool {
        self.connection.is_allowance_spent(self.stream)
    }
}

async fn receive(
    mut stream: RequestStream<BidiStream, Bytes>,
    run: &mut RequestRun<'_>,
    allowance: &ReadAllowance<'_>,
) -> Result<(), HttpError> {
    let mut body = Body::new(run.facts, run.decode, run.sink);
    let outcome = loop {
        allowance.renew();
        match stream.recv_data().await {
            Ok(Some(mut chunk)) => {
                while chunk.has_remaining() {
                    let n = chunk.chunk().len();
                    body.take(chunk.chunk())?;
                    chunk.advance(n);
                }
            }
            Ok(None) => break Ok(()),
            Err(_) if allowance.is_spent() => {
                let why = format!("a frame is longer than {READ_ALLOWANCE} bytes");
                break Err(HttpError::H3(why));
            }
            Err(StreamError::RemoteTerminate { code, .. }) if code != Code::H3_REQUEST_REJECTED => {
                return Err(HttpError::BodyReset {
                    what: format!("stream ({code})"),
                    got: body.downloaded(),
                    expected: expected_length(body.facts),
                });
            }
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
    // The server acted on neither. RFC 9114 §4.1.1, §5.2.
    if rejected {
        HttpError::H3Rejected(error.to_string())
    } else {
        HttpError::H3(error.to_string())
    }
}
