//! Early data that was sent without benefit.

use roundtrip_model::{EarlyData, PhaseName, Setting};

use crate::{Case, Cause, CauseFamily, Cost, Decidable};

const ALLOW: &[Setting] = &[
    Setting::new("nginx", "ssl_early_data on;"),
    Setting::new("HAProxy", "bind :443 ssl crt FILE allow-0rtt"),
    Setting::new("OpenSSL (server)", "SSL_CTX_set_max_early_data()"),
];

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Early data",
    causes: &[
        Cause {
            id: "early-data-refused",
            decidable: Decidable::Packets,
            name: "The server did not accept the early data, and the request was sent again",
            shows: "early data was offered under a ticket, and the server continued without it",
            signature: refused,
            cost: "1 round trip",
            remedy: "allow early data for requests that may be replayed, and share ticket keys and replay protection among all servers behind the address; if it is never accepted, stop offering it",
            settings: ALLOW,
            source: "RFC 8446 §2.3 and §4.2.10",
        },
        Cause {
            id: "too-early",
            decidable: Decidable::Content,
            name: "The server answered early data with 425 Too Early, and the request was sent again",
            shows: "early data was accepted by TLS, and the status was 425",
            signature: too_early,
            cost: "1 round trip",
            remedy: "let the origin accept early data if a replay does no harm: a proxy in front marks such requests with Early-Data: 1",
            settings: &[
                Setting::new("nginx", "proxy_set_header Early-Data $ssl_early_data;"),
                Setting::new(
                    "HAProxy",
                    "http-request wait-for-handshake (only for requests that must not be replayed)",
                ),
            ],
            source: "RFC 8470 §5.2",
        },
    ],
};

fn refused(case: &Case<'_>) -> Option<Cost> {
    let tls = case.tls()?;
    if tls.early_data != EarlyData::Refused {
        return None;
    }
    let why = if tls.hello_retry {
        "early data cannot be accepted after a HelloRetryRequest"
    } else if tls.resumed {
        "the ticket itself was accepted"
    } else {
        "the ticket was refused as well"
    };
    let evidence = format!("the request left as early data and had to be sent again: {why}");
    case.trips(case.handshake(), 1, evidence)
}

fn too_early(case: &Case<'_>) -> Option<Cost> {
    let accepted = case.tls()?.early_data == EarlyData::Accepted;
    (accepted && case.is_too_early())
        .then(|| {
            let evidence = "the status is 425: this round trip brought no answer";
            case.trips(PhaseName::FirstByte, 1, evidence)
        })
        .flatten()
}
