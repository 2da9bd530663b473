//! Writes sights to a pcapng file.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use roundtrip_wire::pcapng::{self, Captured, Interface, LinkType, Section};

use super::order::SightQueue;
use super::{PacketSight, PathEnd, RecordingEvent};
use crate::side::{CLIENT, PathSide, SERVER};

/// How often the file is flushed, for readers that follow it while it grows.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct RecordingWriter {
    file: File,
    /// The realtime clock at zero of the path's clock.
    epoch: Duration,
    blocks: pcapng::PcapngWriter,
}

impl RecordingWriter {
    pub(super) fn begin(file: File, epoch: Duration) -> io::Result<Self> {
        let section = Section {
            application: Some(concat!("roundtrip path ", env!("CARGO_PKG_VERSION")).into()),
            ..Section::default()
        };
        let mut blocks = pcapng::PcapngWriter::new(&section).map_err(io::Error::other)?;
        for (name, side) in [("client", CLIENT), ("server", SERVER)] {
            blocks
                .interface(&interface(name, side))
                .map_err(io::Error::other)?;
        }
        let mut writer = Self {
            file,
            epoch,
            blocks,
        };
        writer.flush()?;
        Ok(writer)
    }

    /// Writes until the relay closes its channel.
    pub(super) fn write_all(mut self, notes: &Receiver<RecordingEvent>) -> io::Result<()> {
        let mut order = SightQueue::default();
        let mut next = Instant::now() + FLUSH_INTERVAL;
        loop {
            match notes.recv_timeout(FLUSH_INTERVAL) {
                Ok(note) => order.hear(note),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= next {
                self.write(order.ripe().into_values())?;
                next = Instant::now() + FLUSH_INTERVAL;
            }
        }
        self.write(order.rest().into_values())
    }

    fn write(&mut self, sights: impl Iterator<Item = PacketSight>) -> io::Result<()> {
        for sight in sights {
            let captured = self.captured(sight);
            self.blocks.packet(&captured).map_err(io::Error::other)?;
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.blocks.take())
    }

    fn captured(&self, sight: PacketSight) -> Captured<'static> {
        let time = (self.epoch + sight.at).as_nanos();
        Captured {
            interface: match sight.end {
                PathEnd::Client => 0,
                PathEnd::Server => 1,
            },
            link: LinkType::RAW,
            time: u64::try_from(time).ok(),
            original_length: u32::try_from(sight.packet.len()).unwrap_or(u32::MAX),
            data: sight.packet.into(),
            // The direction from the point of view of the host at this end.
            direction: Some(if sight.leaves {
                pcapng::PacketDirection::Inbound
            } else {
                pcapng::PacketDirection::Outbound
            }),
            comments: sight.comments.into_iter().map(Into::into).collect(),
        }
    }
}

fn interface(name: &'static str, side: PathSide) -> Interface<'static> {
    Interface {
        link: LinkType::RAW,
        snap_length: 0,
        name: Some(name.into()),
        description: Some(
            format!("the {name}'s end of the path, {} and {}", side.v4, side.v6).into(),
        ),
        comments: Vec::new(),
    }
}
