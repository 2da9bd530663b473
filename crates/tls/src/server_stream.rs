//! A server's TLS connection over any byte stream, as `AsyncRead + AsyncWrite`.
//!
//! Reads drive the handshake; early data is read first, and can be answered at once if the
//! configuration has `send_half_rtt_data`. Writes are gathered until a flush or a read. It works on
//! rustls' unbuffered interface with buffers of the thread, so that a connection that waits holds
//! none.

mod buffers;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus, WriteTraffic,
};
use rustls::{CommonState, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::TlsError;
use buffers::{Plaintext, ReceivedRecords, SentRecords};

/// Encrypted bytes beyond this size are pushed to the socket without waiting for a flush.
const MAX_GATHERED: usize = 32 * 1024;
/// The largest number of bytes that are encrypted at once.
const MAX_WRITE: usize = 16 * 1024;
/// More bytes than encryption adds to `MAX_WRITE` bytes.
const OVERHEAD: usize = 256;

pub struct ServerStream<IO> {
    io: IO,
    tls: UnbufferedServerConnection,
    /// Bytes from the socket that TLS has not processed.
    incoming: ReceivedRecords,
    /// TLS bytes that are ready for the socket.
    outgoing: SentRecords,
    /// Decrypted bytes that have not been read yet.
    plain: Plaintext,
    took_early_data: bool,
    /// Whether TLS has failed, so that nothing more is processed.
    failed: bool,
    /// close_notify was sent.
    said_goodbye: bool,
    /// Whether the client has announced that it sends no more.
    is_ended: bool,
    /// Whether the socket has reached its end.
    closed: bool,
}

/// The data to encrypt.
#[derive(Debug, Clone, Copy)]
enum Written<'a> {
    Nothing,
    Data(&'a [u8]),
    CloseNotify,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> ServerStream<IO> {
    pub fn new(io: IO, config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        Self::after(io, config, Vec::new())
    }

    /// Like [`ServerStream::new`], if the first bytes have already been read from the socket.
    pub fn after(io: IO, config: Arc<ServerConfig>, first: Vec<u8>) -> Result<Self, TlsError> {
        Ok(Self {
            io,
            tls: UnbufferedServerConnection::new(config)?,
            incoming: ReceivedRecords::holding(first),
            outgoing: SentRecords::default(),
            plain: Plaintext::default(),
            took_early_data: false,
            failed: false,
            said_goodbye: false,
            is_ended: false,
            closed: false,
        })
    }

    /// Runs the handshake to its end.
    pub async fn handshake(&mut self) -> Result<(), TlsError> {
        poll_fn(|cx| self.poll_handshake(cx))
            .await
            .map_err(TlsError::from)
    }

    /// Runs the handshake until data can be read: to its end, or until early data is there and our
    /// answer is sent.
    pub async fn accept(&mut self) -> Result<(), TlsError> {
        poll_fn(|cx| self.poll_progress(cx, |stream| stream.took_early_data))
            .await
            .map_err(TlsError::from)
    }

    /// The negotiated parameters.
    pub fn connection(&self) -> &CommonState {
        &self.tls
    }

    /// Whether the handshake is unfinished; data that is read until then is early data, which can
    /// be a replay.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    pub fn get_ref(&self) -> &IO {
        &self.io
    }

    pub fn get_mut(&mut self) -> &mut IO {
        &mut self.io
    }

    /// Like [`ServerStream::handshake`], for polling.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_progress(cx, |_| false)
    }

    /// Sends close_notify, and leaves the stream below open. RFC 8446 §6.1.
    pub fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.said_goodbye, true) && !self.failed {
            self.drive(None, Written::CloseNotify)?;
        }
        self.poll_push(cx)
    }

    /// Goes on with the handshake to its end, or until it is `enough`.
    fn poll_progress(
        &mut self,
        cx: &mut Context<'_>,
        enough: impl Fn(&Self) -> bool,
    ) -> Poll<io::Result<()>> {
        while self.tls.is_handshaking() {
            self.process(cx, None, Written::Nothing)?;
            if !self.tls.is_handshaking() {
                break;
            }
            ready!(self.poll_push(cx))?;
            if enough(self) {
                break;
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Like [`Self::drive`]; after an error, also sends the alert if the socket accepts it now.
    fn process(
        &mut self,
        cx: &mut Context<'_>,
        into: Option<&mut ReadBuf<'_>>,
        written: Written<'_>,
    ) -> io::Result<bool> {
        if self.failed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.drive(into, written).inspect_err(|_| {
            self.failed = true;
            self.encode_alert();
            let _ = Pin::new(&mut self.io).poll_write(cx, self.outgoing.bytes());
            self.outgoing.give_back();
        })
    }

    /// Processes received bytes: plaintext goes to `into`, if given, and then to `plain`; TLS's own
    /// messages go to `outgoing`. Then encrypts `written`, and returns whether that was possible.
    fn drive(
        &mut self,
        mut into: Option<&mut ReadBuf<'_>>,
        written: Written<'_>,
    ) -> io::Result<bool> {
        loop {
            let bytes = self.incoming.bytes();
            let UnbufferedStatus {
                mut discard, state, ..
            } = self.tls.process_tls_records(bytes);
            let state = match state {
                Ok(state) => state,
                Err(error) => {
                    self.incoming.discard(discard);
                    return Err(invalid(error));
                }
            };
            let outcome = match state {
                ConnectionState::EncodeTlsData(mut encoding) => {
                    encode(&mut encoding, &mut self.outgoing)?;
                    None
                }
                ConnectionState::TransmitTlsData(transmitting) => {
                    transmitting.done();
                    None
                }
                ConnectionState::ReadTraffic(mut reading) => {
                    while let Some(record) = reading.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        self.plain.deliver(record.payload, into.as_deref_mut());
                    }
                    None
                }
                ConnectionState::ReadEarlyData(mut reading) => {
                    self.took_early_data = true;
                    while let Some(record) = reading.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        self.plain.deliver(record.payload, into.as_deref_mut());
                    }
                    None
                }
                ConnectionState::PeerClosed => {
                    self.is_ended = true;
                    None
                }
                ConnectionState::WriteTraffic(mut writing) => {
                    encrypt(&mut writing, written, &mut self.outgoing)?;
                    Some(true)
                }
                _ => Some(false),
            };
            self.incoming.discard(discard);
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    /// Takes what TLS has to send after an error: earlier messages, and the alert. TLS returns
    /// these before it looks at received bytes, which must not be processed twice.
    fn encode_alert(&mut self) {
        while self.tls.wants_write() {
            let status = self.tls.process_tls_records(self.incoming.bytes());
            let Ok(ConnectionState::EncodeTlsData(mut encoding)) = status.state else {
                return;
            };
            // If this fails, the client gets no alert, and so learns no reason.
            if encode(&mut encoding, &mut self.outgoing).is_err() {
                return;
            }
        }
    }

    /// Writes all pending TLS bytes to the socket.
    fn poll_push(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.poll_write_to(cx, &mut self.io)
    }

    /// Reads from the socket. Returns 0 at its end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let count = ready!(self.incoming.poll_fill(cx, &mut self.io))?;
        self.closed |= count == 0;
        Poll::Ready(Ok(count))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for ServerStream<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if into.remaining() == 0 || this.plain.read(into) {
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        loop {
            let processed = this.process(cx, Some(into), Written::Nothing);
            // The next read returns the error.
            if into.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            processed?;
            // A clean end (close_notify).
            if this.is_ended {
                return Poll::Ready(Ok(()));
            }
            if this.closed {
                // Truncation without close_notify: HTTP's framing shows whether anything is
                // missing.
                return Poll::Ready(if this.tls.is_handshaking() {
                    Err(io::ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(())
                });
            }
            // A full socket must not prevent reading: two peers that both write would deadlock.
            let pushed = this.poll_push(cx);
            let filled = this.poll_fill(cx);
            if let Poll::Ready(Err(error)) = pushed {
                // The peer can have closed for reading and still have sent the reason.
                this.outgoing.give_back();
                if ready!(filled).is_err() {
                    return Poll::Ready(Err(error));
                }
                continue;
            }
            ready!(filled)?;
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ServerStream<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if this.outgoing.bytes().len() >= MAX_GATHERED {
            ready!(this.poll_push(cx))?;
        }
        let data = data.get(..MAX_WRITE).unwrap_or(data);
        while !this.process(cx, None, Written::Data(data))? {
            if !this.tls.is_handshaking() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            ready!(this.poll_push(cx))?;
            if ready!(this.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_push(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_close_notify(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

fn encode(
    encoding: &mut EncodeTlsData<'_, ServerConnectionData>,
    outgoing: &mut SentRecords,
) -> io::Result<()> {
    outgoing.append(0, |room| {
        encoding.encode(room).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => Some(size),
            EncodeError::AlreadyEncoded => None,
        })
    })
}

fn encrypt(
    writing: &mut WriteTraffic<'_, ServerConnectionData>,
    written: Written<'_>,
    outgoing: &mut SentRecords,
) -> io::Result<()> {
    let guess = match written {
        Written::Nothing => return Ok(()),
        Written::Data(data) => data.len() + OVERHEAD,
        Written::CloseNotify => OVERHEAD,
    };
    outgoing.append(guess, |room| {
        let encrypted = match written {
            Written::Data(data) => writing.encrypt(data, room),
            _ => writing.queue_close_notify(room),
        };
        encrypted.map_err(|error| match error {
            EncryptError::InsufficientSize(size) => Some(size),
            EncryptError::EncryptExhausted => None,
        })
    })
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
