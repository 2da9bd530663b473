//! Writes one request to the kernel.

use super::{HEADER, SEQUENCE};

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RTN_UNICAST: u8 = 1;

#[derive(Debug)]
pub struct NetlinkRequest {
    bytes: Vec<u8>,
    flags: u16,
}

impl NetlinkRequest {
    /// A request to create something that does not exist yet.
    pub fn create(kind: u16) -> Self {
        Self::new(kind, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK)
    }

    /// A request to change something that exists.
    pub fn change(kind: u16) -> Self {
        Self::new(kind, NLM_F_ACK)
    }

    /// A request that is answered with an object instead of an acknowledgement.
    pub fn query(kind: u16) -> Self {
        Self::new(kind, 0)
    }

    /// A request for a whole table.
    pub fn dump(kind: u16) -> Self {
        Self::new(kind, NLM_F_DUMP)
    }

    fn new(kind: u16, flags: u16) -> Self {
        let flags = flags | NLM_F_REQUEST;
        // The length is filled in at the end.
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(SEQUENCE.to_ne_bytes());
        bytes.resize(HEADER, 0);
        Self { bytes, flags }
    }

    pub fn is_dump(&self) -> bool {
        self.flags & NLM_F_DUMP == NLM_F_DUMP
    }

    /// Appends the header of a family that has no method here.
    #[must_use]
    pub fn with(mut self, header: &[u8]) -> Self {
        self.bytes.extend(header);
        self
    }

    /// `ifinfomsg`: family, padding, type (2), index (4), flags (4), which flags change (4).
    pub fn interface(&mut self, index: u32, flags: u32) {
        self.bytes.extend([0; 4]);
        for word in [index, flags, flags] {
            self.bytes.extend(word.to_ne_bytes());
        }
    }

    /// `ifaddrmsg`: family, prefix length, flags, scope, index (4).
    pub fn address(&mut self, family: u8, prefix: u8, index: u32) {
        self.bytes.extend([family, prefix, 0, 0]);
        self.bytes.extend(index.to_ne_bytes());
    }

    /// `ndmsg`: family, padding (3), index (4), state (2), flags, type.
    pub fn neighbour(&mut self, family: u8, index: u32, state: u16) {
        self.bytes.extend([family, 0, 0, 0]);
        self.bytes.extend(index.to_ne_bytes());
        self.bytes.extend(state.to_ne_bytes());
        self.bytes.extend([0, 0]);
    }

    /// `rtmsg`: family, lengths of destination and source, service, table, protocol, scope, type,
    /// flags (4).
    pub fn route(&mut self, family: u8, prefix: u8) {
        self.bytes.extend([family, prefix, 0, 0, 0, 0, 0, 0]);
        self.bytes.extend([0; 4]);
    }

    /// Like [`Self::route`], for a static route to be added to the main table.
    pub fn unicast_route(&mut self, family: u8, prefix: u8) {
        self.bytes.extend([family, prefix, 0, 0]);
        self.bytes
            .extend([RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST]);
        self.bytes.extend([0; 4]);
    }

    /// `rtattr`: length with its own header (2), type (2), the value, padding to four bytes.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |inner| inner.bytes.extend(value));
    }

    /// Adds an attribute whose value `fill` writes.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes.splice(start..start + 2, length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes.splice(0..4, length.to_ne_bytes());
        self.bytes
    }
}
