//! A connection that may change to TLS.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use roundtrip_model::Recorder;
use roundtrip_net::SystemClock;
use roundtrip_tls::{Client, Offer, Stream, handshake_facts};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use crate::certificates;
use crate::config::{SourceAddress, TlsSettings};
use crate::text::MetricText;

pub(crate) fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A connection over TCP or a Unix socket.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket for S {}

/// The connection, before and after its TLS handshake.
pub(crate) enum Line {
    Clear(Box<dyn Socket>),
    Secure(Box<Stream<Box<dyn Socket>>>),
}

/// Opens a TCP connection, from `source` if the module names an address.
pub(crate) async fn connect(to: SocketAddr, source: SourceAddress) -> io::Result<Line> {
    let Some(source) = source.0 else {
        return TcpStream::connect(to).await.map(Line::over);
    };
    let socket = if to.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.bind(SocketAddr::new(source, 0))?;
    socket.connect(to).await.map(Line::over)
}

/// Opens a connection to a Unix socket.
pub(crate) async fn connect_unix(to: &Path) -> io::Result<Line> {
    UnixStream::connect(to).await.map(Line::over)
}

impl Line {
    fn over(socket: impl Socket + 'static) -> Self {
        Self::Clear(Box::new(socket))
    }

    /// Begins TLS, and adds its metrics.
    pub(crate) async fn secured(
        self,
        settings: &TlsSettings,
        host: &str,
        metrics: &mut MetricText,
    ) -> Result<Self, String> {
        let Self::Clear(socket) = self else {
            return Err("TLS has begun already".into());
        };
        let identity = settings.identity();
        let client = Client::new(settings.roots(), identity.as_ref()).map_err(told)?;
        client.remember_chains();
        let offer = Offer {
            tls12: settings.only_version() != Some("tls1.3"),
            tls13: settings.only_version() != Some("tls1.2"),
            post_quantum: true,
            early_data: false,
            resume: false,
            alpn: Vec::new(),
            quic: false,
        };
        let recorder = Recorder::new(Arc::new(SystemClock::start()));
        let mut stream = client
            .connect(socket, &offer, host, &recorder)
            .map_err(told)?;
        stream.handshake().await.map_err(told)?;
        let facts = handshake_facts(stream.connection(), Some(client.verifier()));
        certificates::metrics(&facts, Some(settings.is_verified()), metrics);
        Ok(Self::Secure(Box::new(stream)))
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Clear(stream) => stream.write_all(bytes).await.map_err(told),
            Self::Secure(stream) => {
                stream.write_all(bytes).await.map_err(told)?;
                stream.flush().await.map_err(told)
            }
        }
    }

    pub(crate) async fn read(&mut self, into: &mut Vec<u8>) -> Result<usize, String> {
        match self {
            Self::Clear(stream) => stream.read_buf(into).await.map_err(told),
            Self::Secure(stream) => stream.read_buf(into).await.map_err(told),
        }
    }
}
