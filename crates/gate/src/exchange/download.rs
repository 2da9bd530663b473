//! The answer, from the backend to the client, in pieces as they come.

use std::io::{self, Write};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Asked, Broken, fill};
use crate::door::Door;
use crate::guard::Sessions;
use crate::h1::{self, BadResponse, Chunked, LAST_CHUNK, Response, ResponseBody, write_chunk};
use crate::request::Version;

/// Interim answers that a backend may send before its final one.
const MOST_INTERIM: u32 = 32;

/// Who may be used again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) client_stays: bool,
    pub(super) link_stays: bool,
}

pub(super) struct Download<'a, S> {
    asked: &'a Asked,
    door: &'a Door<S>,
    /// What waits to be written to the client.
    out: Vec<u8>,
    interim: u32,
}

/// What a head says of the rest.
#[derive(Debug, Clone, Copy)]
struct Rest {
    status: u16,
    body: ResponseBody,
    link_stays: bool,
    /// The client gets chunks, because the backend does not say how much it will be.
    chunks: bool,
    client_stays: bool,
}

impl<'a, S: Sessions> Download<'a, S> {
    pub(super) fn new(asked: &'a Asked, door: &'a Door<S>) -> Self {
        Self {
            asked,
            door,
            out: Vec::with_capacity(2048),
            interim: 0,
        }
    }

    /// `buffer` holds what the backend has sent and nobody has used; what follows the answer stays there.
    pub(super) async fn run(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Ended, Broken> {
        let rest = self.heads(from, buffer, to).await?;
        match rest.body {
            ResponseBody::None => self.flush(to).await?,
            ResponseBody::Length(length) => self.counted(length, from, buffer, to).await?,
            ResponseBody::Chunked | ResponseBody::UntilClose => {
                let over = session_over(self.asked, self.door);
                tokio::select! {
                    biased;
                    ended = self.stream(rest, from, buffer, to) => ended?,
                    () = over => return Err(Broken::Over),
                }
            }
        }
        Ok(Ended {
            client_stays: rest.client_stays,
            link_stays: rest.link_stays && rest.body != ResponseBody::UntilClose,
        })
    }

    /// A body of unknown length, which may go on for days.
    async fn stream(
        &mut self,
        rest: Rest,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), Broken> {
        match rest.body {
            ResponseBody::Chunked => self.chunked(rest, from, buffer, to).await,
            _ => self.until_close(rest, from, buffer, to).await,
        }
    }

    /// Interim answers are passed on, the final one is left in `out`.
    async fn heads(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Rest, Broken> {
        loop {
            let (asked, out) = (self.asked, &mut self.out);
            let read = h1::response(buffer, |response| head(response, asked, out))?;
            let Some((rest, length)) = read else {
                fill(buffer, from).await.map_err(Broken::Backend)?;
                continue;
            };
            let rest = rest?;
            buffer.drain(..length);
            if rest.status >= 200 {
                return Ok(rest);
            }
            self.interim += 1;
            // 101 was not asked for: upgrades are not passed on here.
            if self.interim > MOST_INTERIM || rest.status == 101 {
                return Err(BadResponse::NotHttp.into());
            }
            // RFC 9110 §15.2: HTTP/1.0 knows no interim answers.
            if asked.version == Version::H10 {
                self.out.clear();
            } else {
                self.flush(to).await?;
            }
        }
    }

    async fn counted(
        &mut self,
        mut left: u64,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), Broken> {
        loop {
            let here = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            self.out
                .extend_from_slice(buffer.get(..here).unwrap_or_default());
            buffer.drain(..here);
            left -= here as u64;
            self.flush(to).await?;
            if left == 0 {
                return Ok(());
            }
            fill(buffer, from).await.map_err(Broken::Backend)?;
        }
    }

    async fn chunked(
        &mut self,
        rest: Rest,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), Broken> {
        let mut coding = Chunked::default();
        loop {
            let used = coding.take(buffer, |data| self.push(rest, data));
            let used = used.map_err(|_| BadResponse::NotHttp)?;
            buffer.drain(..used);
            if coding.is_done() {
                self.end(rest);
                return self.flush(to).await;
            }
            self.flush(to).await?;
            fill(buffer, from).await.map_err(Broken::Backend)?;
        }
    }

    async fn until_close(
        &mut self,
        rest: Rest,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), Broken> {
        loop {
            if !buffer.is_empty() {
                let part = std::mem::take(buffer);
                self.push(rest, &part);
            }
            self.flush(to).await?;
            match fill(buffer, from).await {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(Broken::Backend(error)),
            }
        }
        self.end(rest);
        self.flush(to).await
    }

    fn push(&mut self, rest: Rest, data: &[u8]) {
        if rest.chunks {
            write_chunk(&mut self.out, data);
        } else {
            self.out.extend_from_slice(data);
        }
    }

    fn end(&mut self, rest: Rest) {
        if rest.chunks {
            self.out.extend_from_slice(LAST_CHUNK);
        }
    }

    /// What is there goes at once: who waits for an event must not wait for the next one.
    async fn flush(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), Broken> {
        if !self.out.is_empty() {
            to.write_all(&self.out).await.map_err(Broken::Client)?;
            self.out.clear();
        }
        to.flush().await.map_err(Broken::Client)
    }
}

/// Who is no longer known hears no more.
async fn session_over(asked: &Asked, door: &Door<impl Sessions>) {
    match &asked.session {
        Some(session) => door.over(session).await,
        None => std::future::pending().await,
    }
}

/// Writes the head for the client, and says what follows.
fn head(response: &Response<'_>, asked: &Asked, out: &mut Vec<u8>) -> Result<Rest, BadResponse> {
    let body = response.body(asked.is_head)?;
    let unsized_body = matches!(body, ResponseBody::Chunked | ResponseBody::UntilClose);
    let chunks = unsized_body && asked.version != Version::H10;
    let client_stays = asked.keep_alive && (chunks || !unsized_body);
    // Writing to a Vec does not fail.
    let _ = write!(out, "HTTP/1.1 {} {}\r\n", response.status, response.reason);
    for field in response.fields {
        if !is_of_one_hop(field.name, response) {
            out.extend_from_slice(field.name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(field.value);
            out.extend_from_slice(b"\r\n");
        }
    }
    if chunks {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    if response.status >= 200 && !client_stays {
        out.extend_from_slice(b"Connection: close\r\n");
    } else if asked.version == Version::H10 {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(Rest {
        status: response.status,
        body,
        link_stays: response.keeps(),
        chunks,
        client_stays,
    })
}

/// RFC 9110 §7.6.1.
fn is_of_one_hop(name: &str, response: &Response<'_>) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        2 => is("te"),
        7 => is("upgrade") || is("trailer") || named(name, response),
        10 => is("connection") || is("keep-alive") || named(name, response),
        16 => is("proxy-connection") || named(name, response),
        17 => is("transfer-encoding") || named(name, response),
        _ => named(name, response),
    }
}

fn named(name: &str, response: &Response<'_>) -> bool {
    response
        .values("connection")
        .flat_map(|value| value.split(|b| *b == b','))
        .any(|option| option.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}
