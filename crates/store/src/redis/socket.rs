//! The byte stream to a Redis server: TCP, TLS, or a Unix socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::Recorder;
use roundtrip_net::SystemClock;
use roundtrip_tls::Offer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::settings::{Address, RedisSettings};
use crate::StoreError;

/// How long to wait for an answer before a second connection attempt is started in parallel. The
/// kernel repeats a SYN only after 1 s and then 2 s, so without the second attempt a server that is
/// back would be noticed later.
const NEXT_ATTEMPT_AFTER: Duration = Duration::from_millis(100);
/// The largest number of connection attempts at once.
const MAX_AT_ONCE: usize = 20;

pub(super) trait Bytes: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Bytes for T {}

/// Opens the stream. The caller applies the deadline.
pub(super) async fn open(
    address: &Address,
    settings: &RedisSettings,
) -> Result<Box<dyn Bytes>, StoreError> {
    #[cfg(test)]
    if let Some(stream) = super::once::simulation::connect(address).await {
        return stream.map(|stream| Box::new(stream) as Box<dyn Bytes>);
    }
    let failed = |error| StoreError::io(address.to_string(), error);
    match address {
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
    let mut addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    let mut attempts = JoinSet::new();
    loop {
        let now = addresses.clone();
        attempts.spawn(async move { TcpStream::connect(now.as_slice()).await });
        // The next attempt begins with another address.
        let skip = usize::from(!addresses.is_empty());
        addresses.rotate_left(skip);
        tokio::select! {
            Some(Ok(ended)) = attempts.join_next() => {
                let stream = ended?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            () = sleep(NEXT_ATTEMPT_AFTER), if attempts.len() < MAX_AT_ONCE => {}
        }
    }
}

/// The TLS offer, without resumption: connections to Redis last long, so it would gain nothing.
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
