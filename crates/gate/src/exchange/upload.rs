//! The request's body, from the client to the backend, in pieces as they come.

use std::io::{self, Write};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Broken, PIECE};
use crate::h1::{Chunked, Fed};
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
            fill(buffer, from).await?;
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
            fill(buffer, from).await?;
        }
        out.clear();
        let used = recode(&mut coding, buffer, &mut out)?;
        buffer.drain(..used);
        to.write_all(&out).await.map_err(Broken::Backend)?;
    }
    to.write_all(b"0\r\n\r\n").await.map_err(Broken::Backend)
}

/// Chunks of our own with the data that is there; says how many bytes were used.
fn recode(coding: &mut Chunked, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, Broken> {
    let mut used = 0;
    loop {
        let rest = bytes.get(used..).unwrap_or_default();
        let fed = coding.feed(rest);
        match fed.map_err(|_| Broken::Refused(Refusal::Chunk))? {
            Fed::Data { consumed, data } => {
                let data = rest.get(consumed - data..consumed).unwrap_or_default();
                // Writing to a Vec does not fail.
                let _ = write!(out, "{:x}\r\n", data.len());
                out.extend_from_slice(data);
                out.extend_from_slice(b"\r\n");
                used += consumed;
            }
            Fed::More => return Ok(bytes.len()),
            Fed::Done { consumed } => return Ok(used + consumed),
        }
    }
}

async fn fill(buffer: &mut Vec<u8>, from: &mut (impl AsyncRead + Unpin)) -> Result<(), Broken> {
    buffer.reserve(PIECE);
    match from.read_buf(buffer).await {
        Ok(0) => Err(Broken::Client(io::ErrorKind::UnexpectedEof.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(Broken::Client(error)),
    }
}
