//! The captures to explain: one, or two that were made at different places at the same time.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;

use roundtrip_trace::{ClockRelation, Clocks, Trace};
use roundtrip_wire::capture::CaptureItem;
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::pcapng::Captured;

use super::keys::KeyFiles;
use super::source::CaptureSource;

pub(super) enum Captures {
    One(Box<CaptureSource>),
    Two(Box<CapturePair>),
}

impl Captures {
    /// Reads the next piece into the trace. Returns whether there may be more.
    pub(super) fn read(&mut self, trace: &mut Trace, keys: &mut KeyFiles) -> io::Result<bool> {
        match self {
            Self::One(source) => {
                let more = source.fill()?;
                keys.add_new(trace);
                source.items(&mut |item| trace.take(item))?;
                trace.silence(source.silence());
                Ok(more)
            }
            Self::Two(pair) => pair.read(trace),
        }
    }

    /// Whether a capture has secrets after packets.
    pub(super) fn has_late_secrets(&self) -> bool {
        match self {
            Self::One(source) => source.has_late_secrets(),
            // Their secrets are known before they are read.
            Self::Two(_) => false,
        }
    }

    pub(super) fn damaged(&self) -> u64 {
        match self {
            Self::One(source) => source.damaged(),
            Self::Two(pair) => pair.near.source.damaged() + pair.far.source.damaged(),
        }
    }

    pub(super) fn left_over(&self) -> usize {
        match self {
            Self::One(source) => source.left_over(),
            Self::Two(pair) => pair
                .near
                .source
                .left_over()
                .max(pair.far.source.left_over()),
        }
    }

    pub(super) fn progress(&self, packets: u64, took: Duration) -> String {
        match self {
            Self::One(source) => source.progress(packets, took),
            Self::Two(pair) => pair.near.source.progress(packets, took),
        }
    }
}

/// Two captures, read in the order of time.
pub(super) struct CapturePair {
    near: CaptureQueue,
    far: CaptureQueue,
    relation: ClockRelation,
}

impl CapturePair {
    pub(super) fn open(near: &Path, far: &Path, relation: ClockRelation) -> io::Result<Self> {
        Ok(Self {
            near: CaptureQueue::new(CaptureSource::open(near)?),
            far: CaptureQueue::new(CaptureSource::open(far)?),
            relation,
        })
    }

    fn read(&mut self, trace: &mut Trace) -> io::Result<bool> {
        let result = self.near.fill().and(self.far.fill());
        loop {
            let (near, far) = (self.near.front(), self.far.front());
            let moved = far.map(|at| self.relation.moved(at));
            let near_is_next = match (near, moved) {
                (Some(near), Some(far)) => near <= far,
                (Some(_), None) if self.far.is_over => true,
                (None, Some(_)) if self.near.is_over => false,
                _ => break,
            };
            let queue = if near_is_next {
                &mut self.near
            } else {
                &mut self.far
            };
            match queue.items.pop_front() {
                Some(mut packet) => {
                    queue.frame += 1;
                    trace.push_of_two(!near_is_next, queue.frame, &mut packet);
                }
                None => break,
            }
        }
        result?;
        Ok(!(self.near.is_over && self.far.is_over))
    }
}

/// A capture whose next packets wait for their turn.
struct CaptureQueue {
    source: CaptureSource,
    items: VecDeque<Captured<'static>>,
    is_over: bool,
    /// The number of packets that were taken out.
    frame: u64,
}

impl CaptureQueue {
    fn new(source: CaptureSource) -> Self {
        Self {
            source,
            items: VecDeque::new(),
            is_over: false,
            frame: 0,
        }
    }

    /// Reads a piece if nothing is left of the last one.
    fn fill(&mut self) -> io::Result<()> {
        if self.is_over || !self.items.is_empty() {
            return Ok(());
        }
        let items = &mut self.items;
        let more = self.source.read(&mut |item| {
            if let CaptureItem::Packet(packet) = item {
                items.push_back(owned(packet));
            }
        });
        self.is_over = !matches!(more, Ok(true));
        more.map(drop)
    }

    /// The time of the next packet; 0 if the packet has no time.
    fn front(&self) -> Option<u64> {
        let next = self.items.front();
        next.map(|packet| packet.time.unwrap_or(0))
    }
}

fn owned(packet: Captured<'_>) -> Captured<'static> {
    Captured {
        data: Cow::Owned(packet.data.into_owned()),
        // The comments are not used.
        comments: Vec::new(),
        ..packet
    }
}

/// How two captures relate; `None` if they have too few packets in common. Adds the secrets in them
/// to `keys`.
pub(super) fn relate(
    files: [&Path; 2],
    clocks: &mut Clocks,
    keys: &mut KeyLog,
) -> io::Result<Option<ClockRelation>> {
    for (n, file) in files.into_iter().enumerate() {
        let mut source = CaptureSource::open(file)?;
        let mut note = |item: CaptureItem<'_>| match item {
            CaptureItem::Packet(packet) => clocks.note(n, &packet),
            CaptureItem::Secrets(lines) => {
                keys.push(lines);
                keys.finish();
            }
            CaptureItem::Interface(_) => {}
        };
        // If it breaks off, the second reading reports it.
        while matches!(source.read(&mut note), Ok(true)) {}
    }
    Ok(clocks.relation())
}
