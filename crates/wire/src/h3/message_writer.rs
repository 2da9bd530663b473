//! Writes the frames of a request or a response.

use super::frame::{DATA, HEADERS, write_varint};
use crate::message::Pair;
use crate::qpack::{LINE_OVERHEAD, begin_section, write_line};

/// The longest content whose length takes two bytes. RFC 9000 §16.
const MAX_SHORT: usize = 0x3fff;
/// The length of a frame's head whose length field takes two bytes.
const SHORT_HEAD: usize = 3;
/// Room for most heads.
const HEAD_ROOM: usize = 512;

/// Gathers the frames of a message, so that a small one leaves in a single write.
#[derive(Debug, Default)]
pub struct MessageWriter {
    out: Vec<u8>,
    /// The position of the head of a DATA frame that may still grow.
    open: Option<usize>,
}

impl MessageWriter {
    /// Appends a HEADERS frame, and returns the size of its section as RFC 9114 §4.2.2 counts it.
    /// Names are written in lower case.
    pub fn section<'a>(&mut self, lines: impl IntoIterator<Item = Pair<'a>>) -> u64 {
        let mut size = 0;
        self.close();
        self.out.reserve(HEAD_ROOM);
        let head = self.begin(HEADERS);
        begin_section(&mut self.out);
        for (name, value) in lines {
            size += name.len() + value.len() + LINE_OVERHEAD;
            write_line(&mut self.out, name, value);
        }
        let length = self.out.len() - head - SHORT_HEAD;
        if length <= MAX_SHORT {
            self.set_length(head, length);
        } else {
            let mut long = Vec::new();
            write_varint(&mut long, length as u64);
            self.out.splice(head + 1..head + SHORT_HEAD, long);
        }
        size as u64
    }

    /// Appends content. Several short pieces leave in one frame.
    pub fn data(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let head = match self.open {
                Some(head) => head,
                None => self.begin(DATA),
            };
            self.open = Some(head);
            let room = MAX_SHORT - (self.out.len() - head - SHORT_HEAD);
            let (part, rest) = bytes.split_at(room.min(bytes.len()));
            self.out.extend_from_slice(part);
            bytes = rest;
            if part.len() == room {
                self.close();
            }
        }
    }

    /// Appends the head of a DATA frame whose content is written elsewhere.
    pub fn data_head(&mut self, length: usize) {
        self.close();
        write_varint(&mut self.out, DATA);
        write_varint(&mut self.out, length as u64);
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Everything that was appended since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        self.close();
        std::mem::take(&mut self.out)
    }

    /// Begins a frame whose length is set later, and returns its position.
    fn begin(&mut self, kind: u64) -> usize {
        let head = self.out.len();
        self.out.extend_from_slice(&[kind as u8, 0, 0]);
        head
    }

    fn close(&mut self) {
        if let Some(head) = self.open.take() {
            self.set_length(head, self.out.len() - head - SHORT_HEAD);
        }
    }

    /// Sets the length of a frame, in two bytes: integers need not be in their shortest form. RFC
    /// 9000 §16.
    fn set_length(&mut self, head: usize, length: usize) {
        let length = 0x4000 | length as u16;
        if let Some(place) = self.out.get_mut(head + 1..head + SHORT_HEAD) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
}
