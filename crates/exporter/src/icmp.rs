//! Asks a host for an echo.

use std::time::{Duration, Instant};

use roundtrip_net::{EchoOptions, EchoReply, EchoSocket};
use tokio::time::timeout_at;

use crate::config::IcmpModule;
use crate::line::told;
use crate::lookup;
use crate::probe::{KindRun, ProbeLog, ProbeTarget};
use crate::text::MetricText;

/// How long the parts took, and the reply.
#[derive(Debug, Default)]
struct Outcome {
    setup: Duration,
    reply: Option<EchoReply>,
}

pub(crate) async fn probe(
    module: &IcmpModule,
    asked: &ProbeTarget,
    limit: Duration,
    log: &mut ProbeLog,
) -> KindRun {
    let mut run = KindRun::default();
    let deadline = tokio::time::Instant::now() + limit;
    let (mut phase, mut outcome) = ("name", Outcome::default());
    let asking = ask(module, &asked.target, &mut run, &mut phase, &mut outcome);
    let ended = timeout_at(deadline, asking).await;
    run.success = log.outcome(ended, phase).is_some();
    run.failed_phase = Some(phase).filter(|_| !run.success);
    metrics(&outcome, run.lookup.unwrap_or_default(), &mut run.metrics);
    run
}

async fn ask(
    module: &IcmpModule,
    target: &str,
    run: &mut KindRun,
    phase: &mut &'static str,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let family = (module.preferred_ip_protocol, module.falls_back());
    let peer = lookup::address(target, 0, family, run).await?;
    run.address = Some(peer.ip());
    *phase = "setup";
    let began = Instant::now();
    let options = EchoOptions {
        from: module.source_ip_address.0,
        hops: module.hops(),
        unfragmented: module.dont_fragment,
    };
    let socket = EchoSocket::open(peer, &options).map_err(told)?;
    let payload = module.payload();
    outcome.setup = began.elapsed();
    *phase = "first_byte";
    let reply = socket.ask(&payload).await.map_err(told)?;
    outcome.reply = Some(reply);
    Ok(())
}

fn metrics(outcome: &Outcome, lookup: Duration, text: &mut MetricText) {
    let rtt = outcome.reply.map(|reply| reply.took);
    let phases = [
        ("resolve", lookup),
        ("rtt", rtt.unwrap_or_default()),
        ("setup", outcome.setup),
    ];
    text.gauges(
        "probe_icmp_duration_seconds",
        "Duration of icmp request by phase",
        "phase",
        phases.map(|(phase, span)| (phase, span.as_secs_f64())),
    );
    if let Some(hops) = outcome.reply.and_then(|reply| reply.hops) {
        text.gauge(
            "probe_icmp_reply_hop_limit",
            "Replied packet hop limit (TTL for ipv4)",
            hops.into(),
        );
    }
    if let Some(rtt) = rtt {
        text.gauge(
            "probe_path_rtt_seconds",
            "The smallest round-trip time of the path that the kernel or QUIC measured",
            rtt.as_secs_f64(),
        );
    }
}
