//! What clients request from servers: a stream's 16-byte header says how many bytes it carries and
//! how many it wants back.

use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use roundtrip_quic::{Connection, Dir, Event, Read, StreamEvent, StreamId};

/// It divides no size in use, so that misplaced data shows.
const PERIOD: usize = 251;
const HEADER: u64 = 16;
const PIECE: usize = 32 << 10;

static ALL: LazyLock<Bytes> =
    LazyLock::new(|| (0..PERIOD + PIECE).map(|at| (at % PERIOD) as u8).collect());

/// The bytes from `offset` on of every stream.
fn pattern(offset: u64, length: usize) -> Bytes {
    let start = (offset % PERIOD as u64) as usize;
    ALL.slice(start..start + length.min(PIECE))
}

fn is_pattern(offset: u64, bytes: &[u8]) -> bool {
    let start = (offset % PERIOD as u64) as usize;
    *bytes == ALL[start..start + bytes.len()]
}

/// One stream at one side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    header: Vec<u8>,
    /// The length of the body, without the header.
    pub(crate) to_send: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) expected: Option<u64>,
    finished: bool,
    /// Everything was received.
    pub(crate) is_done: bool,
    pub(crate) failed: Option<String>,
}

/// The streams of one connection at one side.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) streams: HashMap<StreamId, Work>,
    /// Requests that wait for the peer to allow more streams.
    waiting: Vec<(u64, u64)>,
    pub(crate) completed: usize,
    /// Nothing is read until [`Traffic::resume`].
    pub(crate) is_paused: bool,
    /// Data on unidirectional streams is ignored.
    pub(crate) ignores_uni: bool,
}

impl Traffic {
    /// Requests `wanted` bytes with a body of `brought` bytes, as soon as possible.
    pub(crate) fn request(&mut self, connection: &mut Connection, brought: u64, wanted: u64) {
        self.waiting.push((brought, wanted));
        self.open(connection);
    }

    fn open(&mut self, connection: &mut Connection) {
        while let Some((brought, wanted)) = self.waiting.first().copied() {
            let Some(id) = connection.open(Dir::Bidi) else {
                return;
            };
            self.waiting.remove(0);
            let mut header = brought.to_be_bytes().to_vec();
            header.extend(wanted.to_be_bytes());
            let work = Work {
                header,
                to_send: brought,
                expected: Some(wanted),
                ..Work::default()
            };
            self.streams.insert(id, work);
            self.write(connection, id);
        }
    }

    /// Handles an event: accepts streams, reads and writes.
    pub(crate) fn on_event(&mut self, connection: &mut Connection, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Opened(dir)) => {
                while let Some(id) = connection.accept(*dir) {
                    if *dir == Dir::Uni {
                        self.drop_data(connection, id);
                        continue;
                    }
                    self.streams.insert(id, Work::default());
                    self.read(connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable(id)) if self.streams.contains_key(id) => {
                self.read(connection, *id);
            }
            Event::Stream(StreamEvent::Readable(id)) => self.drop_data(connection, *id),
            Event::Stream(StreamEvent::Writable(id)) => self.write(connection, *id),
            Event::Stream(StreamEvent::Available(_)) => self.open(connection),
            _ => {}
        }
    }

    fn drop_data(&self, connection: &mut Connection, id: StreamId) {
        let mut buffer = [0; 16 << 10];
        while !self.ignores_uni && matches!(connection.read(id, &mut buffer), Ok(Read::Bytes(_))) {}
    }

    pub(crate) fn resume(&mut self, connection: &mut Connection) {
        self.is_paused = false;
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids {
            self.read(connection, id);
        }
    }

    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        if self.is_paused {
            return;
        }
        let Some(work) = self.streams.get_mut(&id) else {
            return;
        };
        let mut buffer = [0; 16 << 10];
        let is_server = work.expected.is_none();
        if work.is_done || work.failed.is_some() {
            return;
        }
        while !work.is_done {
            match connection.read(id, &mut buffer) {
                Ok(Read::Bytes(count)) => work.take(&buffer[..count], is_server),
                Ok(Read::Blocked) => return,
                Ok(Read::End) => work.is_done = true,
                Err(error) => {
                    work.failed = Some(error.to_string());
                    return;
                }
            }
        }
        self.completed += 1;
        let work = work.clone();
        if is_server {
            let (brought, wanted) = work.asked();
            assert_eq!(work.received, HEADER + brought, "{id:?} ended early");
            let work = self.streams.get_mut(&id).unwrap();
            work.to_send = wanted;
            self.write(connection, id);
        } else {
            assert_eq!(Some(work.received), work.expected, "{id:?} ended early");
        }
    }

    fn write(&mut self, connection: &mut Connection, id: StreamId) {
        let Some(work) = self.streams.get_mut(&id).filter(|work| !work.finished) else {
            return;
        };
        // The client's header is sent first; the header that a server has read is not part of what
        // it sends.
        let head = if work.expected.is_some() { HEADER } else { 0 };
        loop {
            let left = head + work.to_send - work.sent;
            if left == 0 {
                break;
            }
            let next = if work.sent < head {
                Bytes::copy_from_slice(&work.header[work.sent as usize..])
            } else {
                pattern(work.sent - head, left.min(PIECE as u64) as usize)
            };
            match connection.write(id, next) {
                Ok(0) => return,
                Ok(count) => work.sent += count as u64,
                Err(error) => {
                    work.failed = Some(error.to_string());
                    return;
                }
            }
        }
        work.finished = true;
        connection.finish(id).unwrap();
    }

    /// How many bytes of bodies came.
    pub(crate) fn received(&self) -> u64 {
        self.streams.values().map(|work| work.received).sum()
    }
}

impl Work {
    fn take(&mut self, mut bytes: &[u8], is_server: bool) {
        if is_server && self.received < HEADER {
            let count = ((HEADER - self.received) as usize).min(bytes.len());
            let (header, body) = bytes.split_at(count);
            self.header.extend(header);
            self.received += count as u64;
            bytes = body;
        }
        let head = if is_server { HEADER } else { 0 };
        if !bytes.is_empty() {
            let offset = self.received - head;
            assert!(is_pattern(offset, bytes), "wrong bytes at {offset}");
        }
        self.received += bytes.len() as u64;
    }

    /// How many bytes the header says that it carries and wants.
    fn asked(&self) -> (u64, u64) {
        let (brought, wanted) = self.header.split_at(8);
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
        (number(brought), number(wanted))
    }
}
