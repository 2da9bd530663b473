//! One exchange over a shared connection, with the interface of a separate connection. If it is
//! dropped before its end, the stream is reset.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{Reason, SendStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::answer::UpstreamAnswer;
use super::head::{self, RequestFraming};
use super::{StreamPlace, broken, invalid, leaves, was_not_processed};
use crate::forward::h1::Trailers;

/// Gate writes the heads itself, and they are smaller.
const MAX_HEAD: usize = 1024 * 1024;
/// The largest number of bytes of a body that are taken at once.
const PIECE: usize = 16 * 1024;

pub(crate) struct H2Stream {
    up: UploadState,
    /// Data of the body that is still to be sent.
    pending: BytesMut,
    answer: UpstreamAnswer,
    secure: bool,
    is_first: bool,
    place: StreamPlace,
}

enum UploadState {
    /// The part of the head that has been written.
    Head(SendRequest<Bytes>, Vec<u8>),
    Body(SendStream<Bytes>, RequestFraming),
    /// The body is complete; its end follows the pending bytes.
    Ending(SendStream<Bytes>, Trailers),
    /// Everything was sent, or the server does not want the rest.
    Done,
}

impl H2Stream {
    pub(super) fn new(
        send: SendRequest<Bytes>,
        secure: bool,
        is_first: bool,
        place: StreamPlace,
    ) -> Self {
        Self {
            up: UploadState::Head(send, Vec::new()),
            pending: BytesMut::new(),
            answer: UpstreamAnswer::default(),
            secure,
            is_first,
            place,
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether a request that was not processed waits again like a new one. If the connection has
    /// carried no other request, or carries none now, the server may refuse every request.
    pub(crate) fn may_wait_again(&self, why: &io::Error) -> bool {
        let is_alone = self.place.standing().streams() <= 1;
        was_not_processed(why) && !self.is_first && (leaves(why) || !is_alone)
    }

    /// Ends the exchange after a complete answer. The stream counts until its end has come.
    pub(crate) fn end(self) {
        if !self.answer.is_ended() && matches!(self.up, UploadState::Done) {
            let (answer, place) = (self.answer, self.place);
            tokio::spawn(async move {
                answer.end().await;
                drop(place);
            });
        }
    }

    /// Marks the connection as unusable for others: the server did not answer, so the connection
    /// may be dead.
    pub(crate) fn blame(&self) {
        self.place.standing().suspect();
    }

    /// Ends the exchange after the server has refused the stream.
    pub(crate) fn refused(self) {
        self.place.refused();
    }

    /// Whether the failure of this exchange was counted already, because the end of the shared
    /// connection failed an earlier one. Marks the connection as counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.place.standing().is_counted()
    }

    /// Takes what has arrived of the answer, while the client takes nothing: otherwise what this
    /// stream leaves in the library would make it end the connection, which other streams share.
    pub(crate) fn gather(&mut self, cx: &mut Context<'_>) {
        self.answer.gather(cx, self.place.standing());
    }

    /// Sends a request without a body, and reads the status.
    pub(super) async fn status(mut self, request: &[u8]) -> io::Result<u16> {
        self.write_all(request).await?;
        let mut line = [0; "HTTP/1.1 200".len()];
        self.read_exact(&mut line).await?;
        let digits = line.get("HTTP/1.1 ".len()..).unwrap_or_default();
        let status = std::str::from_utf8(digits)
            .ok()
            .and_then(|d| d.parse().ok());
        status.ok_or_else(|| invalid("no status"))
    }

    fn take_head(&mut self, data: &[u8]) -> io::Result<usize> {
        let UploadState::Head(send, head) = &mut self.up else {
            return Ok(0);
        };
        let before = head.len();
        head.extend_from_slice(data);
        if head.len() > MAX_HEAD {
            return Err(invalid("the head is too large"));
        }
        let Some((request, framing, length)) = head::request(head, self.secure)? else {
            return Ok(data.len());
        };
        let whole = matches!(framing, RequestFraming::None);
        let (response, body) = send.send_request(request, whole).map_err(broken)?;
        self.answer.begin(response);
        self.up = if whole {
            UploadState::Done
        } else {
            UploadState::Body(body, framing)
        };
        Ok(length.saturating_sub(before))
    }

    fn take_body(&mut self, data: &[u8]) -> io::Result<usize> {
        let piece = data.get(..data.len().min(PIECE)).unwrap_or_default();
        let UploadState::Body(_, framing) = &mut self.up else {
            return Err(invalid("the body is longer than announced"));
        };
        let mut trailers = Trailers::default();
        let (used, whole) = match framing {
            RequestFraming::None => return Err(invalid("there is no body")),
            RequestFraming::Length(left) => {
                let here = piece
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                self.pending
                    .extend_from_slice(piece.get(..here).unwrap_or_default());
                *left -= here as u64;
                (here, *left == 0)
            }
            RequestFraming::Chunked(coding) => {
                let pending = &mut self.pending;
                let used = coding.take(piece, |data| pending.extend_from_slice(data));
                let used = used.map_err(|_| invalid("the chunks are malformed"))?;
                trailers = coding.trailers();
                (used, coding.is_done())
            }
        };
        if whole
            && let UploadState::Body(body, _) = std::mem::replace(&mut self.up, UploadState::Done)
        {
            self.up = UploadState::Ending(body, trailers);
        }
        Ok(used)
    }

    /// Passes bytes to the connection as far as it has room.
    fn poll_push(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let none = &Trailers::default();
            let (body, ending, trailers) = match &mut self.up {
                UploadState::Body(body, _) => (body, false, none),
                UploadState::Ending(body, trailers) => (body, true, &*trailers),
                UploadState::Head(..) | UploadState::Done => return Poll::Ready(Ok(())),
            };
            if self.pending.is_empty() {
                if ending {
                    let ended = if trailers.is_empty() {
                        body.send_data(Bytes::new(), true)
                    } else {
                        body.send_trailers(trailers.map())
                    };
                    self.up = UploadState::Done;
                    return Poll::Ready(ended.map_err(broken));
                }
                return Poll::Ready(Ok(()));
            }
            body.reserve_capacity(self.pending.len());
            let room = match ready!(body.poll_capacity(cx)) {
                Some(Ok(room)) => room.min(self.pending.len()),
                // RFC 9113 §8.1: the answer is complete without the rest of the request.
                Some(Err(error)) if error.reason() == Some(Reason::NO_ERROR) => {
                    return self.let_go();
                }
                None => return self.let_go(),
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            };
            let data = self.pending.split_to(room).freeze();
            let last = ending && self.pending.is_empty() && trailers.is_empty();
            let sent = body.send_data(data, last);
            if last {
                self.up = UploadState::Done;
            }
            sent.map_err(broken)?;
        }
    }

    /// Discards the rest of the body.
    fn let_go(&mut self) -> Poll<io::Result<()>> {
        self.pending.clear();
        self.up = UploadState::Done;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for H2Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(this.poll_push(cx))?;
        let used = match &this.up {
            UploadState::Head(..) => this.take_head(data)?,
            UploadState::Done => data.len(),
            UploadState::Body(..) | UploadState::Ending(..) => this.take_body(data)?,
        };
        // The rest is sent at the next call.
        if let Poll::Ready(pushed) = this.poll_push(cx) {
            pushed?;
        }
        Poll::Ready(Ok(used))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_push(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl AsyncRead for H2Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.answer.poll_read(cx, into, this.place.standing())
    }
}
