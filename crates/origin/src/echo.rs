//! The echo service: bytes come back unchanged. A client tests TCP fast open with it by sending
//! `hello\n` twice: once in the SYN, once on the open connection.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::OriginCounters;

const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) async fn serve<IO: AsyncRead + AsyncWrite + Unpin>(
    mut io: IO,
    counters: &OriginCounters,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(Ok(n)) = timeout(IDLE_TIMEOUT, io.read(&mut buffer)).await {
        let bytes = buffer.get(..n).unwrap_or_default();
        if bytes.is_empty() {
            let _ = timeout(IDLE_TIMEOUT, io.shutdown()).await;
            return;
        }
        counters.echo_bytes.add(n as u64);
        if !matches!(timeout(IDLE_TIMEOUT, io.write_all(bytes)).await, Ok(Ok(()))) {
            return;
        }
    }
}
