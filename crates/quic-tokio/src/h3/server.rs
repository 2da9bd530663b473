//! The server's side of HTTP/3: accepts requests.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_wire::h3::{Code, SectionLimits, Settings, goaway};
use roundtrip_wire::quic::Side;

use super::control::Control;
use super::{H3Error, H3Receiving, H3Sending, H3Transport, MessageSender, MessageStream};

/// The ids of a client's requests are multiples of this. RFC 9000 §2.1.
const STEP: u64 = 4;
const LAST: u64 = (1 << 62) - STEP;

/// The server's side of a connection. Dropping it closes the connection.
///
/// Some task must always be waiting in [`accept`](Self::accept), because that reads the control
/// streams.
pub struct H3Server<T: H3Transport> {
    control: Control<T>,
    limits: SectionLimits,
    /// The lowest id above the ids of all accepted requests.
    next: u64,
    /// The id in our GOAWAY: no request with this id or a higher one is accepted.
    end: Option<u64>,
}

/// A request whose head is still to be read, and the sender of its answer.
pub type Accepted<T> = (
    MessageSender<<T as H3Transport>::Sending>,
    MessageStream<<T as H3Transport>::Receiving>,
);

impl<T: H3Transport> H3Server<T> {
    /// Announces the largest field section. Requests are read within the limits.
    pub async fn start(transport: T, limits: SectionLimits) -> Result<Self, H3Error> {
        let settings = Settings {
            max_field_section_size: Some(limits.size as u64),
        };
        Ok(Self {
            control: Control::open(transport, Side::Client, settings).await?,
            limits,
            next: 0,
            end: None,
        })
    }

    /// Waits for the next request. An error ends the connection. Requests beyond our GOAWAY are
    /// rejected.
    pub async fn accept(&mut self) -> Result<Accepted<T>, H3Error> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    pub fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Result<Accepted<T>, H3Error>> {
        if let Poll::Ready(error) = self.control.poll_read(cx) {
            return Poll::Ready(Err(error));
        }
        loop {
            let (mut sending, mut receiving) = match self.control.transport.poll_accept_bi(cx) {
                Poll::Ready(Ok(stream)) => stream,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => return Poll::Pending,
            };
            if self.end.is_some_and(|end| sending.id() >= end) {
                receiving.stop(Code::H3_REQUEST_REJECTED);
                sending.reset(Code::H3_REQUEST_REJECTED);
                continue;
            }
            self.next = self.next.max(sending.id() + STEP);
            self.control.on_request();
            let message = MessageStream::new(receiving, Side::Client, self.limits);
            let sender = MessageSender::new(sending, self.control.max_section());
            return Poll::Ready(Ok((sender, message)));
        }
    }

    /// Sends a GOAWAY that no request exceeds: the client begins no others, and those under way are
    /// answered. [`go_away`](Self::go_away) follows when they have had time to arrive. RFC 9114
    /// §5.2.
    pub async fn announce_end(&mut self) -> Result<(), H3Error> {
        self.send_goaway(LAST).await
    }

    /// Sends GOAWAY: requests that were accepted are answered, and no others are. RFC 9114 §5.2.
    pub async fn go_away(&mut self) -> Result<(), H3Error> {
        let end = *self.end.get_or_insert(self.next);
        self.send_goaway(end).await
    }

    async fn send_goaway(&mut self, id: u64) -> Result<(), H3Error> {
        let mut frame = Bytes::from(goaway(id));
        poll_fn(|cx| self.control.poll_send(cx, &mut frame)).await
    }
}
