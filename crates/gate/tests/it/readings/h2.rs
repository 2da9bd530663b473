//! HTTP/2 frames written by hand over TLS, including those that no correct client would send. RFC
//! 9113.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::lifecycle::scene::{PATIENCE, Scene};
use crate::tls_client::client_config;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// SETTINGS_INITIAL_WINDOW_SIZE = 0: the peer may send no data.
pub(crate) const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];
const ACK: u8 = 1;
/// HPACK's indices of statuses: RFC 7541, appendix A.
const STATUSES: [(u8, u16); 6] = [
    (0x88, 200),
    (0x89, 204),
    (0x8b, 304),
    (0x8c, 400),
    (0x8d, 404),
    (0x8e, 500),
];

pub(crate) type Tls = StreamOwned<ClientConnection, TcpStream>;

pub(crate) struct Connection {
    pub(crate) stream: Tls,
    buffer: Vec<u8>,
    next: u32,
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// 0 if there was none, or one that is not parsed here.
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The connection cannot be used any more.
    pub(crate) over: bool,
}

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.to_vec(),
        }
    }

    /// The error of a GOAWAY. RFC 9113 §6.8.
    pub(crate) fn error(&self) -> u32 {
        let code = self.payload.get(4..8).and_then(|code| code.try_into().ok());
        code.map_or(u32::MAX, u32::from_be_bytes)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        let stream = self.stream.to_be_bytes();
        [
            &length[1..],
            &[self.kind, self.flags],
            &stream,
            &self.payload,
        ]
        .concat()
    }
}

impl Connection {
    /// Sends the preface, and opens the largest window unless `settings` says otherwise.
    pub(crate) fn open(scene: &Scene, settings: &[u8]) -> Self {
        let address = scene.gate().addresses().https[0];
        Self::open_to(address, scene.gate().certificate().unwrap(), settings)
    }

    /// The same, to this address.
    pub(crate) fn open_to(address: SocketAddr, certificate: &str, settings: &[u8]) -> Self {
        let mut connection = Self {
            stream: tls_to(address, certificate, &[b"h2"]),
            buffer: Vec::new(),
            next: 1,
        };
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let first = Frame::new(SETTINGS, 0, 0, settings).bytes();
        connection.write(&[preface.as_slice(), &first].concat());
        connection
    }

    /// `false` if the peer takes no more.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush())
            .is_ok()
    }

    pub(crate) fn send(&mut self, frame: &Frame) -> bool {
        self.write(&frame.bytes())
    }

    /// Begins a request; returns its stream.
    pub(crate) fn ask(&mut self, fields: &[(&str, &[u8])], ended: bool) -> u32 {
        let id = self.next;
        self.next += 2;
        let flags = END_HEADERS | if ended { END_STREAM } else { 0 };
        self.send(&Frame::new(HEADERS, flags, id, &block(fields)));
        id
    }

    /// The next frame; `None` at the end. Settings are acknowledged.
    pub(crate) fn read(&mut self) -> Option<Frame> {
        let frame = self.frame()?;
        if frame.kind == SETTINGS && frame.flags & ACK == 0 {
            self.send(&Frame::new(SETTINGS, ACK, 0, &[]));
        }
        Some(frame)
    }

    /// The whole answer on this stream.
    pub(crate) fn answer(&mut self, id: u32) -> Answered {
        let mut answered = Answered::default();
        while let Some(frame) = self.read() {
            answered.over |= frame.kind == GOAWAY;
            if frame.stream != id {
                continue;
            }
            match frame.kind {
                HEADERS => answered.status = status(&frame.payload),
                DATA => {
                    let length = u32::try_from(frame.payload.len()).unwrap().to_be_bytes();
                    answered.body.extend_from_slice(&frame.payload);
                    if !frame.payload.is_empty() {
                        self.send(&Frame::new(WINDOW_UPDATE, 0, 0, &length));
                    }
                }
                RST_STREAM => return answered,
                _ => {}
            }
            if matches!(frame.kind, HEADERS | DATA) && frame.flags & END_STREAM != 0 {
                return answered;
            }
        }
        answered.over = true;
        answered
    }

    /// Reads up to the first frame that is one of these.
    pub(crate) fn await_frame(&mut self, mut is: impl FnMut(&Frame) -> bool) {
        while let Some(frame) = self.read() {
            if is(&frame) {
                return;
            }
        }
        panic!("the connection has ended");
    }

    /// The statuses of these streams, whose answers come in any order.
    pub(crate) fn statuses(&mut self, ids: &[u32]) -> Vec<u16> {
        let mut statuses = vec![0; ids.len()];
        let mut ended = 0;
        while ended < ids.len() {
            let Some(frame) = self.read() else {
                break;
            };
            let Some(at) = ids.iter().position(|id| *id == frame.stream) else {
                continue;
            };
            if frame.kind == HEADERS {
                statuses[at] = status(&frame.payload);
            }
            let last = matches!(frame.kind, HEADERS | DATA) && frame.flags & END_STREAM != 0;
            ended += usize::from(last || frame.kind == RST_STREAM);
        }
        statuses
    }

    /// The error of a GOAWAY that has arrived, on a non-blocking socket.
    pub(crate) fn reads_goaway(&mut self) -> Option<u32> {
        while self
            .stream
            .conn
            .read_tls(&mut self.stream.sock)
            .is_ok_and(|read| read > 0)
        {
            self.stream.conn.process_new_packets().ok()?;
            while self.take() > 0 {}
        }
        while let Some(frame) = self.buffered() {
            if frame.kind == GOAWAY {
                return Some(frame.error());
            }
        }
        None
    }

    /// A frame that has arrived completely.
    fn buffered(&mut self) -> Option<Frame> {
        let head = self.buffer.get(..9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let whole = 9 + usize::try_from(length).unwrap();
        if self.buffer.len() < whole {
            return None;
        }
        let bytes: Vec<u8> = self.buffer.drain(..whole).collect();
        let stream = u32::from_be_bytes(bytes[5..9].try_into().unwrap()) & 0x7fff_ffff;
        Some(Frame::new(bytes[3], bytes[4], stream, &bytes[9..]))
    }

    fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.buffered() {
                return Some(frame);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Option<()> {
        loop {
            let read = self.take();
            if read > 0 {
                return Some(());
            }
            match self.stream.conn.read_tls(&mut self.stream.sock) {
                Ok(0) => return None,
                Ok(_) => self.stream.conn.process_new_packets().ok()?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing more comes"),
                Err(_) => return None,
            };
        }
    }

    /// Decrypted data. Not read through the stream, which writes before it reads, so that data from
    /// before a reset is not lost.
    fn take(&mut self) -> usize {
        let mut piece = [0; 16 * 1024];
        let read = self.stream.conn.reader().read(&mut piece).unwrap_or(0);
        self.buffer.extend_from_slice(&piece[..read]);
        read
    }
}

/// A TLS connection to the first `https` address.
pub(crate) fn tls(scene: &Scene, protocols: &[&[u8]]) -> Tls {
    let address = scene.gate().addresses().https[0];
    tls_to(address, scene.gate().certificate().unwrap(), protocols)
}

fn tls_to(address: SocketAddr, certificate: &str, protocols: &[&[u8]]) -> Tls {
    let config = client_config(Some(certificate), protocols, rustls::DEFAULT_VERSIONS);
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(client, stream)
}

/// Each field as a literal that is not indexed. RFC 7541 §6.2.2.
fn block(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name.as_bytes(), value] {
            length(&mut block, text.len());
            block.extend_from_slice(text);
        }
    }
    block
}

/// RFC 7541 §5.1, with seven bits of prefix.
fn length(block: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(0x7f) else {
        return block.push(u8::try_from(length).unwrap());
    };
    block.push(0x7f);
    while rest >= 0x80 {
        block.push(0x80 | u8::try_from(rest & 0x7f).unwrap());
        rest >>= 7;
    }
    block.push(u8::try_from(rest).unwrap());
}

/// The first field is the status: by its index, or as text.
fn status(block: &[u8]) -> u16 {
    // A change of the table's size may precede it.
    let begin = block.iter().position(|b| *b & 0xe0 != 0x20);
    let block = &block[begin.unwrap_or(block.len())..];
    let known = STATUSES
        .iter()
        .find(|(index, _)| block.first() == Some(index));
    match block {
        _ if known.is_some() => known.map_or(0, |(_, status)| *status),
        [0x48 | 0x08 | 0x18, 3, digits @ ..] => {
            let digits = digits.get(..3).and_then(|d| std::str::from_utf8(d).ok());
            digits.and_then(|d| d.parse().ok()).unwrap_or(0)
        }
        // Huffman's code of RFC 7541, appendix B.
        [0x48 | 0x08 | 0x18, 0x82, 0x68, 0x01, ..] => 401,
        [0x48 | 0x08 | 0x18, 0x83, 0x68, 0x4f, 0xff, ..] => 429,
        _ => 0,
    }
}
