//! The events of an s2n-quic endpoint, added up over all of its connections. They do not show which
//! packets are retransmissions, nor what windows held back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use s2n_quic::provider::event::events::{
    DatagramReceived, DatagramSent, EndpointMeta, Frame, FrameReceived, FrameSent, MtuUpdated,
    PacketLost, PlatformRx, PlatformTx,
};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};

use crate::engine::WireCounters;

#[derive(Debug, Default)]
pub(super) struct S2nCounters {
    packets_sent: AtomicU64,
    packets_received: AtomicU64,
    acks_sent: AtomicU64,
    acks_received: AtomicU64,
    lost: AtomicU64,
    send_calls: AtomicU64,
    receive_calls: AtomicU64,
    /// The current value; connections of a side share their path.
    largest: AtomicU64,
}

/// Receives all events. Only the one task of an endpoint calls it, so its counters need no lock.
pub(super) struct S2nEvents(pub(super) Arc<S2nCounters>);

impl S2nCounters {
    pub(super) fn wire(&self) -> WireCounters {
        let read = |counter: &AtomicU64| Some(counter.load(Ordering::Relaxed));
        WireCounters {
            packets_sent: read(&self.packets_sent),
            packets_received: read(&self.packets_received),
            acks_sent: read(&self.acks_sent),
            acks_received: read(&self.acks_received),
            lost: read(&self.lost),
            retransmitted: None,
            send_calls: read(&self.send_calls),
            receive_calls: read(&self.receive_calls),
            largest: read(&self.largest).filter(|largest| *largest > 0),
            held_by_window: None,
        }
    }
}

fn add(counter: &AtomicU64, n: usize) {
    let so_far = counter.load(Ordering::Relaxed);
    counter.store(so_far + n as u64, Ordering::Relaxed);
}

impl Subscriber for S2nEvents {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo<'_>) {}

    fn on_datagram_sent(&mut self, (): &mut (), _: &ConnectionMeta, _: &DatagramSent) {
        add(&self.0.packets_sent, 1);
    }

    fn on_datagram_received(&mut self, (): &mut (), _: &ConnectionMeta, _: &DatagramReceived) {
        add(&self.0.packets_received, 1);
    }

    fn on_frame_sent(&mut self, (): &mut (), _: &ConnectionMeta, event: &FrameSent) {
        if matches!(event.frame, Frame::Ack { .. }) {
            add(&self.0.acks_sent, 1);
        }
    }

    fn on_frame_received(&mut self, (): &mut (), _: &ConnectionMeta, event: &FrameReceived<'_>) {
        if matches!(event.frame, Frame::Ack { .. }) {
            add(&self.0.acks_received, 1);
        }
    }

    /// A lost MTU probe is not a loss.
    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, event: &PacketLost<'_>) {
        add(&self.0.lost, usize::from(!event.is_mtu_probe));
    }

    fn on_mtu_updated(&mut self, (): &mut (), _: &ConnectionMeta, event: &MtuUpdated) {
        self.0.largest.store(event.mtu.into(), Ordering::Relaxed);
    }

    fn on_platform_tx(&mut self, _: &EndpointMeta, event: &PlatformTx) {
        let carried = event.syscalls.saturating_sub(event.blocked_syscalls);
        add(&self.0.send_calls, carried);
    }

    fn on_platform_rx(&mut self, _: &EndpointMeta, event: &PlatformRx) {
        let carried = event.syscalls.saturating_sub(event.blocked_syscalls);
        add(&self.0.receive_calls, carried);
    }
}
