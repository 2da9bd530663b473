//! The client's side of HTTP/3, over our own engine: sends requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use roundtrip_wire::h3::{Code, ProtocolError, SectionLimits, Settings};
use roundtrip_wire::quic::Side;

use super::control::Control;
use super::own::ConnectionStreams;
use super::{H3Error, H3Transport, MessageSender, MessageStream};
use crate::{Connection, RecvStream, SendStream};

/// Sends requests on a connection.
#[derive(Clone)]
pub struct H3Requests {
    connection: Connection,
    limits: SectionLimits,
    server: Arc<ServerLimits>,
}

/// The limits that the server has announced on its control stream.
struct ServerLimits {
    /// The id in its GOAWAY, or the largest number.
    end: AtomicU64,
    /// The largest field section that it accepts.
    max_section: AtomicU64,
}

/// Reads everything that the server sends besides responses. It must be polled as long as the
/// connection is in use; dropping it closes the connection.
pub struct H3Driver {
    control: Control<ConnectionStreams>,
    server: Arc<ServerLimits>,
}

/// Starts HTTP/3 on a connection, and announces the largest field section. Responses are read
/// within the limits.
pub async fn connect(
    connection: &Connection,
    limits: SectionLimits,
) -> Result<(H3Requests, H3Driver), H3Error> {
    let settings = Settings {
        max_field_section_size: Some(limits.size as u64),
    };
    let transport = ConnectionStreams::new(connection);
    let control = Control::open(transport, Side::Server, settings).await?;
    let server = Arc::new(ServerLimits {
        end: AtomicU64::new(u64::MAX),
        max_section: AtomicU64::new(u64::MAX),
    });
    let requests = H3Requests {
        connection: connection.clone(),
        limits,
        server: server.clone(),
    };
    Ok((requests, H3Driver { control, server }))
}

impl H3Requests {
    /// Opens the stream of a request, as soon as the server allows one more.
    pub async fn open(
        &self,
    ) -> Result<(MessageSender<SendStream>, MessageStream<RecvStream>), H3Error> {
        if self.is_rejected(0) {
            return Err(H3Error::GoingAway);
        }
        let opened = self.connection.open_bi().await;
        let (sending, receiving) = opened.map_err(crate::StreamError::from)?;
        if self.is_rejected(sending.id()) {
            return Err(H3Error::GoingAway);
        }
        let message = MessageStream::new(receiving, Side::Server, self.limits);
        let max_section = self.server.max_section.load(Ordering::Relaxed);
        Ok((MessageSender::new(sending, max_section), message))
    }

    /// Whether the server's GOAWAY says that it does not process the request on this stream. RFC
    /// 9114 §5.2.
    pub fn is_rejected(&self, stream: u64) -> bool {
        self.server.end.load(Ordering::Relaxed) <= stream
    }
}

impl H3Driver {
    /// Ready when the connection has ended.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<H3Error> {
        let read = self.control.poll_read(cx);
        if let Some(id) = self.control.goaway() {
            self.server.end.store(id, Ordering::Relaxed);
        }
        let max_section = self.control.max_section();
        self.server
            .max_section
            .store(max_section, Ordering::Relaxed);
        if read.is_ready() {
            return read;
        }
        match self.control.transport.poll_accept_bi(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(error.into()),
            // RFC 9114 §6.1.
            Poll::Ready(Ok(_)) => Poll::Ready(self.control.refuse(ProtocolError {
                code: Code::H3_STREAM_CREATION_ERROR,
                why: "a bidirectional stream that the server opened",
            })),
        }
    }
}
