//! The half of a stream that is read.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_quic::{Connection, Peek, ReadError, StreamId};

use crate::connection_wakers::Berth;
use crate::sections::Sections;
use crate::{Link, RequestError, SectionLimits, StreamError};

/// As much is read at once.
const PIECE: usize = 256 << 10;
/// Whoever lets go of a stream wants no more of it. RFC 9114 §8.1: H3_NO_ERROR.
const ENOUGH: u64 = 0x100;
/// RFC 9114 §8.1: H3_MESSAGE_ERROR.
const MALFORMED: u64 = 0x10e;

/// Let go of before its end was read, the peer is asked to send no more.
pub struct Receiving {
    link: Link,
    id: StreamId,
    /// Its end was read, or it was stopped.
    settled: bool,
    /// Of a request whose field sections are looked at.
    sections: Option<Box<Sections>>,
}

impl Receiving {
    /// Of which so much may be read, until more is allowed; none: all of it.
    pub(crate) fn new(link: &Link, id: StreamId, allowance: Option<u64>) -> Self {
        link.note(|berth| berth.add_receiver(id, allowance.unwrap_or(u64::MAX)));
        Self {
            link: link.clone(),
            id,
            settled: false,
            sections: None,
        }
    }

    /// What comes is passed on as a request whose field sections are sound.
    pub(crate) fn check(&mut self, limits: SectionLimits) {
        self.sections = Some(Box::new(Sections::new(limits)));
    }

    pub fn id(&self) -> u64 {
        self.id.0
    }

    /// The next bytes, never none of them; `None` is the end.
    pub async fn read(&mut self) -> Result<Option<Bytes>, StreamError> {
        poll_fn(|cx| self.poll_read(cx)).await
    }

    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        loop {
            if let Some(error) = self.sections.as_ref().and_then(|s| s.refused()) {
                self.refuse(error);
                return Poll::Ready(Err(error.into()));
            }
            let read = match self.poll_next(cx) {
                Poll::Ready(read) => read?,
                Poll::Pending => return Poll::Pending,
            };
            let Some(sections) = &mut self.sections else {
                return Poll::Ready(Ok(read));
            };
            let Some(bytes) = read else {
                let rest = Some(sections.rest()).filter(|rest| !rest.is_empty());
                return Poll::Ready(Ok(rest));
            };
            let passed = sections.take(bytes);
            // Of trailers whoever reads so far is told.
            if let Some(error) = sections.refused_at_once() {
                self.refuse(error);
            }
            if !passed.is_empty() {
                return Poll::Ready(Ok(Some(passed)));
            }
        }
    }

    /// What comes next, as it comes.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        if self.settled {
            return Poll::Ready(Ok(None));
        }
        let id = self.id;
        let polled = match self.link.act(|c, berth, _| read(c, berth, id, cx)) {
            Ok(polled) => polled,
            Err(reason) => Poll::Ready(Err(reason.into())),
        };
        if let Poll::Ready(Ok(None) | Err(StreamError::Reset(_) | StreamError::Over)) = &polled {
            self.settled = true;
        }
        polled
    }

    fn refuse(&mut self, error: RequestError) {
        let id = self.id;
        self.link.note(|berth| {
            if let Some(receiver) = berth.receiver(id) {
                receiver.refused = Some(error);
            }
        });
        match error.connection_code() {
            Some(code) => self.link.close(code, b""),
            None if error.can_be_answered() => {}
            None => self.stop(MALFORMED),
        }
    }

    /// Asks the peer to send no more.
    pub fn stop(&mut self, code: u64) {
        if !self.settled {
            self.settled = true;
            let id = self.id;
            // Where it is over, nothing more comes.
            let _ = self.link.act(|connection, _, _| connection.stop(id, code));
        }
    }
}

fn read(
    connection: &mut Connection,
    berth: &mut Berth,
    id: StreamId,
    cx: &Context<'_>,
) -> Poll<Result<Option<Bytes>, StreamError>> {
    let Some(receiver) = berth.receiver(id) else {
        return Poll::Ready(Err(StreamError::Over));
    };
    // By halves: what is allowed for a frame and its content is not used up by a read that finds both.
    let most = usize::try_from(receiver.allowance.div_ceil(2)).unwrap_or(usize::MAX);
    let bytes = match connection.peek(id) {
        Ok(Peek::Bytes(_)) if most == 0 => return Poll::Ready(Err(StreamError::TooMuch)),
        Ok(Peek::Bytes(bytes)) => {
            let length = bytes.len().min(PIECE).min(most);
            Bytes::copy_from_slice(bytes.get(..length).unwrap_or_default())
        }
        Ok(Peek::Blocked) => {
            receiver.wait(cx);
            return Poll::Pending;
        }
        Ok(Peek::End) => return Poll::Ready(Ok(None)),
        Err(ReadError::Reset(code)) => return Poll::Ready(Err(StreamError::Reset(code))),
        Err(ReadError::Unknown) => return Poll::Ready(Err(StreamError::Over)),
    };
    if receiver.allowance != u64::MAX {
        receiver.allowance -= bytes.len() as u64;
    }
    connection.consume(id, bytes.len());
    Poll::Ready(Ok(Some(bytes)))
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.stop(ENOUGH);
        let id = self.id;
        self.link.note(|berth| berth.remove_receiver(id));
    }
}

impl fmt::Debug for Receiving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiving").field(&self.id.0).finish()
    }
}
