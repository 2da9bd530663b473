//! The owners of the frames in packets: what they write into a packet, and how they learn what
//! became of it.

mod arrival;
mod feedback;
mod packets;
mod payload;

use super::Connection;
use super::ack_frequency::AckFrequency;
use super::control::Control;
use super::ids::LocalIds;
use super::paths::Paths;
use super::remote_ids::RemoteIds;
use crate::crypto::Crypto;
use crate::received::Received;
use crate::recovery::Recovery;
use crate::sent::SentFrame;
use crate::stats::Stats;
use crate::streams::Streams;

pub(super) use packets::PacketWriter;
use payload::write_chunks;

/// Borrows only those parts of a connection that own frames; its state and its handshake are not
/// needed here.
///
/// The receiving loop passes frames that concern only an owner to [`Self::on_frame`]. A
/// [`PacketWriter`] calls [`Self::write_payload`] for each packet that holds more than stream data,
/// and seals the packet. Recovery settles the packet later. The caller of recovery then calls
/// [`Self::on_settled`], once for each acknowledgement or timer, so that each owner learns which of
/// its frames arrived and which it has to send again.
pub(super) struct FrameOwners<'a> {
    crypto: &'a mut Crypto,
    recovery: &'a mut Recovery,
    /// The received packets of each space, by [`crate::space::Space::index`].
    received: &'a mut [Received; 3],
    streams: &'a mut Streams,
    local_ids: &'a mut LocalIds,
    remote_ids: &'a mut RemoteIds,
    paths: &'a mut Paths,
    control: &'a mut Control,
    ack_frequency: &'a mut AckFrequency,
    stats: &'a mut Stats,
    /// The frames of the packet being written, apart from its run of stream data.
    items: &'a mut Vec<SentFrame>,
}

/// Makes the view of a connection. It is a macro, since a function would borrow all of it.
macro_rules! borrow_owners {
    ($connection:ident) => {
        FrameOwners {
            crypto: &mut $connection.crypto,
            recovery: &mut $connection.recovery,
            received: &mut $connection.received,
            streams: &mut $connection.streams,
            local_ids: &mut $connection.local_ids,
            remote_ids: &mut $connection.remote_ids,
            paths: &mut $connection.paths,
            control: &mut $connection.control,
            ack_frequency: &mut $connection.ack_frequency,
            stats: &mut $connection.stats,
            items: &mut $connection.items,
        }
    };
}
use borrow_owners;

impl<'a> FrameOwners<'a> {
    #[inline]
    pub(super) fn new(connection: &'a mut Connection) -> Self {
        borrow_owners!(connection)
    }
}
