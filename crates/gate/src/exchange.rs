//! The life of a request, on one screen: accept → authorize → forward → record.

mod download;
mod upload;

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::backend::{Backend, Link};
use crate::door::{Door, Glance};
use crate::guard::{Denial, Pass, Question, Session, Sessions};
use crate::h1;
use crate::halves::Halves;
use crate::request::{Body, Forwarding, Inspected, Refusal, Request, Version, compose, inspect};
use download::{Download, Ended};

/// Read at once from a client or a backend.
const PIECE: usize = 16 * 1024;

/// A byte stream to a client.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// A client's connection.
pub(crate) struct Client<S> {
    stream: S,
    address: IpAddr,
    secure: bool,
    /// What was read and not yet used.
    buffer: Vec<u8>,
    /// The head for the backend, then the beginning of the answer for the client.
    out: Vec<u8>,
}

/// What must be remembered of a request once its head was passed on.
#[derive(Debug)]
struct Asked {
    version: Version,
    body: Body,
    keep_alive: bool,
    is_head: bool,
    /// May it be sent twice? RFC 9110 §9.2.2.
    idempotent: bool,
    /// Whose it is, where there is a guard.
    session: Option<Pass>,
}

/// What is to be done with a head that was read.
enum Step {
    Forward(Asked),
    Ask(Question),
    Deny(Denial, Asked),
}

/// What became of a request before anything of it was sent on.
enum Accepted {
    Forward(Asked),
    Denied(Next),
    Gone,
}

/// Why a client's connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the client: {0}")]
    Client(io::Error),
    #[error("the backend: {0}")]
    Backend(io::Error),
    #[error("the backend: {0}")]
    Answer(#[from] h1::BadResponse),
    #[error("the request has {0}")]
    Refused(Refusal),
    #[error("the session is over")]
    Over,
}

enum Next {
    Another,
    Close,
}

impl<S: Stream> Client<S> {
    pub(crate) fn new(stream: S, address: IpAddr, secure: bool) -> Self {
        Self {
            stream,
            address,
            secure,
            buffer: Vec::new(),
            out: Vec::new(),
        }
    }

    /// One request after another.
    pub(crate) async fn serve(
        mut self,
        backend: &Backend,
        door: &Door<impl Sessions>,
    ) -> Result<(), Broken> {
        while let Next::Another = self.exchange(backend, door).await? {}
        let _ = self.stream.shutdown().await;
        Ok(())
    }

    async fn exchange(
        &mut self,
        backend: &Backend,
        door: &Door<impl Sessions>,
    ) -> Result<Next, Broken> {
        let asked = match self.accept(door).await? {
            Accepted::Forward(asked) => asked,
            Accepted::Denied(next) => return Ok(next),
            Accepted::Gone => return Ok(Next::Close),
        };
        let ended = match self.forward(&asked, backend, door).await {
            Ok(ended) => ended,
            Err(Broken::Backend(_) | Broken::Answer(_)) => {
                self.refuse(502).await?;
                return Ok(Next::Close);
            }
            Err(error) => return Err(error),
        };
        Ok(if asked.keep_alive && ended.client_stays {
            Next::Another
        } else {
            Next::Close
        })
    }

    /// Reads a head, judges it, and writes it anew for the backend: at once, where the session is known; else the store is
    /// asked, and the head, which is still there, is read again.
    async fn accept(&mut self, door: &Door<impl Sessions>) -> Result<Accepted, Broken> {
        let mut admitted = None;
        loop {
            match self.read_head(door, admitted.as_ref()) {
                Ok(Some((Step::Forward(asked), length))) => {
                    self.buffer.drain(..length);
                    return Ok(Accepted::Forward(asked));
                }
                Ok(Some((Step::Ask(question), _))) => {
                    admitted = Some(door.authorize(&question).await);
                    continue;
                }
                Ok(Some((Step::Deny(denial, asked), length))) => {
                    self.buffer.drain(..length);
                    return self.deny(denial, &asked).await.map(Accepted::Denied);
                }
                Ok(None) => {}
                Err(refusal) => {
                    self.refuse(refusal.status()).await?;
                    return Err(Broken::Refused(refusal));
                }
            }
            self.buffer.reserve(PIECE / 4);
            if self
                .stream
                .read_buf(&mut self.buffer)
                .await
                .map_err(Broken::Client)?
                == 0
            {
                return Ok(Accepted::Gone);
            }
        }
    }

    /// `None` while more of the head is needed. `admitted` is what the store said of this request.
    fn read_head(
        &mut self,
        door: &Door<impl Sessions>,
        admitted: Option<&Result<Pass, Denial>>,
    ) -> Result<Option<(Step, usize)>, Refusal> {
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let (out, client, secure) = (&mut self.out, self.address, self.secure);
        let read = h1::request(&self.buffer, |request| {
            let inspected = inspect(request, u64::MAX)?;
            let glance = match admitted {
                None => door.glance(request),
                Some(Ok(session)) => Glance::Pass(Some(session.clone())),
                Some(Err(denial)) => Glance::Deny(*denial),
            };
            let session = match glance {
                Glance::Pass(session) => session,
                Glance::Ask(question) => return Ok(Step::Ask(question)),
                Glance::Deny(denial) => {
                    return Ok(Step::Deny(denial, Asked::new(request, &inspected, None)));
                }
            };
            let forwarding = Forwarding {
                client,
                secure,
                early: false,
                authorization: session.as_deref().map(Session::authorization),
                trusted: false,
            };
            out.clear();
            compose(request, &inspected, &forwarding, false, out);
            Ok(Step::Forward(Asked::new(request, &inspected, session)))
        })?;
        read.map(|(step, length)| step.map(|step| (step, length)))
            .transpose()
    }

    /// Sends the request and brings the answer; once more, where a kept connection turned out to be gone.
    async fn forward(
        &mut self,
        asked: &Asked,
        backend: &Backend,
        door: &Door<impl Sessions>,
    ) -> Result<Ended, Broken> {
        let mut link = backend.lease().await.map_err(Broken::Backend)?;
        loop {
            let reused = link.carried > 0;
            link.carried += 1;
            let outcome = match asked.body {
                Body::None => self.relay(asked, &mut link, door).await,
                _ => self.relay_both(asked, &mut link, door).await,
            };
            match outcome {
                Ok(ended) => {
                    if ended.link_stays {
                        backend.give_back(link);
                    }
                    return Ok(ended);
                }
                Err(Broken::Backend(_))
                    if reused
                        && asked.idempotent
                        && asked.body == Body::None
                        && link.buffer.is_empty() =>
                {
                    link = backend.connect().await.map_err(Broken::Backend)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn relay(
        &mut self,
        asked: &Asked,
        link: &mut Link,
        door: &Door<impl Sessions>,
    ) -> Result<Ended, Broken> {
        let sent = link.stream.write_all(&self.out).await;
        sent.map_err(Broken::Backend)?;
        let mut download = Download::new(asked, door);
        download
            .run(&mut link.stream, &mut link.buffer, &mut self.stream)
            .await
    }

    /// The body goes up while the answer may already come down.
    async fn relay_both(
        &mut self,
        asked: &Asked,
        link: &mut Link,
        door: &Door<impl Sessions>,
    ) -> Result<Ended, Broken> {
        let (client, backend) = (Halves::of(&mut self.stream), Halves::of(&mut link.stream));
        let (mut up_from, mut up_to) = (client.reading(), backend.writing());
        let (mut down_from, mut down_to) = (backend.reading(), client.writing());
        let mut download = Download::new(asked, door);
        let upload = upload::run(
            asked.body,
            &self.out,
            &mut self.buffer,
            &mut up_from,
            &mut up_to,
        );
        let download = download.run(&mut down_from, &mut link.buffer, &mut down_to);
        tokio::pin!(upload, download);
        let mut uploaded = false;
        loop {
            tokio::select! {
                biased;
                ended = &mut download => {
                    let ended = ended?;
                    // What was not read of the request would be taken for another one.
                    return Ok(Ended {
                        client_stays: ended.client_stays && uploaded,
                        link_stays: ended.link_stays && uploaded,
                    });
                }
                sent = &mut upload, if !uploaded => {
                    sent?;
                    uploaded = true;
                }
            }
        }
    }

    /// As the ancestor does: a status and an empty body. A body that was not read would be taken for another request.
    async fn deny(&mut self, denial: Denial, asked: &Asked) -> Result<Next, Broken> {
        let (reason, field) = match denial.status() {
            // RFC 9110 §11.6.1 wants a challenge.
            401 => ("401 Unauthorized", "WWW-Authenticate: Bearer\r\n"),
            503 => ("503 Service Unavailable", "Retry-After: 1\r\n"),
            _ => ("500 Internal Server Error", ""),
        };
        let stays = asked.keep_alive && asked.body == Body::None && asked.version != Version::H10;
        let close = if stays { "" } else { "Connection: close\r\n" };
        let answer = format!("HTTP/1.1 {reason}\r\n{field}Content-Length: 0\r\n{close}\r\n");
        let sent = self.stream.write_all(answer.as_bytes()).await;
        sent.map_err(Broken::Client)?;
        Ok(if stays { Next::Another } else { Next::Close })
    }

    async fn refuse(&mut self, status: u16) -> Result<(), Broken> {
        let answer =
            format!("HTTP/1.1 {status} \r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let sent = self.stream.write_all(answer.as_bytes()).await;
        sent.map_err(Broken::Client)
    }
}

impl Asked {
    fn new(request: &Request<'_>, inspected: &Inspected<'_>, session: Option<Pass>) -> Self {
        Self {
            version: request.version,
            body: inspected.body,
            keep_alive: inspected.keep_alive,
            is_head: request.method == "HEAD",
            idempotent: matches!(
                request.method,
                "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE"
            ),
            session,
        }
    }
}

/// Reads one more piece; the end is an error.
async fn fill(buffer: &mut Vec<u8>, from: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    buffer.reserve(PIECE);
    match from.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
