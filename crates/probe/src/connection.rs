//! An open connection with the facts about it, and the one that is kept for the next request.

use std::time::Duration;

use roundtrip_http::{ByteStream, Connection, HttpError, OnEnded, Opened, RequestRun, Transport};
use roundtrip_model::{
    KeptFacts, NotKept, Origin, QuicFacts, Recorder, Target, TcpFacts, TlsFacts,
};

/// An open connection to one origin.
pub(crate) struct OpenConnection {
    connection: Connection,
    recorder: Recorder,
    transport: Transport,
    origin: Origin,
    has_early_data: bool,
    proxy_status: u16,
    beyond: Option<Duration>,
}

impl OpenConnection {
    /// `proxy_status` is the status of the answer to CONNECT, or zero.
    pub(crate) fn new(
        opened: Opened,
        target: &Target,
        recorder: &Recorder,
        proxy_status: u16,
    ) -> Self {
        Self {
            connection: opened.connection,
            recorder: recorder.clone(),
            transport: opened.transport,
            origin: target.origin(),
            has_early_data: opened.early_data,
            proxy_status,
            beyond: None,
        }
    }

    pub(crate) async fn exchange(&mut self, turn: RequestRun<'_>) -> Result<(), HttpError> {
        self.connection.exchange(turn).await
    }

    pub(crate) async fn exchange_all(
        &mut self,
        turns: Vec<RequestRun<'_>>,
        ended: &mut OnEnded<'_>,
    ) {
        self.connection.exchange_all(turns, ended).await;
    }

    /// Whether the connection carries several requests at once.
    pub(crate) fn has_streams(&self) -> bool {
        self.connection.has_streams()
    }

    /// Returns the byte stream below HTTP/1.1, which nothing reads between requests.
    pub(crate) fn stream(&mut self) -> Option<&mut dyn ByteStream> {
        self.connection.stream()
    }

    pub(crate) async fn close(self) {
        self.connection.close().await;
    }

    /// Returns the recorder that records the bytes of this connection.
    pub(crate) fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Whether the connection's first request leaves as early data.
    pub(crate) fn has_early_data(&self) -> bool {
        self.has_early_data
    }

    pub(crate) fn proxy_status(&self) -> u16 {
        self.proxy_status
    }

    pub(crate) fn is_over_quic(&self) -> bool {
        matches!(self.connection, Connection::H3(_))
    }

    /// Returns the path's round trip, if it is known.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.transport.min_rtt()
    }

    /// Returns the connection's activity so far, as far as the kernel reports it.
    pub(crate) fn past(&self) -> Option<KeptFacts> {
        let beyond = self.beyond;
        let past = self.transport.past();
        past.map(|past| KeptFacts { beyond, ..past })
    }

    /// Reads the kernel's and QUIC's counters for the connection.
    pub(crate) fn facts(&self) -> (Option<TcpFacts>, Option<QuicFacts>, Option<TlsFacts>) {
        let transport = &self.transport;
        (
            transport.tcp_facts(),
            transport.quic_facts(),
            transport.tls_facts(),
        )
    }

    /// Whether another request can use the connection.
    pub(crate) fn is_usable(&self) -> bool {
        self.connection.is_open()
            && match &self.transport {
                // HTTP/2 has a driver that reads, so for HTTP/2 the socket's contents mean nothing.
                Transport::Tcp { gauge, .. } => {
                    !matches!(self.connection, Connection::H1(_)) || !gauge.is_spent()
                }
                Transport::Quic(_) => true,
            }
    }
}

/// The connection that is kept from one exchange to the next, or the reason why there is none.
#[derive(Default)]
pub(crate) struct KeptConnection {
    open: Option<OpenConnection>,
    why_not: Option<(Origin, NotKept)>,
}

impl KeptConnection {
    /// Takes the connection out if another request to `target` can use it. A connection that cannot
    /// be used is dropped.
    pub(crate) fn take_for(&mut self, target: &Target) -> Option<OpenConnection> {
        let here = target.origin();
        let kept = self.open.take().filter(|open| open.origin == here)?;
        if kept.is_usable() {
            return Some(kept);
        }
        self.why_not = Some((kept.origin, NotKept::Idle));
        None
    }

    /// Takes the connection out, even if it cannot be used any more.
    pub(crate) fn take(&mut self) -> Option<OpenConnection> {
        self.open.take()
    }

    pub(crate) fn keep(&mut self, open: OpenConnection) {
        self.open = Some(open);
    }

    /// Drops a connection after its last answer, and records the reason.
    pub(crate) fn drop_for(&mut self, why: NotKept, open: OpenConnection) {
        self.why_not = Some((open.origin, why));
    }

    /// Notes what the exchange that opened the connection shows about the server's distance.
    pub(crate) fn note_beyond(&mut self, beyond: Option<Duration>) {
        if let Some(open) = &mut self.open {
            open.beyond = beyond;
        }
    }

    pub(crate) fn is_some(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the byte stream below HTTP/1.1 of the connection that is kept.
    pub(crate) fn stream(&mut self) -> Option<&mut dyn ByteStream> {
        self.open.as_mut().and_then(OpenConnection::stream)
    }

    /// Returns, once, the reason why the previous connection was closed, if it was to this origin.
    pub(crate) fn take_reason(&mut self, target: &Target) -> Option<NotKept> {
        let here = target.origin();
        let (_, why) = self.why_not.take().filter(|(to, _)| *to == here)?;
        Some(why)
    }

    pub(crate) fn forget_reason(&mut self) {
        self.why_not = None;
    }

    /// Closes the kept connection.
    pub(crate) async fn retire(&mut self) {
        self.forget_reason();
        if let Some(open) = self.open.take() {
            open.close().await;
        }
    }
}
