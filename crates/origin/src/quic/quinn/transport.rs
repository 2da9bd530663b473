//! The transport configuration of quinn's connections. The path MTU that a client's first datagrams
//! prove is not used: quinn does not reveal it.

use std::time::Duration;

use quinn::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig};

/// Packets that need not be acknowledged; the next one is acknowledged at once, so one
/// acknowledgement covers ten packets (draft-ietf-quic-ack-frequency §4).
const UNACKNOWLEDGED: u32 = 9;
/// How long an acknowledgement may wait for further packets. A new congestion window may hold fewer
/// than ten packets, and no more arrive until they are acknowledged: the usual 25 ms (RFC 9000
/// §18.2) would cost more than was saved.
const ACK_WAITS: Duration = Duration::from_millis(4);

/// quinn's defaults, with two exceptions: acknowledgements are requested less often if the peer
/// supports that (draft-ietf-quic-ack-frequency), and path MTU discovery is always on (RFC 8899),
/// even if quinn's default changes.
pub(crate) fn transport_config() -> TransportConfig {
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(UNACKNOWLEDGED.into())
        .max_ack_delay(Some(ACK_WAITS));
    let mut config = TransportConfig::default();
    config
        .ack_frequency_config(Some(acks))
        .mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    config
}
