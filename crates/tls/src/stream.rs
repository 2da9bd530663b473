//! A client's TLS connection over any byte stream, as `AsyncRead + AsyncWrite`.
//!
//! Writes are gathered until a flush or a read, so that each flight leaves in one write. A client
//! that can send early data writes it before the handshake is done; if the server refuses it, the
//! same bytes are sent again as ordinary data.

mod async_io;
mod buffers;
mod early;
mod observer;

use std::future::poll_fn;
use std::io::{self, BufRead, Write};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use roundtrip_model::{Event, Recorder, TlsFacts};
use rustls::{ClientConnection, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::framing::first_record_length;
use crate::{RecordingVerifier, TlsError, handshake_facts, intercept};
use buffers::{EmptyReader, Incoming, Outgoing};
use early::Early;
use observer::{Observer, TlsByteCounts};

/// Plaintext beyond this size is pushed to the socket without waiting for a flush.
const MAX_GATHERED: usize = 32 * 1024;
/// The initial size of rustls' read buffer. More bytes than this at once count as bulk.
const BULK_THRESHOLD: usize = 4096;
/// The complete ChangeCipherSpec record.
const CHANGE_CIPHER_SPEC: [u8; 6] = [20, 3, 3, 0, 1, 1];

pub struct Stream<IO> {
    io: IO,
    tls: Connection,
    /// TLS bytes that are ready for the socket.
    outgoing: Outgoing,
    /// Bytes from the socket that have not been passed to TLS: it accepts none while plaintext
    /// waits to be read.
    incoming: Incoming,
    early: Early,
    /// Whether a read has already waited once for pending writes.
    has_waited: bool,
    observer: Option<Observer>,
    established: bool,
    closed: bool,
    /// Whether bulk data has arrived since the last read that found nothing.
    bulky: bool,
    counts: TlsByteCounts,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Stream<IO> {
    /// Makes a client's stream. The configuration and the ticket determine whether early data is
    /// possible.
    pub fn client(
        io: IO,
        mut tls: ClientConnection,
        recorder: Recorder,
        verifier: Option<Arc<RecordingVerifier>>,
    ) -> Self {
        let early = if tls.early_data().is_some() {
            Early::Open(Vec::new())
        } else {
            Early::Off
        };
        let observer = Observer::new(recorder, verifier);
        Self::new(io, tls.into(), early, Some(observer))
    }

    /// Makes a client's stream that records nothing and sends no early data.
    pub(crate) fn unobserved(io: IO, tls: ClientConnection) -> Self {
        Self::new(io, tls.into(), Early::Off, None)
    }

    fn new(io: IO, tls: Connection, early: Early, observer: Option<Observer>) -> Self {
        Self {
            io,
            tls,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            early,
            has_waited: false,
            observer,
            established: false,
            closed: false,
            bulky: false,
            counts: TlsByteCounts::default(),
        }
    }

    /// Runs the handshake to its end. A client's last flight can still wait for the request that
    /// follows it.
    pub async fn handshake(&mut self) -> Result<(), TlsError> {
        poll_fn(|cx| self.poll_handshake(cx))
            .await
            .map_err(TlsError::from)
    }

    pub fn connection(&self) -> &Connection {
        &self.tls
    }

    /// Whether a request can be written before the handshake is done.
    pub fn takes_early_data(&mut self) -> bool {
        match (&self.early, &mut self.tls) {
            (Early::Open(_), Connection::Client(tls)) => {
                tls.early_data().is_some_and(|e| e.bytes_left() > 0)
            }
            _ => false,
        }
    }

    /// Whether the server accepted the early data; `None` until it has answered.
    pub fn early_data_accepted(&self) -> Option<bool> {
        match &self.early {
            Early::Over { accepted } => Some(*accepted),
            Early::Off | Early::Open(_) => None,
        }
    }

    /// Whether the handshake is unfinished.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// The cell that receives the facts of a client's handshake when it is complete, even after the
    /// stream was dropped.
    pub fn facts(&self) -> Arc<OnceLock<TlsFacts>> {
        self.observer
            .as_ref()
            .map(|o| o.facts.clone())
            .unwrap_or_default()
    }

    /// Whether the stream ended without close_notify. If so, a message whose end is not marked
    /// otherwise is incomplete. RFC 8446 §6.1, RFC 9112 §9.8.
    pub fn is_cut(&mut self) -> bool {
        let end = self.tls.reader().fill_buf().map(<[u8]>::len);
        self.closed && matches!(end, Err(e) if e.kind() == io::ErrorKind::UnexpectedEof)
    }

    pub fn get_ref(&self) -> &IO {
        &self.io
    }

    pub fn get_mut(&mut self) -> &mut IO {
        &mut self.io
    }

    /// Like [`Stream::handshake`], for polling.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.is_handshaking() {
            ready!(self.poll_push(cx))?;
            if !self.tls.is_handshaking() {
                break;
            }
            if ready!(self.poll_pull(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends close_notify, and leaves the stream below open. RFC 8446 §6.1.
    pub fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tls.send_close_notify();
        self.poll_push(cx)
    }

    /// Writes all pending TLS bytes to the socket.
    fn poll_push(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.gather()?;
        let outgoing = self.outgoing.bytes();
        // That record is only for compatibility with middleboxes: it leaves with the flight it
        // belongs to. RFC 8446 §D.4.
        if outgoing == CHANGE_CIPHER_SPEC && self.tls.is_handshaking() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.outgoing.poll_write_to(cx, &mut self.io))?;
        self.settle_facts();
        if let Some(observer) = &mut self.observer {
            observer.prepare();
        }
        Poll::Ready(Ok(()))
    }

    fn gather(&mut self) -> io::Result<()> {
        let before = self.outgoing.bytes().len();
        if self.tls.wants_write() {
            let room = self.outgoing.room();
            while self.tls.wants_write() {
                self.tls.write_tls(room)?;
            }
        }
        if !self.established {
            let outgoing = self.outgoing.bytes();
            self.counts.sent += (outgoing.len() - before) as u64;
            if self.counts.client_hello == 0 {
                self.counts.client_hello = first_record_length(outgoing);
            }
        }
        Ok(())
    }

    /// Lets TLS process received bytes; if there are none, reads from the socket first. Returns 0
    /// at the end of the stream.
    fn poll_pull(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.incoming.is_empty() && ready!(self.poll_fill(cx))? == 0 {
            self.closed = true;
            self.tls.read_tls(&mut io::empty())?;
            return Poll::Ready(Ok(0));
        }
        let n = self.tls.read_tls(&mut self.incoming)?;
        let outcome = match &self.observer {
            Some(observer) if !self.established => {
                observer.timed(|| intercept::process(&mut self.tls))
            }
            _ => intercept::process(&mut self.tls),
        };
        if let Err(error) = outcome {
            self.write_facts();
            self.send_alert(cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        self.notice_established()?;
        Poll::Ready(Ok(n))
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let outcome = self.incoming.poll_fill(cx, &mut self.io);
        if let Some(Observer {
            recorder, framing, ..
        }) = &mut self.observer
        {
            match &outcome {
                Poll::Pending => framing.ran_dry(recorder),
                Poll::Ready(_) => framing.took(self.incoming.waiting(), recorder),
            }
        }
        if outcome.is_pending() && std::mem::take(&mut self.bulky) {
            // An empty read makes rustls free the memory that larger records took.
            let _ = self.tls.read_tls(&mut EmptyReader);
        }
        let n = ready!(outcome)?;
        self.bulky |= n > BULK_THRESHOLD;
        if !self.established {
            self.counts.received += n as u64;
        }
        Poll::Ready(Ok(n))
    }

    /// Sends the alert with the reason for the end of the connection, if the socket accepts it now.
    fn send_alert(&mut self, cx: &mut Context<'_>) {
        if self.gather().is_ok() {
            let _ = Pin::new(&mut self.io).poll_write(cx, self.outgoing.bytes());
        }
        self.outgoing.give_back();
    }

    fn notice_established(&mut self) -> io::Result<()> {
        if self.established || self.tls.is_handshaking() {
            return Ok(());
        }
        self.gather()?;
        self.established = true;
        if let Some(observer) = &self.observer {
            observer.recorder.record(Event::HandshakeFinished);
        }
        if let (Early::Open(sent), Connection::Client(tls)) = (&mut self.early, &mut self.tls) {
            let accepted = tls.is_early_data_accepted();
            let sent = std::mem::take(sent);
            let used = !sent.is_empty();
            if used && !accepted {
                if let Some(observer) = &self.observer {
                    observer.recorder.record(Event::EarlyDataRefused);
                }
                tls.set_buffer_limit(None);
                tls.writer().write_all(&sent)?;
            }
            self.early = if used {
                Early::Over { accepted }
            } else {
                Early::Off
            };
        }
        Ok(())
    }

    /// Reads plaintext that is available.
    fn read_plain(&mut self, into: &mut ReadBuf<'_>) -> io::Result<usize> {
        let mut reader = self.tls.reader();
        let mut n = 0;
        loop {
            match reader.fill_buf() {
                Ok(chunk) => {
                    let chunk = chunk.get(..into.remaining()).unwrap_or(chunk);
                    if chunk.is_empty() {
                        return Ok(n);
                    }
                    into.put_slice(chunk);
                    let taken = chunk.len();
                    reader.consume(taken);
                    n += taken;
                }
                // The next read reports the error.
                Err(_) if n > 0 => return Ok(n),
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes plaintext to TLS: as early data while that is possible, otherwise after the
    /// handshake.
    fn poll_take(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if let (Early::Open(sent), Connection::Client(tls)) = (&mut self.early, &mut self.tls)
            && let Some(mut early) = tls.early_data()
        {
            let n = early.write(data)?;
            if n > 0 {
                sent.extend_from_slice(data.get(..n).unwrap_or_default());
                return Poll::Ready(Ok(n));
            }
        }
        ready!(self.poll_handshake(cx))?;
        loop {
            let n = self.tls.writer().write(data)?;
            if n > 0 {
                return Poll::Ready(Ok(n));
            }
            ready!(self.poll_push(cx))?;
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Stream<IO> {
    /// Keeps rustls' own buffer from filling up: encrypted records wait in ours. An open early-data
    /// flight stays in one piece.
    fn gather_if_large(&mut self) -> io::Result<()> {
        if self.established {
            self.gather()
        } else {
            Ok(())
        }
    }
}

impl<IO> Stream<IO> {
    /// Records the facts of a finished handshake: after the flight that ends it, so as not to delay
    /// it, and before the first answer is returned.
    fn settle_facts(&self) {
        if self.established {
            self.write_facts();
        }
    }

    fn write_facts(&self) {
        let Some(observer) = &self.observer else {
            return;
        };
        observer.facts.get_or_init(|| {
            let mut facts = handshake_facts(&self.tls, observer.verifier.as_deref());
            facts.early_data = self.early.fact();
            facts.client_hello_bytes = self.counts.client_hello;
            facts.bytes_sent = self.counts.sent;
            facts.bytes_received = self.counts.received;
            facts
        });
    }
}

impl<IO> Drop for Stream<IO> {
    /// The facts are wanted even if nothing was read or written after the handshake.
    fn drop(&mut self) {
        self.settle_facts();
    }
}
