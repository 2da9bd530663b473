//! One end of an HTTP/1.1 connection that sends what a test wants, valid or not, and reads
//! strictly: it never takes an incomplete message for a complete one.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use socket2::SockRef;

use crate::lifecycle::scene::PATIENCE;

pub(crate) struct RawClient {
    pub(crate) stream: Arc<TcpStream>,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The answer that a client got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Whole(u16, Message),
    /// It began, and is visibly incomplete.
    Cut,
    /// The connection ended without an answer.
    Nothing,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Whole(status, _) => *status,
            Self::Cut | Self::Nothing => 0,
        }
    }

    #[track_caller]
    pub(crate) fn whole(self, expected: u16) -> Message {
        match self {
            Self::Whole(status, message) if status == expected => message,
            other => panic!("not a whole {expected}: {other:?}"),
        }
    }
}

impl RawClient {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream: Arc::new(stream),
            buffer: Vec::new(),
        }
    }

    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    /// Calls `serve` for each connection to the returned address, in a new thread.
    pub(crate) fn accept_each(serve: impl Fn(Self) + Send + Sync + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, serve) = (stream.unwrap(), serve.clone());
                thread::spawn(move || serve(Self::new(stream)));
            }
        });
        address
    }

    /// Waits for `released`; `false` if the peer closes first. Reads nothing.
    pub(crate) fn stays_until(&self, released: &AtomicBool) -> bool {
        let pause = Duration::from_millis(5);
        self.stream.set_read_timeout(Some(pause)).unwrap();
        while !released.load(Ordering::SeqCst) {
            match self.stream.peek(&mut [0]) {
                Ok(0) => return false,
                Ok(_) => sleep(pause),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        true
    }

    /// Whether the socket took it; the peer may not get it.
    pub(crate) fn send(&mut self, text: &str) -> bool {
        (&*self.stream).write_all(text.as_bytes()).is_ok()
    }

    /// One byte at a time.
    pub(crate) fn drip(&mut self, text: &str) -> bool {
        text.bytes().all(|byte| {
            // This allows the byte to be sent before the next one is written.
            std::thread::yield_now();
            (&*self.stream).write_all(&[byte]).is_ok()
        })
    }

    /// Reads up to the end of a head; `None` if it never comes.
    pub(crate) fn head(&mut self) -> Option<String> {
        self.until("\r\n\r\n")
    }

    /// Everything received up to and including `what`.
    pub(crate) fn until(&mut self, what: &str) -> Option<String> {
        loop {
            let found = self
                .buffer
                .windows(what.len())
                .position(|window| window == what.as_bytes());
            if let Some(at) = found {
                let taken = self.buffer.drain(..at + what.len()).collect();
                return Some(String::from_utf8(taken).unwrap());
            }
            if self.fill() == 0 {
                return None;
            }
        }
    }

    /// The next request, if it is complete.
    pub(crate) fn request(&mut self) -> Option<Message> {
        let head = self.head()?;
        let body = self.body(&head)?;
        Some(Message { head, body })
    }

    /// The body that this head announces; an answer without a length ends in another way.
    pub(crate) fn body(&mut self, head: &str) -> Option<String> {
        if field(head, "transfer-encoding").is_some() {
            return self.chunks();
        }
        let length = field(head, "content-length").map_or(0, |value| value.parse().unwrap());
        self.exactly(length)
    }

    pub(crate) fn exactly(&mut self, length: usize) -> Option<String> {
        while self.buffer.len() < length {
            if self.fill() == 0 {
                return None;
            }
        }
        let body = self.buffer.drain(..length).collect();
        Some(String::from_utf8(body).unwrap())
    }

    fn chunks(&mut self) -> Option<String> {
        let mut body = String::new();
        loop {
            let line = self.until("\r\n")?;
            let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
            body.push_str(&self.exactly(length)?);
            assert_eq!(self.exactly(2)?, "\r\n");
            if length == 0 {
                return Some(body);
            }
        }
    }

    /// The next final answer; interim ones are skipped.
    pub(crate) fn answer(&mut self) -> Answer {
        loop {
            let Some(head) = self.head() else {
                return if self.buffer.is_empty() {
                    Answer::Nothing
                } else {
                    Answer::Cut
                };
            };
            let status: u16 = head[9..12].parse().unwrap();
            if status < 200 && status != 101 {
                continue;
            }
            return match self.body_of_answer(&head) {
                Some(body) => Answer::Whole(status, Message { head, body }),
                None => Answer::Cut,
            };
        }
    }

    fn body_of_answer(&mut self, head: &str) -> Option<String> {
        let says = |name| field(head, name).is_some();
        if says("transfer-encoding") || says("content-length") || head.starts_with("HTTP/1.1 101") {
            return self.body(head);
        }
        let (rest, whole) = self.rest();
        whole.then_some(rest)
    }

    /// Everything until the end of the connection, and whether it ended in order.
    pub(crate) fn rest(&mut self) -> (String, bool) {
        let mut piece = [0; 16 * 1024];
        let whole = loop {
            match (&*self.stream).read(&mut piece) {
                Ok(0) => break true,
                Ok(n) => self.buffer.extend_from_slice(&piece[..n]),
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it never ends");
                    break false;
                }
            }
        };
        let rest = std::mem::take(&mut self.buffer);
        (String::from_utf8(rest).unwrap(), whole)
    }

    /// A head that has arrived; it is not consumed.
    pub(crate) fn peek_head(&mut self) -> Option<String> {
        assert!(self.buffer.is_empty());
        let mut piece = [0; 8192];
        loop {
            let seen = self.stream.peek(&mut piece).unwrap_or(0);
            let text = String::from_utf8_lossy(&piece[..seen]).into_owned();
            if seen == 0 || text.contains("\r\n\r\n") {
                return (seen > 0).then_some(text);
            }
            sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn finish_writing(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the connection with a reset, whatever was sent before.
    pub(crate) fn reset(self) {
        SockRef::from(&*self.stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }

    /// A reset counts as the end.
    fn fill(&mut self) -> usize {
        let mut piece = [0; 16 * 1024];
        let read = match (&*self.stream).read(&mut piece) {
            Ok(read) => read,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "nothing more comes");
                0
            }
        };
        self.buffer.extend_from_slice(&piece[..read]);
        read
    }
}

/// A field's value.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The requested path.
pub(crate) fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

/// An answer with this body.
pub(crate) fn counted(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
