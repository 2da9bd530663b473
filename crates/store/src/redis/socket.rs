//! The byte stream to a Redis: TCP, TLS, or a socket file.

use std::sync::Arc;

use roundtrip_model::Recorder;
use roundtrip_net::SystemClock;
use roundtrip_tls::Offer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::settings::{Address, RedisSettings};
use crate::StoreError;

pub(super) trait Bytes: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Bytes for T {}

/// The caller applies the deadline.
pub(super) async fn open(settings: &RedisSettings) -> Result<Box<dyn Bytes>, StoreError> {
    let failed = |error| StoreError::io(settings.address.to_string(), error);
    match &settings.address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(failed)?;
            Ok(Box::new(stream))
        }
        Address::Tcp { host, port } => Ok(Box::new(tcp(host, *port).await.map_err(failed)?)),
        Address::Tls { host, port } => {
            let client = settings.tls()?;
            let stream = tcp(host, *port).await.map_err(failed)?;
            let wrong = |error| StoreError::Tls(Arc::new(error));
            // The events are not read, so only the last ones are kept.
            let recorder = Recorder::new(Arc::new(SystemClock::start()));
            recorder.keep_last(16);
            let mut stream = client
                .connect(stream, &offer(), host, &recorder)
                .map_err(wrong)?;
            stream.handshake().await.map_err(wrong)?;
            Ok(Box::new(stream))
        }
    }
}

async fn tcp(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connections to Redis last long, so resumption would gain nothing.
fn offer() -> Offer {
    Offer {
        tls12: true,
        tls13: true,
        post_quantum: true,
        early_data: false,
        resume: false,
        alpn: Vec::new(),
        quic: false,
    }
}
