//! The request's body, from the client to the backend, in pieces as they come.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Broken, fill};
use crate::h1::{Chunked, LAST_CHUNK, write_chunk};
use crate::request::{Body, Refusal};

/// Sends `head` and the body after it. `buffer` holds what the client has sent already; what follows the body stays there.
pub(super) async fn run(
    body: Body,
    head: &[u8],
    buffer: &mut Vec<u8>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Broken> {
    to.write_all(head).await.map_err(Broken::Backend)?;
    match body {
        Body::Length(length) => counted(length, buffer, from, to).await,
        Body::Chunked => chunked(buffer, from, to).await,
        Body::None | Body::Framed => Ok(()),
    }
}

async fn counted(
    mut left: u64,
    buffer: &mut Vec<u8>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Broken> {
    while left > 0 {
        if buffer.is_empty() {
            fill(buffer, from).await.map_err(Broken::Client)?;
        }
        let here = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let part = buffer.get(..here).unwrap_or_default();
        to.write_all(part).await.map_err(Broken::Backend)?;
        buffer.drain(..here);
        left -= here as u64;
    }
    Ok(())
}

/// Taken apart and put together anew: extensions and trailers go no further.
async fn chunked(
    buffer: &mut Vec<u8>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Broken> {
    let mut coding = Chunked::default();
    let mut out = Vec::new();
    while !coding.is_done() {
        if buffer.is_empty() {
            fill(buffer, from).await.map_err(Broken::Client)?;
        }
        out.clear();
        let used = coding.take(buffer, |data| write_chunk(&mut out, data));
        let used = used.map_err(|_| Broken::Refused(Refusal::Chunk))?;
        buffer.drain(..used);
        to.write_all(&out).await.map_err(Broken::Backend)?;
    }
    to.write_all(LAST_CHUNK).await.map_err(Broken::Backend)
}
