//! A slow uplink: bytes that take a long time to leave. `upload` covers data that a window held
//! back.

use roundtrip_model::Setting;

use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "The uplink",
    causes: &[Cause {
        id: "slow-uplink",
        decidable: Decidable::Packets,
        name: "The uplink took a long time to transmit the request",
        shows: "the kernel measured the delivery rate, over more than one segment, and it was lower than a window per round trip; if little was sent, the acknowledgements of two flights of different size confirm it",
        signature: slow,
        cost: "bytes ÷ rate: 14 ms for a post-quantum ClientHello and 0.8 s for 100 kB at 1 Mbit/s",
        remedy: "send less: compressed bodies, shorter cookies, a ClientHello that fits one segment (strategy -pq); or use a faster uplink",
        settings: &[
            Setting::new("OpenSSL (client)", "Groups = X25519"),
            Setting::new(
                "curl",
                "gzip -c FILE | curl -H 'Content-Encoding: gzip' --data-binary @- URL, if the server accepts it",
            ),
        ],
        source: "tcp(7) (TCP_INFO: tcpi_delivery_rate); RFC 5681 §4.2",
    }],
};

fn slow(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.exchange.tcp.as_ref()?;
    let carried: f64 = case.phases.iter().map(|p| p.carried).sum();
    // The SYN-ACK was as late, although it has hardly any bytes.
    if carried <= 2.0 * case.syn_lateness() {
        return None;
    }
    let mut cost = Cost::new(format!(
        "the sent data needed {carried:.1} ms beyond the round trips; the kernel measured a delivery rate of {:.0} kB/s",
        tcp.delivery_rate as f64 / 1e3
    ));
    for phase in case.phases.iter().filter(|p| p.carried > 0.0) {
        cost = cost.waited(phase.name, WaitPart::Network, phase.carried);
    }
    Some(cost)
}
