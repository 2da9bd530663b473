//! The time between the ClientHello and the first byte of its answer.

use roundtrip_model::{EarlyData, Event, Moment, PhaseName, Setting};

use crate::case::ms;
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

/// The time in milliseconds that a busy server may need for a key exchange and a signature.
pub(super) const MAX_HANDSHAKE_WORK: f64 = 10.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "The ClientHello",
    causes: &[
        Cause {
            id: "large-hello-lost",
            decidable: Decidable::ClientEnd,
            name: "A ClientHello of more than one segment was never answered",
            shows: "the handshake ended without a byte from the server, and the kernel retransmitted the client's data again and again",
            signature: hello_lost,
            cost: "the client's whole timeout",
            remedy: "repair the device that drops it: a middlebox that expects a ClientHello in one packet, or a link that carries no full segments; without the post-quantum share the ClientHello fits one segment (strategy -pq)",
            settings: &[
                Setting::new("OpenSSL (client)", "Groups = X25519"),
                Setting::new(
                    "Linux (router)",
                    "nft add rule inet filter forward tcp flags syn tcp option maxseg size set rt mtu",
                ),
            ],
            source: "RFC 8446 §4.1.2 and §5.1; RFC 2923 §2.1",
        },
        Cause {
            id: "slow-tls-server",
            decidable: Decidable::Packets,
            name: "The server took a long time to answer the ClientHello",
            shows: "the first byte of the server's flight came later than one round trip after the ClientHello, by at least 10 ms and by more than the path varies, although the peer had acknowledged the ClientHello before; unless the answer to the request was as late",
            signature: slow_server,
            cost: "the time that the server took",
            remedy: "use an ECDSA key, look for a queue before the server (few workers, a full accept queue, a key in slow hardware), resume sessions",
            settings: &[
                Setting::new("nginx", "worker_processes auto; ssl_certificate ecdsa.pem;"),
                Setting::new("HAProxy", "nbthread and bind :443 ssl crt ecdsa.pem"),
                Setting::new(
                    "Apache",
                    "MaxRequestWorkers and SSLCertificateFile ecdsa.pem",
                ),
            ],
            source: "RFC 8446 §2; RFC 8422 §1",
        },
    ],
};

fn hello_lost(case: &Case<'_>) -> Option<Cost> {
    let tcp = case.tcp()?;
    let began = case
        .exchange
        .timeline
        .first(|e| *e == Event::HandshakeStarted)?;
    let later = case.exchange.timeline.iter().filter(|(at, _)| *at >= began);
    let (mut sent, mut received) = (0, 0);
    for (_, event) in later {
        match event {
            Event::Sent { bytes } => sent += bytes,
            Event::Received { bytes } => received += bytes,
            _ => {}
        }
    }
    let again = tcp.retransmits.saturating_sub(tcp.syn_retransmits);
    let unheard = case.exchange.failure.is_some() && received == 0 && again > 0;
    (unheard && sent > case.exchange.segment()).then(|| {
        let evidence = format!(
            "{sent} bytes of ClientHello ({} fit a segment) were sent, {again} segments were sent again, and nothing came",
            case.exchange.segment()
        );
        let parts = [WaitPart::Network, WaitPart::Server, WaitPart::Loss];
        case.add_waits(Cost::new(evidence), &[PhaseName::Tls], &parts)
    })
}

fn slow_server(case: &Case<'_>) -> Option<Cost> {
    let (late, sent, answered) = lateness(case).filter(|_| !super::http::may_be_farther(case))?;
    let witness = case.acknowledged_before(sent, answered)?;
    let doubt = case.doubt(late);
    let late = case.served(late, witness);
    // An acknowledgement crosses a slow line sooner than the server's flight.
    let carried = case.exchange.carriage_of_answer(sent, answered);
    (late >= MAX_HANDSHAKE_WORK.max(0.1 * case.rtt?) + carried).then(|| {
        let evidence = format!(
            "the server's flight began {late:.1} ms later than a round trip after the ClientHello, although the peer had acknowledged that {:.1} ms before{doubt}",
            witness.early
        );
        Cost::new(evidence).waited(case.handshake(), WaitPart::Server, late)
    })
}

/// How many milliseconds later than a round trip after the ClientHello the server's flight began,
/// and the times of both.
pub(super) fn lateness(case: &Case<'_>) -> Option<(f64, Moment, Moment)> {
    let (tls, r) = (case.tls()?, case.rtt?);
    let in_syn = case.tcp().is_some_and(|t| t.fast_open.cookie);
    let tunnelled = case.happened(|e| *e == Event::TunnelReady);
    if in_syn || tunnelled || tls.early_data != EarlyData::NotOffered {
        return None;
    }
    let began = case
        .exchange
        .timeline
        .last(|e| *e == Event::HandshakeStarted)?;
    let after = |is: fn(&Event) -> bool, than: Moment| {
        let mut events = case.exchange.timeline.iter();
        events
            .find(|(at, e)| *at >= than && is(e))
            .map(|(at, _)| *at)
    };
    let sent = after(|e| matches!(e, Event::Sent { .. }), began)?;
    let answered = after(|e| matches!(e, Event::Received { .. }), sent)?;
    let late = ms(answered.since(sent)) - r;
    let late = late.min(case.waited(case.handshake(), WaitPart::Server));
    Some((late, sent, answered))
}
