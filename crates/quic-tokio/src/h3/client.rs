//! The client's side of HTTP/3, over our own engine: sends requests.

use std::future::pending;
use std::task::{Context, Poll};

use roundtrip_wire::h3::{Code, ProtocolError, SectionLimits, Settings};
use roundtrip_wire::quic::Side;
use tokio::sync::watch;

use super::control::Control;
use super::own::ConnectionStreams;
use super::{H3Error, H3Transport, MessageSender, MessageStream};
use crate::{Connection, RecvStream, SendStream};

/// Sends requests on a connection.
#[derive(Clone)]
pub struct H3Requests {
    connection: Connection,
    limits: SectionLimits,
    server: watch::Receiver<ServerLimits>,
}

/// The limits that the server has announced on its control stream.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ServerLimits {
    /// The id in the server's GOAWAY.
    end: Option<u64>,
    /// The largest field section that the server accepts.
    max_section: u64,
}

/// Reads everything that the server sends besides responses. It must be polled as long as the
/// connection is in use; dropping it closes the connection.
pub struct H3Driver {
    control: Control<ConnectionStreams>,
    server: watch::Sender<ServerLimits>,
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
    let (sender, server) = watch::channel(ServerLimits {
        end: None,
        max_section: u64::MAX,
    });
    let requests = H3Requests {
        connection: connection.clone(),
        limits,
        server,
    };
    let driver = H3Driver {
        control,
        server: sender,
    };
    Ok((requests, driver))
}

impl H3Requests {
    /// Opens the stream of a request, as soon as the server allows one more. No stream is opened
    /// once the server has sent GOAWAY, whatever its id. RFC 9114 §5.2.
    pub async fn open(
        &self,
    ) -> Result<(MessageSender<SendStream>, MessageStream<RecvStream>), H3Error> {
        let opened = tokio::select! {
            biased;
            () = self.known(|server| server.end.is_some()) => return Err(H3Error::GoingAway),
            opened = self.connection.open_bi() => opened,
        };
        let (sending, receiving) = opened.map_err(crate::StreamError::from)?;
        let message = MessageStream::new(receiving, Side::Server, self.limits);
        let max_section = self.server.borrow().max_section;
        Ok((MessageSender::new(sending, max_section), message))
    }

    /// Whether the server has sent GOAWAY.
    pub fn is_going_away(&self) -> bool {
        self.server.borrow().end.is_some()
    }

    /// Whether the server's GOAWAY says that it does not process the request on this stream. RFC
    /// 9114 §5.2.
    pub fn is_rejected(&self, stream: u64) -> bool {
        self.server.borrow().rejects(stream)
    }

    /// Waits until [`is_rejected`](Self::is_rejected) is true: forever, if the connection ends
    /// before.
    pub async fn rejected(&self, stream: u64) {
        self.known(|server| server.rejects(stream)).await;
    }

    async fn known(&self, is_known: impl FnMut(&ServerLimits) -> bool) {
        let mut server = self.server.clone();
        if server.wait_for(is_known).await.is_err() {
            pending::<()>().await;
        }
    }
}

impl ServerLimits {
    fn rejects(&self, stream: u64) -> bool {
        self.end.is_some_and(|end| end <= stream)
    }
}

impl H3Driver {
    /// Ready when the connection has ended.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<H3Error> {
        let read = self.control.poll_read(cx);
        let limits = ServerLimits {
            end: self.control.goaway(),
            max_section: self.control.max_section(),
        };
        self.server
            .send_if_modified(|known| std::mem::replace(known, limits) != limits);
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
