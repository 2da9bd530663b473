//! Writes to the client: frames as bytes, within the connection's window and the client's settings.

use std::ops::RangeInclusive;

use super::code::{Code, ConnectionError};
use super::frame::{
    ACK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, FrameHead, GOAWAY,
    HEADER_TABLE_SIZE, HEADERS, INITIAL_WINDOW, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_PAYLOAD,
    MAX_WINDOW, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, drop_used, signed,
};
use super::hpack;

type Result<T> = std::result::Result<T, ConnectionError>;

/// Answers wait until fewer bytes than this are pending for the connection.
const MAX_PENDING: usize = 64 * 1024;
/// The size of the table of a peer that has set none. RFC 9113 §6.5.2.
const INITIAL_TABLE_SIZE: u32 = 4096;
/// RFC 9113 §6.5.2.
const FRAME_SIZES: RangeInclusive<u32> = MAX_PAYLOAD as u32..=(1 << 24) - 1;

#[derive(Debug)]
pub(super) struct FrameWriter {
    bytes: Vec<u8>,
    /// How many of `bytes` have been written.
    written: usize,
    window: i64,
    /// The client's settings.
    initial_window: i64,
    /// The client has made its table smaller, so the next block must announce an empty table.
    says_empty_table: bool,
    /// Whether a block has announced the empty table.
    has_said_it: bool,
}

impl FrameWriter {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            written: 0,
            window: INITIAL_WINDOW,
            initial_window: INITIAL_WINDOW,
            says_empty_table: false,
            has_said_it: false,
        }
    }

    pub(super) fn pending(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    pub(super) fn on_written(&mut self, count: usize) {
        self.written += count;
        drop_used(&mut self.bytes, &mut self.written);
    }

    /// Whether there is room for a head, which does not need a window.
    pub(super) fn has_room(&self) -> bool {
        self.pending().len() < MAX_PENDING
    }

    /// Whether so much output is pending that no frame that needs an answer should be read.
    pub(super) fn is_overfull(&self) -> bool {
        self.pending().len() >= MAX_PENDING + MAX_PAYLOAD
    }

    /// Whether waiting answers may continue.
    pub(super) fn is_drained(&self) -> bool {
        self.pending().len() <= MAX_PENDING / 2
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees what an idle connection does not need.
    pub(super) fn shrink(&mut self) {
        if self.pending().is_empty() {
            (self.bytes, self.written) = (Vec::new(), 0);
        }
    }

    pub(super) fn initial_window(&self) -> i64 {
        self.initial_window
    }

    /// The bytes of one DATA frame that may be sent on a stream with this window.
    pub(super) fn room(&self, window: i64) -> usize {
        let pending = MAX_PENDING.saturating_sub(self.pending().len());
        let window = usize::try_from(window.min(self.window)).unwrap_or(0);
        window.min(pending).min(MAX_PAYLOAD)
    }

    /// Takes the client's settings. Returns by how much the windows of streams change.
    pub(super) fn on_settings(&mut self, settings: &[u8]) -> Result<i64> {
        let before = self.initial_window;
        let (settings, _) = settings.as_chunks::<6>();
        for [i0, i1, value @ ..] in settings {
            let value = u32::from_be_bytes(*value);
            match u16::from_be_bytes([*i0, *i1]) {
                HEADER_TABLE_SIZE => {
                    self.says_empty_table |= value < INITIAL_TABLE_SIZE && !self.has_said_it;
                }
                ENABLE_PUSH if value > 1 => {
                    return Err(Code::PROTOCOL_ERROR.because("a wrong ENABLE_PUSH"));
                }
                INITIAL_WINDOW_SIZE => {
                    self.initial_window = i64::from(value);
                    if self.initial_window > MAX_WINDOW {
                        return Err(Code::FLOW_CONTROL_ERROR.because("a window that is too large"));
                    }
                }
                // Larger frames than all peers take would keep other streams waiting.
                MAX_FRAME_SIZE if !FRAME_SIZES.contains(&value) => {
                    return Err(Code::PROTOCOL_ERROR.because("a wrong MAX_FRAME_SIZE"));
                }
                _ => {}
            }
        }
        self.frame(SETTINGS, ACK, 0, &[]);
        Ok(self.initial_window - before)
    }

    /// The client's window for the connection grows.
    pub(super) fn on_window_update(&mut self, increment: u32) -> Result<()> {
        self.window += i64::from(increment);
        if self.window > MAX_WINDOW {
            return Err(Code::FLOW_CONTROL_ERROR.because("a window that is too large"));
        }
        Ok(())
    }

    pub(super) fn settings(&mut self, settings: &[(u16, u32)]) {
        self.head(settings.len() * 6, SETTINGS, 0, 0);
        for (id, value) in settings {
            self.bytes.extend_from_slice(&id.to_be_bytes());
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
    }

    pub(super) fn ping(&mut self, data: [u8; 8]) {
        self.frame(PING, 0, 0, &data);
    }

    pub(super) fn ping_ack(&mut self, data: [u8; 8]) {
        self.frame(PING, ACK, 0, &data);
    }

    pub(super) fn go_away(&mut self, last: u32, code: Code) {
        self.head(8, GOAWAY, 0, 0);
        self.bytes.extend_from_slice(&last.to_be_bytes());
        self.bytes.extend_from_slice(&code.value().to_be_bytes());
    }

    pub(super) fn reset(&mut self, stream: u32, code: Code) {
        self.frame(RST_STREAM, 0, stream, &code.value().to_be_bytes());
    }

    pub(super) fn window_update(&mut self, stream: u32, increment: u32) {
        self.frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    }

    /// Sends an encoded header block, in as many frames as it needs.
    pub(super) fn headers(&mut self, stream: u32, block: &[u8], end_stream: bool) {
        let mut flags = if end_stream { END_STREAM } else { 0 };
        let mut with_size = Vec::new();
        let mut rest = block;
        if std::mem::take(&mut self.says_empty_table) {
            self.has_said_it = true;
            hpack::write_empty_table(&mut with_size);
            with_size.extend_from_slice(block);
            rest = &with_size;
        }
        let mut kind = HEADERS;
        loop {
            let (part, later) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            if later.is_empty() {
                return self.frame(kind, flags | END_HEADERS, stream, part);
            }
            self.frame(kind, flags, stream, part);
            (kind, flags, rest) = (CONTINUATION, 0, later);
        }
    }

    /// Sends data. The caller has checked that there is room for it.
    pub(super) fn data(&mut self, stream: u32, data: &[u8], end_stream: bool) {
        self.window -= signed(data.len());
        let flags = if end_stream { END_STREAM } else { 0 };
        self.frame(DATA, flags, stream, data);
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.head(payload.len(), kind, flags, stream);
        self.bytes.extend_from_slice(payload);
    }

    fn head(&mut self, length: usize, kind: u8, flags: u8, stream: u32) {
        let head = FrameHead {
            length,
            kind,
            flags,
            stream,
        };
        head.write(&mut self.bytes);
    }
}
