//! HTTP/3 with QPACK's dynamic tables. RFC 9114, RFC 9204.
//!
//! Push the frames of each opened packet, in the order of the capture, with one number that says
//! where they came from (the packet, or its time). Events begin at the packet that brought their
//! first byte, and end at the one with which they could be read.

mod stream;

use std::collections::BTreeMap;
use std::ops::Range;

use self::stream::{Http3Half, Http3Item};
use super::streams::{Assembly, Ordered};
use super::{HttpEvent, HttpFact, RequestFacts, ResponseFacts};
use crate::qpack::{Line, QpackTable, SectionProblem};
use crate::quic::{Frame, Frames, Side};

/// The number of streams that are remembered; the oldest are forgotten.
const MAX_STREAMS: usize = 4096;
/// The largest number of heads that wait for their tables. RFC 9204 §2.1.2: clients allow about a
/// hundred.
const MAX_WAITING: usize = 1024;
/// The approximate memory of a stream in bytes, beside what its content holds.
const PER_STREAM: usize = size_of::<Http3Stream>() + 64;

/// A connection, seen from outside.
#[derive(Default)]
pub struct Http3Reader {
    streams: BTreeMap<u64, Http3Stream>,
    client: SideState,
    server: SideState,
    /// The memory of what all streams hold, in bytes.
    held: usize,
}

#[derive(Default)]
struct Http3Stream {
    client: StreamDirection,
    server: StreamDirection,
    request: bool,
    response: bool,
}

#[derive(Default)]
struct StreamDirection {
    assembly: Assembly,
    half: Http3Half,
    ended: bool,
}

/// The state of one side of the connection.
#[derive(Default)]
struct SideState {
    /// The table that the side's encoder stream built up.
    table: QpackTable,
    /// The capacity that this side's settings allow the peer's encoder.
    max_capacity: Option<u64>,
    waiting: Vec<BlockedSection>,
    /// The memory of the sections that wait, in bytes.
    held: usize,
}

struct BlockedSection {
    stream: u64,
    section: Vec<u8>,
    at: Range<u64>,
}

impl Http3Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Roughly the number of bytes that the reader holds.
    pub fn held(&self) -> usize {
        let sides = [&self.client, &self.server];
        let sides = sides.map(|side| side.table.held() + side.held);
        self.streams.len() * PER_STREAM + self.held + sides.iter().sum::<usize>()
    }

    /// Takes the frames of a packet.
    pub fn push(&mut self, side: Side, frames: &[u8], place: u64, mut each: impl FnMut(HttpEvent)) {
        let at = place..place;
        for frame in Frames::new(frames).flatten() {
            let mut say = |stream: Option<u64>, what| {
                each(HttpEvent::new(side, stream, at.clone(), what));
            };
            match frame {
                Frame::Stream {
                    id,
                    offset,
                    data,
                    fin,
                } => self.read_stream(side, id, (offset, data, fin), place, &mut each),
                Frame::ResetStream { id, code, .. } | Frame::StopSending { id, code }
                    if is_of_request(id) =>
                {
                    say(Some(id), HttpFact::Reset { code });
                }
                Frame::DataBlocked(_) => say(None, HttpFact::Blocked),
                Frame::StreamDataBlocked { id, .. } if is_of_request(id) => {
                    say(Some(id), HttpFact::Blocked);
                }
                Frame::StreamsBlocked { bidi: true, .. } => say(None, HttpFact::StreamsBlocked),
                Frame::MaxStreams { bidi: true, limit } => say(None, HttpFact::MaxStreams(limit)),
                Frame::MaxData(limit) => say(None, HttpFact::Window(limit)),
                Frame::MaxStreamData { id, limit } if is_of_request(id) => {
                    say(Some(id), HttpFact::Window(limit));
                }
                _ => {}
            }
        }
    }

    fn read_stream(
        &mut self,
        side: Side,
        id: u64,
        (offset, data, fin): (u64, &[u8], bool),
        place: u64,
        each: &mut dyn FnMut(HttpEvent),
    ) {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&id) {
            // Unidirectional streams last as long as the connection.
            let oldest = self.streams.keys().find(|known| is_of_request(**known));
            let oldest = oldest.or(self.streams.keys().next_back()).copied();
            let oldest = oldest.and_then(|oldest| self.streams.remove(&oldest));
            self.held -= oldest.map_or(0, |oldest| oldest.held());
        }
        let stream = self.streams.entry(id).or_default();
        let direction = stream.direction(side);
        let before = direction.held();
        let is_unidirectional = id & 2 != 0;
        let mut all = Vec::new();
        let StreamDirection { assembly, half, .. } = direction;
        assembly.push(offset, data, fin, place, &mut |ordered| match ordered {
            Ordered::Bytes(bytes, at) => {
                half.push(is_unidirectional, bytes, at, &mut |read| all.push(read));
            }
            Ordered::Missing(length, at) => half.skip(length, at, &mut |read| all.push(read)),
        });
        let is_over = assembly.is_over() && !direction.ended;
        direction.ended |= is_over;
        self.held = self.held + direction.held() - before;
        for read in all {
            self.take(side, id, read, each);
        }
        if is_over && !is_unidirectional {
            // The table entries that its head still waits for were lost, but the peer had them.
            let mut waiting = std::mem::take(&mut self.side(side).waiting);
            for waiting in waiting.extract_if(.., |waiting| waiting.stream == id) {
                self.side(side).held -= waiting.section.capacity();
                self.read_section(side, waiting, false, each);
            }
            self.side(side).waiting = waiting;
            each(HttpEvent::new(side, id, place..place, HttpFact::End));
            if let Some(stream) = self.streams.get_mut(&id)
                && stream.client.ended
                && stream.server.ended
            {
                // Any later data is a repetition.
                let before = stream.held();
                stream.client.half = Http3Half::default();
                stream.server.half = Http3Half::default();
                self.held = self.held + stream.held() - before;
            }
        }
    }

    fn side(&mut self, side: Side) -> &mut SideState {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn take(&mut self, side: Side, id: u64, read: Http3Item, each: &mut dyn FnMut(HttpEvent)) {
        match read {
            Http3Item::Section { section, at } => {
                let stream = id;
                let head = BlockedSection {
                    stream,
                    section,
                    at,
                };
                self.read_section(side, head, true, each);
            }
            Http3Item::Data { length, at } => {
                each(HttpEvent::new(side, id, at, HttpFact::Body(length)));
            }
            Http3Item::Lost { at } => each(HttpEvent::new(side, id, at, HttpFact::Lost)),
            Http3Item::MaxTableCapacity(capacity) => self.side(side).max_capacity = Some(capacity),
            Http3Item::GoAway { last, at } => {
                let what = HttpFact::GoAway { last, code: 0 };
                each(HttpEvent::new(side, None, at, what));
            }
            Http3Item::Encoder { bytes, at } => {
                let table = &mut self.side(side).table;
                let before = table.inserted();
                table.push(&bytes);
                if table.inserted() == before {
                    return;
                }
                self.side(side).held = 0;
                for mut waiting in std::mem::take(&mut self.side(side).waiting) {
                    waiting.at.end = waiting.at.end.max(at.end);
                    self.read_section(side, waiting, true, each);
                }
            }
        }
    }

    fn read_section(
        &mut self,
        side: Side,
        head: BlockedSection,
        awaited: bool,
        each: &mut dyn FnMut(HttpEvent),
    ) {
        let allowed = match side {
            Side::Client => self.server.max_capacity,
            Side::Server => self.client.max_capacity,
        };
        let known = self.side(side);
        // If the settings were not seen: encoders use all the capacity that they may.
        let allowed = allowed.unwrap_or_else(|| known.table.capacity());
        match known.table.read(&head.section, allowed, awaited) {
            Ok(lines) => {
                let length = head.section.len();
                self.read_head(side, head.stream, length, &lines, head.at, each);
            }
            Err(SectionProblem::Early) if known.waiting.len() < MAX_WAITING => {
                known.held += head.section.capacity();
                known.waiting.push(head);
            }
            Err(_) => each(HttpEvent::new(side, head.stream, head.at, HttpFact::Lost)),
        }
    }

    fn read_head(
        &mut self,
        side: Side,
        id: u64,
        length: usize,
        lines: &[Line],
        at: Range<u64>,
        each: &mut dyn FnMut(HttpEvent),
    ) {
        let lines = lines
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()));
        let stream = self.streams.entry(id).or_default();
        let what = match side {
            Side::Client if stream.request => return,
            Side::Server if stream.response => return,
            Side::Client => {
                stream.request = true;
                HttpFact::Request(Box::new(RequestFacts::read(length, lines)))
            }
            Side::Server => {
                let facts = ResponseFacts::read(length, lines);
                if (100..200).contains(&facts.status) {
                    HttpFact::Interim(facts.status)
                } else {
                    stream.response = true;
                    HttpFact::Response(Box::new(facts))
                }
            }
        };
        each(HttpEvent::new(side, id, at, what));
    }
}

/// RFC 9114 §6.1.
fn is_of_request(id: u64) -> bool {
    id.is_multiple_of(4)
}

impl StreamDirection {
    fn held(&self) -> usize {
        self.assembly.held() + self.half.held()
    }
}

impl Http3Stream {
    fn held(&self) -> usize {
        self.client.held() + self.server.held()
    }

    fn direction(&mut self, side: Side) -> &mut StreamDirection {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}
