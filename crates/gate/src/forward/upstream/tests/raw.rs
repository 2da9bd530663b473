//! A server that writes whatever frames a test says. RFC 9113 §4.1.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const PREFACE: usize = 24;

/// A frame that gate has sent, and the connection on which it came.
pub(super) struct Seen {
    pub(super) connection: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
    pub(super) out: UnboundedSender<Vec<u8>>,
}

impl Seen {
    pub(super) fn write(&self, bytes: Vec<u8>) {
        let _ = self.out.send(bytes);
    }
}

/// Starts a server, and counts its connections. `answer` gets every frame but SETTINGS, and is
/// called for a first frame of kind SETTINGS, which it may answer with the server's own.
pub(super) async fn serve(answer: impl Fn(Seen) + 'static) -> (SocketAddr, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (connections, answer) = (Rc::new(Cell::new(0)), Rc::new(answer));
    let count = connections.clone();
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.set(count.get() + 1);
            spawn_local(connection(stream, count.get(), answer.clone()));
        }
    });
    (address, connections)
}

async fn connection(stream: TcpStream, connection: usize, answer: Rc<impl Fn(Seen) + 'static>) {
    let (mut from, mut to) = stream.into_split();
    let (out, mut written) = unbounded_channel::<Vec<u8>>();
    spawn_local(async move {
        while let Some(bytes) = written.recv().await {
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    if from.read_exact(&mut [0; PREFACE]).await.is_err() {
        return;
    }
    loop {
        let mut head = [0; 9];
        if from.read_exact(&mut head).await.is_err() {
            return;
        }
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        from.read_exact(&mut payload).await.unwrap();
        if kind == SETTINGS && flags & ACK == ACK {
            continue;
        }
        let out = out.clone();
        answer(Seen {
            connection,
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
            out: out.clone(),
        });
        if kind == SETTINGS {
            let _ = out.send(frame(SETTINGS, ACK, 0, &[]));
        }
    }
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// SETTINGS with a limit of streams.
pub(super) fn settings(most: u8) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, most])
}

/// The head of an answer with the status 200.
pub(super) fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

pub(super) fn data(stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, payload)
}

/// Data that consists of padding.
pub(super) fn padding(stream: u32) -> Vec<u8> {
    frame(DATA, PADDED, stream, &[3, 0, 0, 0])
}

pub(super) fn end(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, &[])
}

/// A whole answer.
pub(super) fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x88])
}

/// Room for this many more bytes, on this stream and on its connection.
pub(super) fn room(stream: u32, bytes: u32) -> Vec<u8> {
    let update = |stream| frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    [update(0), update(stream)].concat()
}

/// GOAWAY that names the last stream.
pub(super) fn leave(last: u8) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0])
}

pub(super) fn refuse(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &[0, 0, 0, 7])
}
