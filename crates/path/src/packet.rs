//! A packet in transit, with the frame around it as the packet socket delivered it.

use std::time::Duration;

use crate::direction::Direction;
use crate::frame;

/// An IP packet in transit.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// `virtio_net_hdr`, Ethernet header, IP packet.
    frame: Vec<u8>,
    /// The time at which the packet entered the path, on the path's clock.
    pub(crate) arrived: Duration,
    /// The changes made to the packet; only present if a recording will contain it.
    story: Option<Box<PacketHistory>>,
}

/// The history that a recorded packet carries.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketHistory {
    /// The packet's number in the recording; `None` if the path made the packet.
    pub(crate) number: Option<u64>,
    /// The received frame; empty for a packet that the path made.
    pub(crate) original: Vec<u8>,
    pub(crate) remarks: Vec<String>,
}

impl Packet {
    /// A received frame that was checked to hold an IP packet. `recorded` is its number in the
    /// recording.
    pub(crate) fn arrived(frame: Vec<u8>, at: Duration, recorded: Option<u64>) -> Self {
        let original = || frame.get(frame::HEADERS..).unwrap_or_default().to_vec();
        let story = recorded.map(|number| {
            Box::new(PacketHistory {
                number: Some(number),
                original: original(),
                remarks: Vec::new(),
            })
        });
        Self {
            frame,
            arrived: at,
            story,
        }
    }

    /// A packet that the path itself sends in this direction.
    pub(crate) fn made(ip: &[u8], way: Direction, at: Duration) -> Self {
        Self {
            frame: frame::around(ip, way),
            arrived: at,
            story: Some(Box::default()),
        }
    }

    pub(crate) fn ip(&self) -> &[u8] {
        self.frame.get(frame::HEADERS..).unwrap_or_default()
    }

    pub(crate) fn ip_mut(&mut self) -> &mut [u8] {
        self.frame.get_mut(frame::HEADERS..).unwrap_or_default()
    }

    /// Length of the IP packet in bytes.
    pub(crate) fn length(&self) -> usize {
        self.frame.len().saturating_sub(frame::HEADERS)
    }

    /// Replaces the IP packet.
    pub(crate) fn replace(&mut self, ip: &[u8]) {
        self.frame.truncate(frame::HEADERS);
        self.frame.extend_from_slice(ip);
    }

    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame
    }

    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<Box<PacketHistory>>) {
        (self.frame, self.story)
    }

    /// A copy, which counts as made by the path.
    pub(crate) fn twin(&self) -> Self {
        let mut twin = self.clone();
        if let Some(story) = &mut twin.story {
            (story.number, story.original) = (None, Vec::new());
        }
        twin
    }

    pub(crate) fn story(&self) -> Option<&PacketHistory> {
        self.story.as_deref()
    }

    /// Records a change to the packet, for the recording.
    pub(crate) fn remark(&mut self, text: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.remarks.push(text());
        }
    }
}

#[cfg(test)]
impl Packet {
    /// Makes a packet of these bytes, for tests.
    pub(crate) fn from_ip(ip: &[u8], at: Duration) -> Self {
        Self::arrived(frame::around(ip, Direction::Up), at, Some(1))
    }

    pub(crate) fn remarks(&self) -> &[String] {
        self.story.as_ref().map_or(&[], |story| &story.remarks)
    }
}
