//! Whether the round trip is long enough to be told from the delays of the two hosts.

use std::time::Duration;

use crate::Exchange;

/// On shorter paths, such as a host's loopback, gaps cannot be told from scheduling.
pub(super) const MIN_TELLING_RTT: Duration = Duration::from_micros(200);
/// The same for QUIC: programs acknowledge its packets, and not the kernels, so that R contains
/// how long both programs waited for a processor.
const MIN_TELLING_QUIC_RTT: Duration = Duration::from_millis(2);
/// The same on one host, whose processors both programs share.
const MIN_TELLING_OF_ONE_HOST: Duration = Duration::from_millis(10);

/// Whether a wait of a round trip can be told from other waits of this exchange.
pub(super) fn is_telling(exchange: &Exchange) -> bool {
    let Some(quic) = &exchange.quic else {
        return exchange.rtt.is_some_and(|rtt| rtt >= MIN_TELLING_RTT);
    };
    let is_here = quic.peer.is_some_and(|peer| {
        peer.ip().to_canonical().is_loopback()
            || quic.local.is_some_and(|local| local.ip() == peer.ip())
    });
    let shortest = if is_here {
        MIN_TELLING_OF_ONE_HOST
    } else {
        MIN_TELLING_QUIC_RTT
    };
    exchange.rtt.is_some_and(|rtt| rtt >= shortest)
}
