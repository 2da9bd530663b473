//! Our own client: a prober in the client's network, whose exchanges contain phases, round trips
//! and waits.

use std::time::Duration;

use roundtrip_model::{Exchange, Http, Phase, PhaseName, Security, Strategy, Target};
use roundtrip_probe::{Options, Prober, Sequence};
use roundtrip_tls::Roots;

use super::scene::{SampleError, SampleScene, TakenSample};
use crate::Stop;
use crate::experiment::{Measure, Sequencing, UrlScheme};
use crate::outcome::{PhaseSpan, RunSample, WaitedFor};

const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn sample(
    scene: &SampleScene<'_>,
    strategy: Strategy,
    manner: Sequencing,
    (hello_delay, max_time): (Duration, Duration),
    headers: &[(String, String)],
) -> Result<TakenSample, SampleError> {
    let target = Target::parse(&scene.url(scheme(strategy))?)?;
    let options = Options {
        strategy,
        cold: !scene.cell.arm.warm,
        roots: Roots::File(scene.ca()),
        max_time,
        hello_delay,
        headers: headers.to_vec(),
        ..Options::default()
    };
    let targets = vec![target; scene.cell.requests as usize];
    let asked = || ask(options, &targets, manner, scene.stop);
    let sequence = scene.path.client().run(asked)??;
    for (place, exchange) in sequence.exchanges().enumerate() {
        if let Some(failure) = &exchange.failure {
            return Err(SampleError::Exchange(place + 1, failure.message.clone()));
        }
    }
    Ok(TakenSample {
        sample: measured(&sequence, scene.experiment.measure),
        notes: Vec::new(),
    })
}

fn scheme(strategy: Strategy) -> UrlScheme {
    match (strategy.http, strategy.security) {
        (Http::Echo, _) => UrlScheme::Tcp,
        (_, Security::Clear) => UrlScheme::Http,
        _ => UrlScheme::Https,
    }
}

fn ask(
    options: Options,
    targets: &[Target],
    manner: Sequencing,
    stop: &Stop,
) -> Result<Sequence, SampleError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| SampleError::Io("a runtime".into(), e))?;
    let manner = match manner {
        Sequencing::Each => roundtrip_probe::ConnectionUse::Each,
        Sequencing::Kept => roundtrip_probe::ConnectionUse::Kept,
        Sequencing::AtOnce => roundtrip_probe::ConnectionUse::AtOnce,
    };
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        let asking = async {
            let sequence = prober.sequence(targets, manner).await;
            prober.retire().await;
            sequence
        };
        tokio::select! {
            sequence = asking => Ok(sequence),
            () = stopped(stop) => Err(SampleError::Stopped),
        }
    })
}

async fn stopped(stop: &Stop) {
    while !stop.is_set() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn measured(sequence: &Sequence, measure: Measure) -> RunSample {
    let all: Vec<&Exchange> = sequence.hops.iter().flatten().collect();
    let n = all.len().max(1) as f64;
    let took = sequence.took.as_secs_f64() * 1e3;
    let trips = f64::from(sequence.round_trips);
    let (value, trips, waited) = match measure {
        Measure::Total | Measure::Rate | Measure::Cost => (took, trips, waits(sequence, &all)),
        Measure::Mean => (took / n, trips / n, waits(sequence, &all).each(n)),
        Measure::Appconnect => connecting(&all),
    };
    RunSample {
        run: 0,
        value,
        round_trips: Some(trips),
        waited: Some(waited),
        cpu_us: None,
        carried: None,
        phases: spans(sequence),
    }
}

/// The waits of the whole run: the sum over consecutive exchanges, or the waits of the slowest of
/// simultaneous ones.
fn waits(sequence: &Sequence, all: &[&Exchange]) -> WaitedFor {
    let slowest = all.iter().copied().max_by_key(|exchange| exchange.total());
    let counted: Vec<&Exchange> = match sequence.manner {
        roundtrip_probe::ConnectionUse::AtOnce => slowest.into_iter().collect(),
        _ => all.to_vec(),
    };
    let phases = counted.iter().flat_map(|exchange| exchange.phases());
    phases.fold(WaitedFor::default(), |sum, phase| sum.plus(&phase.waited))
}

/// The time to the end of the handshake, on average.
fn connecting(all: &[&Exchange]) -> (f64, f64, WaitedFor) {
    let (mut ms, mut trips, mut waited) = (0.0, 0, WaitedFor::default());
    for exchange in all {
        let phases = exchange.phases();
        let secure = |phase: &Phase| matches!(phase.name, PhaseName::Tls | PhaseName::Quic);
        let count = phases.iter().rposition(secure).map_or(0, |last| last + 1);
        for phase in phases.iter().take(count) {
            ms += phase.ms();
            trips += phase.round_trips;
            waited = waited.plus(&phase.waited);
        }
    }
    let n = all.len().max(1) as f64;
    (ms / n, f64::from(trips) / n, waited.each(n))
}

fn spans(sequence: &Sequence) -> Vec<PhaseSpan> {
    let mut offset = 0.0;
    let mut spans = Vec::new();
    for (request, hops) in sequence.hops.iter().enumerate() {
        if sequence.manner == roundtrip_probe::ConnectionUse::AtOnce {
            offset = 0.0;
        }
        for exchange in hops {
            let phases = exchange.phases();
            spans.extend(
                phases
                    .iter()
                    .map(|phase| PhaseSpan::from_phase(phase, request, offset)),
            );
            offset += exchange.total().as_secs_f64() * 1e3;
        }
    }
    spans
}
