//! HTTP/2 when the answer arrives before the task that asked runs again: the order of what left and
//! what came is kept.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use roundtrip_http::Connection;
use roundtrip_model::{Clock, Event, Moment, Recorder};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::requests::ask;

/// Each look at it is later than the one before.
#[derive(Default)]
struct Counter(AtomicU64);

impl Clock for Counter {
    fn now(&self) -> Moment {
        Moment(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// A server that answers the first flight it gets, at once.
struct ImmediateServer {
    recorder: Recorder,
    answer: Option<Vec<u8>>,
    /// Bytes that were written, and leave when they are flushed.
    gathered: u64,
    asked: bool,
    reader: Option<Waker>,
}

impl AsyncRead for ImmediateServer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let asked = self.asked;
        let Some(answer) = self.answer.take_if(|_| asked) else {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let bytes = answer.len() as u64;
        self.recorder.record(Event::Received { bytes });
        into.put_slice(&answer);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ImmediateServer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.gathered += data.len() as u64;
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let bytes = std::mem::take(&mut self.gathered);
        if bytes > 0 {
            self.recorder.record(Event::Sent { bytes });
            self.asked = true;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// SETTINGS, which are acknowledged, and `:status: 200` with the stream's end. RFC 9113 §6.5, RFC
/// 7541 appendix A.
const ANSWER: [u8; 19] = [
    0, 0, 0, 4, 0, 0, 0, 0, 0, //
    0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88,
];

#[tokio::test]
async fn a_request_left_before_its_answer_came() {
    let recorder = Recorder::new(Arc::new(Counter::default()));
    let server = ImmediateServer {
        recorder: recorder.clone(),
        answer: Some(ANSWER.to_vec()),
        gathered: 0,
        asked: false,
        reader: None,
    };
    let mut connection = Connection::h2(server).await.unwrap();
    let asked = ask(&mut connection, "GET", "http://localhost/", &recorder).await;
    let (outcome, facts, _) = asked;
    outcome.unwrap();
    assert_eq!(facts.status, 200);
    let timeline = recorder.snapshot();
    let first = |is: &dyn Fn(&Event) -> bool| timeline.first(is).unwrap();
    let left = first(&|e| *e == Event::RequestSent);
    assert_eq!(left, first(&|e| matches!(e, Event::Sent { .. })));
    assert_eq!(
        first(&|e| *e == Event::FirstByte),
        first(&|e| matches!(e, Event::Received { .. }))
    );
    let firsts = timeline.iter().filter(|(_, e)| *e == Event::FirstByte);
    assert_eq!(firsts.count(), 1);
}

/// SETTINGS; `:status: 200` and `content-length: 2`; two bytes, and no end of the stream. RFC 7541
/// appendix A.
const UNENDED: [u8; 34] = [
    0, 0, 0, 4, 0, 0, 0, 0, 0, //
    0, 0, 5, 1, 4, 0, 0, 0, 1, 0x88, 0x0f, 0x0d, 1, b'2', //
    0, 0, 2, 0, 0, 0, 0, 0, 1, b'o', b'k',
];

/// Proxies send the end of a stream in a separate packet, which the congestion window may hold back
/// for a round trip.
#[tokio::test]
async fn a_body_that_has_its_length_needs_no_end_of_the_stream() {
    let recorder = Recorder::new(Arc::new(Counter::default()));
    let server = ImmediateServer {
        recorder: recorder.clone(),
        answer: Some(UNENDED.to_vec()),
        gathered: 0,
        asked: false,
        reader: None,
    };
    let mut connection = Connection::h2(server).await.unwrap();
    let (outcome, facts, body) = ask(&mut connection, "GET", "http://localhost/", &recorder).await;
    outcome.unwrap();
    assert_eq!((facts.status, facts.downloaded), (200, 2));
    assert_eq!(body, b"ok");
}
