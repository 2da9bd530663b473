//! The client's own time: what its libraries computed while nobody waited for a packet.

use std::collections::BTreeMap;

use roundtrip_model::{Event, Phase, PhaseName, Task};

use crate::case::ms;
use crate::{Case, Cause, Cost, Family, Part, Setting};

/// A TLS library that is warm needs about a millisecond for all of its work.
const MUCH: f64 = 10.0;

pub(super) const FAMILY: Family = Family {
    title: "The client",
    causes: &[Cause {
        id: "slow-client-library",
        name: "The client computed for long before and during the handshake",
        shows: "tasks of the client (configuration, trusted certificates, keys, verification) took 10 ms or more in which no packet was under way",
        signature: slow_library,
        remedy: "set the library up once and keep it, load a small CA bundle, load no engines or PKCS#11 modules that are not needed, prefer ECDSA and X25519",
        settings: &[
            Setting::new(
                "OpenSSL",
                "SSL_CERT_FILE=one-bundle.pem OPENSSL_CONF=/dev/null",
            ),
            Setting::new("curl", "--cacert one-bundle.pem"),
        ],
        source: "openssl-env(7); ossl-guide-libraries-introduction(7)",
    }],
};

const PHASES: [PhaseName; 4] = [
    PhaseName::Setup,
    PhaseName::Tls,
    PhaseName::Quic,
    PhaseName::Request,
];

fn slow_library(case: &Case<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    let mut told: BTreeMap<&str, f64> = BTreeMap::new();
    for phase in case.phases.iter().filter(|p| PHASES.contains(&p.name)) {
        let tasks = tasks_within(case, phase);
        let worked: f64 = tasks.iter().map(|(_, took)| took).sum();
        // Work that fell into a wait cost nothing.
        let unhidden = worked.min(phase.waited.client);
        cost = cost.waited(phase.name, Part::Client, unhidden);
        for (task, took) in tasks {
            *told.entry(task.as_str()).or_default() += took;
        }
    }
    let unhidden: f64 = cost.claims.iter().map(|c| c.ms).sum();
    let told: Vec<String> = told
        .iter()
        .filter(|(_, took)| **took >= 0.1)
        .map(|(task, took)| format!("{task} {took:.1} ms"))
        .collect();
    cost.evidence = format!("the client's tasks: {}", told.join(", "));
    (unhidden >= MUCH).then_some(cost)
}

/// Tasks that ended in the phase, as far as they ran in it.
fn tasks_within(case: &Case<'_>, phase: &Phase) -> Vec<(Task, f64)> {
    case.exchange
        .timeline
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Worked { task, took } if *at > phase.start && *at <= phase.end => {
                Some((*task, ms((*took).min(at.since(phase.start)))))
            }
            _ => None,
        })
        .collect()
}
