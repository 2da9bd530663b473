//! A client that sends exactly these bytes, one request at a time on a kept connection, and reads
//! answers as bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::lifecycle::scene::PATIENCE;

pub(crate) struct Wire {
    address: SocketAddr,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// 0 if the connection ended without a head.
    pub(crate) status: u16,
    /// Head and body, as received.
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn holds(&self, what: &str) -> bool {
        self.bytes
            .windows(what.len())
            .any(|window| window == what.as_bytes())
    }
}

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self {
            address,
            stream: None,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn get(&mut self, target: &[u8], host: &str) -> Reply {
        let rest = format!(" HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.ask(&[b"GET ", target, rest.as_bytes()].concat(), false)
    }

    /// `last`: the connection ends with the answer. Repeats the request on a new connection if a
    /// kept one had ended.
    pub(crate) fn ask(&mut self, request: &[u8], last: bool) -> Reply {
        let kept = self.stream.is_some();
        let mut reply = self.once(request, last);
        if kept && reply.status == 0 {
            reply = self.once(request, last);
        }
        if last {
            self.stream = None;
        }
        reply
    }

    fn once(&mut self, request: &[u8], last: bool) -> Reply {
        let mut stream = self.stream.take().unwrap_or_else(|| {
            let stream = TcpStream::connect(self.address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
        });
        self.buffer.clear();
        if stream.write_all(request).is_err() {
            return Reply::default();
        }
        let Some(head) = self.head(&mut stream) else {
            return Reply {
                status: 0,
                bytes: std::mem::take(&mut self.buffer),
            };
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        let status = text
            .get(9..12)
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
        let stays =
            self.body(&mut stream, head, &text) && !text.contains("connection: close") && !last;
        if stays {
            self.stream = Some(stream);
        }
        Reply {
            status,
            bytes: std::mem::take(&mut self.buffer),
        }
    }

    fn head(&mut self, stream: &mut TcpStream) -> Option<usize> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                return Some(end + 4);
            }
            if !self.fill(stream) {
                return None;
            }
        }
    }

    /// Reads it to its end; returns whether the connection continues.
    fn body(&mut self, stream: &mut TcpStream, head: usize, text: &str) -> bool {
        if text.contains("transfer-encoding: chunked") {
            while !self.buffer.ends_with(b"\r\n0\r\n\r\n") {
                if !self.fill(stream) {
                    return false;
                }
            }
            return true;
        }
        let length = text
            .split_once("content-length: ")
            .and_then(|(_, rest)| rest.lines().next());
        let Some(length) = length.and_then(|length| length.trim().parse::<usize>().ok()) else {
            let bodiless = text.get(9..12).is_some_and(|s| s == "304" || s == "204");
            while !bodiless && self.fill(stream) {}
            return bodiless;
        };
        while self.buffer.len() < head + length {
            if !self.fill(stream) {
                return false;
            }
        }
        true
    }

    /// A reset counts as the end.
    fn fill(&mut self, stream: &mut TcpStream) -> bool {
        let mut piece = [0; 16 * 1024];
        let read = stream.read(&mut piece).unwrap_or_else(|error| {
            assert_ne!(
                error.kind(),
                ErrorKind::WouldBlock,
                "nothing more comes: {}",
                String::from_utf8_lossy(&self.buffer)
            );
            0
        });
        self.buffer.extend_from_slice(&piece[..read]);
        read > 0
    }
}
