//! The client's own time: computation during which no packet was awaited.

use std::collections::BTreeMap;

use roundtrip_model::{PhaseName, Task};

use crate::{Case, Cause, CauseFamily, Cost, RemedySetting, WaitPart};

/// In milliseconds. A warmed-up TLS library needs about a millisecond for all of its work.
const MAX_USUAL_WORK: f64 = 10.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "The client",
    causes: &[
        Cause {
            id: "slow-verification",
            name: "The client took long to verify the server's certificates",
            shows: "verification took 10 ms or more while no packet was under way (seen only in synthetic exchanges)",
            signature: slow_verification,
            cost: "what it took: under 1 ms with ECDSA, more with long chains, large RSA keys or a key store in slow hardware",
            remedy: "use ECDSA certificates and short chains, remember verified chains, resume sessions",
            settings: &[RemedySetting::new("certbot", "--key-type ecdsa")],
            source: "RFC 5280 §6; RFC 8446 §2.2",
        },
        Cause {
            id: "slow-client-library",
            name: "The client computed for a long time before or during the handshake",
            shows: "tasks of the client (configuration, trusted certificates, keys, verification) took 10 ms or more while no packet was under way",
            signature: slow_library,
            cost: "what it took: tens to hundreds of ms",
            remedy: "initialise the library once and keep it, load a small CA bundle, load no unnecessary engines or PKCS#11 modules, prefer ECDSA and X25519",
            settings: &[
                RemedySetting::new(
                    "OpenSSL",
                    "SSL_CERT_FILE=one-bundle.pem OPENSSL_CONF=/dev/null",
                ),
                RemedySetting::new("curl", "--cacert one-bundle.pem"),
            ],
            source: "openssl-env(7); ossl-guide-libraries-introduction(7)",
        },
    ],
};

const PHASES: [PhaseName; 4] = [
    PhaseName::Setup,
    PhaseName::Tls,
    PhaseName::Quic,
    PhaseName::Request,
];

fn slow_verification(case: &Case<'_>) -> Option<Cost> {
    let phase = case.handshake();
    let took = case.worked(phase, &[Task::Verify]);
    (took >= MAX_USUAL_WORK).then(|| {
        let certificates = case
            .exchange
            .tls
            .as_ref()
            .and_then(|t| t.chain.as_ref())
            .map_or(0, |c| c.certificates.len());
        let evidence = format!("{certificates} certificates were verified in {took:.1} ms");
        Cost::new(evidence).waited(phase, WaitPart::Client, took)
    })
}

fn slow_library(case: &Case<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    // Do not report again what has a finding already.
    let told_apart = slow_verification(case).is_some();
    let mut told: BTreeMap<&str, f64> = BTreeMap::new();
    for phase in case.phases.iter().filter(|p| PHASES.contains(&p.name)) {
        let mut tasks = case.tasks_within(phase);
        tasks.retain(|(task, _)| *task != Task::Verify || !told_apart);
        let worked: f64 = tasks.iter().map(|(_, took)| took).sum();
        // Work that happened during a wait cost nothing.
        let unhidden = worked.min(phase.waited.client);
        cost = cost.waited(phase.name, WaitPart::Client, unhidden);
        for (task, took) in tasks {
            *told.entry(task.title()).or_default() += took;
        }
    }
    let unhidden: f64 = cost.claims.iter().map(|c| c.ms).sum();
    let told: Vec<String> = told
        .iter()
        .filter(|(_, took)| **took >= 0.1)
        .map(|(task, took)| format!("{task} {took:.1} ms"))
        .collect();
    cost.evidence = format!("the client's tasks: {}", told.join(", "));
    (unhidden >= MAX_USUAL_WORK).then_some(cost)
}
