//! The control stream of a peer. RFC 9114 §6.2.1 and §7.2.

use super::frame::{
    CANCEL_PUSH, DATA, FrameHead, GOAWAY, HEADERS, MAX_PUSH_ID, PUSH_PRIORITY, PUSH_PROMISE,
    REQUEST_PRIORITY, SETTINGS, read_only_varint, read_varint, unexpected, wrong_length,
};
use super::{Code, ProtocolError, Settings};
use crate::quic::Side;

/// The longest SETTINGS frame that is read, in bytes.
const MAX_SETTINGS: u64 = 4096;
/// The largest content of the other frames that are read: one integer.
const MAX_VARINT: u64 = 8;

#[derive(Debug)]
pub(super) struct ControlStream {
    peer: Side,
    /// The beginning of a frame whose rest has not arrived yet.
    held: Vec<u8>,
    /// The remaining bytes of a frame that is ignored.
    ignored: u64,
    settings: Option<Settings>,
    goaway: Option<u64>,
    max_push: Option<u64>,
}

impl ControlStream {
    pub(super) fn new(peer: Side) -> Self {
        Self {
            peer,
            held: Vec::new(),
            ignored: 0,
            settings: None,
            goaway: None,
            max_push: None,
        }
    }

    pub(super) fn settings(&self) -> Option<Settings> {
        self.settings
    }

    pub(super) fn goaway(&self) -> Option<u64> {
        self.goaway
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.ignored > 0 {
                let part = self.ignored.min(rest.len() as u64);
                self.ignored -= part;
                rest = rest.get(part as usize..).unwrap_or_default();
                continue;
            }
            // Frames on this stream are short and rare.
            let (byte, behind) = (rest.first().copied(), rest.get(1..));
            self.held.extend(byte);
            rest = behind.unwrap_or_default();
            self.step()?;
        }
        Ok(())
    }

    /// Handles a complete frame, or one whose content does not matter.
    fn step(&mut self) -> Result<(), ProtocolError> {
        let Some((head, size)) = FrameHead::read(&self.held) else {
            return Ok(());
        };
        if self.settings.is_none() && head.kind != SETTINGS {
            return Err(ProtocolError {
                code: Code::H3_MISSING_SETTINGS,
                why: "a control stream that does not begin with SETTINGS",
            });
        }
        let Some(longest) = self.longest(head)? else {
            return self.ignore(head, size);
        };
        if head.length > longest {
            let code = match head.kind {
                SETTINGS => Code::H3_EXCESSIVE_LOAD,
                _ => Code::H3_FRAME_ERROR,
            };
            let why = "a frame that is too long";
            return Err(ProtocolError { code, why });
        }
        if (self.held.len() - size) as u64 == head.length {
            let frame = std::mem::take(&mut self.held);
            self.on_frame(head.kind, frame.get(size..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Ignores a frame, except for the element that a priority is for.
    fn ignore(&mut self, head: FrameHead, size: usize) -> Result<(), ProtocolError> {
        let content = self.held.get(size..).unwrap_or_default();
        if matches!(head.kind, REQUEST_PRIORITY | PUSH_PRIORITY) {
            match read_varint(content) {
                Some((id, length)) if length as u64 <= head.length => check_element(head.kind, id)?,
                None if (content.len() as u64) < head.length => return Ok(()),
                _ => return Err(wrong_length()),
            }
        }
        self.ignored = head.length - content.len() as u64;
        self.held.clear();
        Ok(())
    }

    /// The longest content that a frame may have; `None` for one that is ignored.
    fn longest(&self, head: FrameHead) -> Result<Option<u64>, ProtocolError> {
        match head.kind {
            SETTINGS if self.settings.is_some() => Err(unexpected("a second SETTINGS frame")),
            SETTINGS => Ok(Some(MAX_SETTINGS)),
            MAX_PUSH_ID if self.peer == Side::Server => {
                Err(unexpected("a server's MAX_PUSH_ID frame"))
            }
            GOAWAY | CANCEL_PUSH | MAX_PUSH_ID => Ok(Some(MAX_VARINT)),
            DATA | HEADERS | PUSH_PROMISE => Err(unexpected("a frame for request streams")),
            REQUEST_PRIORITY | PUSH_PRIORITY if self.peer == Side::Server => {
                Err(unexpected("a server's PRIORITY_UPDATE frame"))
            }
            _ if head.is_reserved() => Err(unexpected("a frame type of HTTP/2")),
            _ => Ok(None),
        }
    }

    fn on_frame(&mut self, kind: u64, content: &[u8]) -> Result<(), ProtocolError> {
        if kind == SETTINGS {
            self.settings = Some(Settings::read(content)?);
            return Ok(());
        }
        let id = read_only_varint(content)?;
        match kind {
            GOAWAY => {
                // Servers name a request, clients a push. RFC 9114 §7.2.6.
                if self.peer == Side::Server && id % 4 != 0 {
                    return Err(wrong_id("a GOAWAY that names no request"));
                }
                if self.goaway.is_some_and(|before| before < id) {
                    return Err(wrong_id("a GOAWAY with a larger id than the one before"));
                }
                self.goaway = Some(id);
            }
            MAX_PUSH_ID => {
                if self.max_push.is_some_and(|before| before > id) {
                    return Err(wrong_id("a MAX_PUSH_ID that permits less"));
                }
                self.max_push = Some(id);
            }
            // No push was promised, and none was permitted. RFC 9114 §7.2.3.
            _ => return Err(wrong_id("a CANCEL_PUSH of a push that does not exist")),
        }
        Ok(())
    }
}

/// RFC 9218 §7.2. No push was promised.
fn check_element(kind: u64, id: u64) -> Result<(), ProtocolError> {
    if kind == PUSH_PRIORITY || !id.is_multiple_of(4) {
        return Err(wrong_id("a priority of what is no request"));
    }
    Ok(())
}

fn wrong_id(why: &'static str) -> ProtocolError {
    ProtocolError {
        code: Code::H3_ID_ERROR,
        why,
    }
}
