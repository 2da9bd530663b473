//! Session resumption that was requested and did not happen.

use roundtrip_model::{Memory, Setting, Task, TlsFacts};

use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Resumption",
    causes: &[
        Cause {
            id: "ticket-refused",
            decidable: Decidable::Packets,
            name: "A ticket was offered, but the server made a full handshake",
            shows: "a ticket of an earlier connection was in the ClientHello, but the session was not resumed",
            signature: ticket_refused,
            cost: "1 round trip with TLS 1.2; with TLS 1.3 the certificates, their verification and the server's signature",
            remedy: "share ticket keys among all servers behind the address, and keep them for as long as tickets live",
            settings: &[
                Setting::new("nginx", "ssl_session_ticket_key shared.key;"),
                Setting::new(
                    "HAProxy",
                    "bind :443 ssl crt FILE tls-ticket-keys shared.keys",
                ),
                Setting::new("Apache", "SSLSessionTicketKeyFile shared.key"),
                Setting::new("OpenSSL", "SSL_CTX_set_tlsext_ticket_key_evp_cb()"),
            ],
            source: "RFC 8446 §2.2 and §4.6.1; RFC 5077 §3.1",
        },
        Cause {
            id: "no-ticket",
            decidable: Decidable::ClientItself,
            name: "The server issued no ticket, so nothing could be resumed",
            shows: "resumption was requested, but an earlier connection had left no ticket, and the handshake was a full one",
            signature: no_ticket,
            cost: "1 round trip with TLS 1.2; with TLS 1.3 the certificates, their verification and the server's signature",
            remedy: "let the server issue tickets, or cache sessions",
            settings: &[
                Setting::new(
                    "nginx",
                    "ssl_session_tickets on; ssl_session_cache shared:tls:10m;",
                ),
                Setting::new("HAProxy", "no no-tls-tickets among the bind options"),
                Setting::new("Apache", "SSLSessionTickets on"),
                Setting::new("OpenSSL", "SSL_CTX_set_num_tickets()"),
            ],
            source: "RFC 8446 §4.6.1; RFC 5077 §3.1",
        },
    ],
};

/// A full handshake instead of the abbreviated one: its verification, and the second round trip of
/// TLS 1.2.
fn not_resumed(case: &Case<'_>, tls: &TlsFacts, evidence: String) -> Option<Cost> {
    if case.exchange.asked.memory == Memory::Cold || tls.resumed {
        return None;
    }
    let phase = case.handshake();
    let verified = case.worked(phase, &[Task::Verify]);
    let cost = if tls.version == "TLSv1.2" {
        let more = case.round_trips(phase).min(2).saturating_sub(1);
        case.trips(phase, more, evidence.as_str())
            .unwrap_or_else(|| Cost::new(evidence))
    } else {
        Cost::new(evidence)
    };
    Some(cost.waited(phase, WaitPart::Client, verified))
}

fn ticket_refused(case: &Case<'_>) -> Option<Cost> {
    let tls = case.tls().filter(|t| t.ticket_shown)?;
    let evidence = format!(
        "a ticket was offered, but a full {} handshake took place",
        tls.version
    );
    not_resumed(case, tls, evidence)
}

fn no_ticket(case: &Case<'_>) -> Option<Cost> {
    let tls = case
        .tls()
        .filter(|t| !t.ticket_shown && case.exchange.primed)?;
    let evidence = format!(
        "an earlier connection had left no ticket: a full {} handshake took place",
        tls.version
    );
    not_resumed(case, tls, evidence)
}
