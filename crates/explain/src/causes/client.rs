//! The client's own time: computation during which no packet was awaited.

use std::collections::BTreeMap;

use roundtrip_model::{Event, Http, PhaseName, Setting, Task};

use crate::case::{ms, overlap, times};
use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

/// The longest time, in milliseconds, that a TLS library usually works. After its first handshakes,
/// it needs about a millisecond for everything.
const MAX_USUAL_WORK: f64 = 10.0;

/// The shortest delay, in milliseconds, that is not normal for a scheduler.
const MIN_STARVED: f64 = 5.0;
const MIN_OUTPUT: f64 = 10.0;
/// Likewise, shorter delays are normal for a program that prepares its request.
const MIN_LATE: f64 = 20.0;

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "The client",
    causes: &[
        Cause {
            id: "slow-verification",
            decidable: Decidable::ClientItself,
            name: "The client took a long time to verify the server's certificates",
            shows: "verification took 10 ms or more while no packet was in transit (seen only in synthetic exchanges)",
            signature: slow_verification,
            cost: "the time it took: under 1 ms with ECDSA, more with long chains, large RSA keys or a key store in slow hardware",
            remedy: "use ECDSA certificates and short chains, remember verified chains, resume sessions",
            settings: &[Setting::new("certbot", "--key-type ecdsa")],
            source: "RFC 5280 §6; RFC 8446 §2.2",
        },
        Cause {
            id: "slow-client-library",
            decidable: Decidable::Packets,
            name: "The client computed for a long time before or during the handshake",
            shows: "tasks of the client (configuration, trusted certificates, keys, verification) took 10 ms or more while no packet was in transit",
            signature: slow_library,
            cost: "the time it took: tens to hundreds of ms",
            remedy: "initialise the library once and keep it, load a small CA bundle, load no unnecessary engines or PKCS#11 modules, prefer ECDSA and X25519",
            settings: &[
                Setting::new(
                    "OpenSSL",
                    "SSL_CERT_FILE=one-bundle.pem OPENSSL_CONF=/dev/null",
                ),
                Setting::new("curl", "--cacert one-bundle.pem"),
            ],
            source: "openssl-env(7); ossl-guide-libraries-introduction(7)",
        },
        Cause {
            id: "late-request",
            decidable: Decidable::Packets,
            name: "The client sent its request long after the connection was ready",
            shows: "20 ms or more passed between the connection (or the handshake) and the first byte of the request, and no packet was in transit (seen only in synthetic exchanges: a prober asks at once)",
            signature: late_request,
            cost: "the time until the request left",
            remedy: "find out what the client does meanwhile: a second write that waits for a buffer to be flushed, a lock on the pool, a name or a token that is looked up late",
            settings: &[Setting::new("roundtrip", "trace -- COMMAND")],
            source: "RFC 9112 §9.3",
        },
        Cause {
            id: "cpu-throttled",
            decidable: Decidable::ClientItself,
            name: "The client's CPU quota was used up, and it had to stop",
            shows: "the control group was throttled while the client could have run (cpu.stat)",
            signature: throttled,
            cost: "until the next period begins, usually 100 ms",
            remedy: "give the client's container a larger quota, or none",
            settings: &[
                Setting::new("Kubernetes", "no resources.limits.cpu"),
                Setting::new("Linux", "cpu.max = max"),
            ],
            source: "Linux kernel, Documentation/admin-guide/cgroup-v2 (cpu.max, cpu.stat)",
        },
        Cause {
            id: "client-starved",
            decidable: Decidable::ClientItself,
            name: "The client was ready to run but did not run",
            shows: "the kernel had bytes for the client, or the client had something to send, but it ran only later (receive and transmit time stamps, and the processor time that it used)",
            signature: starved,
            cost: "as long as other programs had the processors, or the client was stopped",
            remedy: "measure on a machine with a free processor; look for busy neighbours, a stopped process, a virtual machine that was paused",
            settings: &[Setting::new("shell", "nice -n -5; chrt -r 1; taskset")],
            source: "Linux kernel, Documentation/scheduler/sched-stats",
        },
        Cause {
            id: "slow-output",
            decidable: Decidable::ClientItself,
            name: "The output that the body was written to was slow",
            shows: "the client waited for its own output (a pipe, a disk, a terminal) and did not read meanwhile",
            signature: slow_output,
            cost: "as long as the writes took",
            remedy: "write to something faster, or discard the body",
            settings: &[Setting::new("roundtrip", "probe -o /dev/null URL")],
            source: "pipe(7)",
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

/// The delay, minus the client's own reported tasks and the time in which it did not run.
fn late_request(case: &Case<'_>) -> Option<Cost> {
    let phase = case.named(PhaseName::Request).next()?;
    // In other protocols, the server may speak first.
    if case.exchange.used.http == Http::Echo {
        return None;
    }
    let started = case
        .exchange
        .timeline
        .first(|e| *e == Event::RequestStarted)?;
    let tasks: f64 = case.tasks_within(phase).iter().map(|(_, took)| took).sum();
    let late = ms(started.since(phase.start)) - tasks - case.absence(phase);
    let evidence = format!("the connection was ready {late:.1} ms before the request left");
    (late >= MIN_LATE)
        .then(|| Cost::new(evidence).waited(PhaseName::Request, WaitPart::Client, late))
}

fn throttled(case: &Case<'_>) -> Option<Cost> {
    not_running(case, true)
}

fn starved(case: &Case<'_>) -> Option<Cost> {
    not_running(case, false)
}

/// How long the client did not run, in each phase.
fn not_running(case: &Case<'_>, quota: bool) -> Option<Cost> {
    let mut cost = Cost::default();
    let (mut n, mut whole) = (0, 0.0);
    // Data that was written and did not leave has no separate account.
    let struck = case.happened(|e| {
        matches!(
            e,
            Event::Starved {
                throttled: true,
                ..
            }
        )
    });
    for phase in &case.phases {
        let mut lost = 0.0;
        for (at, event) in case.exchange.timeline.iter() {
            let took = match event {
                Event::Starved { took, throttled } if *throttled == quota => *took,
                Event::HeldBack { took } if struck == quota => *took,
                _ => continue,
            };
            lost += overlap(*at, took, phase);
            n += u32::from(*at > phase.start && *at <= phase.end);
        }
        let lost = lost.min(phase.waited.client);
        whole += lost;
        cost = cost.waited(phase.name, WaitPart::Client, lost);
    }
    let why = if quota {
        "its quota was used up"
    } else {
        "other programs had the processors, or it was stopped"
    };
    cost.evidence = format!(
        "the client did not run for {whole:.1} ms in all, {}: {why}",
        times(n)
    );
    (whole >= MIN_STARVED).then_some(cost)
}

fn slow_output(case: &Case<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    let mut took = 0.0;
    for name in case.phase_names() {
        let part = case.worked(name, &[Task::Write]);
        cost = cost.waited(name, WaitPart::Client, part);
        took += part;
    }
    cost.evidence = format!("writing the body took {took:.1} ms");
    (took >= MIN_OUTPUT).then_some(cost)
}

fn slow_library(case: &Case<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    // Do not report again what another finding covers.
    let told_apart = slow_verification(case).is_some();
    let mut told: BTreeMap<&str, f64> = BTreeMap::new();
    for phase in case.phases.iter().filter(|p| PHASES.contains(&p.name)) {
        let mut tasks = case.tasks_within(phase);
        tasks.retain(|(task, _)| *task != Task::Verify || !told_apart);
        let worked: f64 = tasks.iter().map(|(_, took)| took).sum();
        // Work during a wait cost no additional time.
        let unhidden = worked.min(case.ran(phase));
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
