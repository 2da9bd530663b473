//! How quinn's connections go about their transport. What the size of a client's first datagrams proves about the path stays
//! unused: quinn does not tell it to who accepts a connection.

use std::time::Duration;

use quinn::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig};

/// So many packets may come unacknowledged, and the next is acknowledged at once: one acknowledgement for ten packets.
/// draft-ietf-quic-ack-frequency §4.
const UNACKNOWLEDGED: u32 = 9;
/// How long an acknowledgement may wait for the packets that are to come. A window that is just being opened may hold fewer
/// than ten, and nothing more comes until it is acknowledged: with the usual 25 ms (RFC 9000 §18.2) that would cost more than
/// was saved.
const ACK_WAITS: Duration = Duration::from_millis(4);

/// quinn's defaults, but for acknowledgements, which are asked for more rarely where the peer knows how
/// (draft-ietf-quic-ack-frequency), and with a search for the largest datagram, whatever quinn's default becomes (RFC 8899).
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
