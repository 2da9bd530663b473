//! Our own client: a prober in the client's network, whose exchanges contain phases, round trips
//! and waits.

use std::time::Duration;

use roundtrip_model::{Exchange, Http, Phase, PhaseName, Security, Strategy, Target};
use roundtrip_probe::{Options, Prober, Sequence};
use roundtrip_tls::Roots;

use super::Stop;
use super::scene::{Mishap, Scene, Taken};
use crate::experiment::{Manner, Measure, Scheme};
use crate::outcome::{Sample, Span, WaitedFor};

const STEP: Duration = Duration::from_millis(50);

pub(super) fn sample(
    scene: &Scene<'_>,
    strategy: Strategy,
    manner: Manner,
    (hello_delay, max_time): (Duration, Duration),
    headers: &[(String, String)],
) -> Result<Taken, Mishap> {
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
            return Err(Mishap::Exchange(place + 1, failure.message.clone()));
        }
    }
    Ok(Taken {
        sample: measured(&sequence, scene.experiment.measure),
        notes: Vec::new(),
    })
}

fn scheme(strategy: Strategy) -> Scheme {
    match (strategy.http, strategy.security) {
        (Http::Echo, _) => Scheme::Tcp,
        (_, Security::Clear) => Scheme::Http,
        _ => Scheme::Https,
    }
}

fn ask(
    options: Options,
    targets: &[Target],
    manner: Manner,
    stop: &Stop,
) -> Result<Sequence, Mishap> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Mishap::Io("a runtime".into(), e))?;
    let manner = match manner {
        Manner::Each => roundtrip_probe::Manner::Each,
        Manner::Kept => roundtrip_probe::Manner::Kept,
        Manner::AtOnce => roundtrip_probe::Manner::AtOnce,
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
            () = stopped(stop) => Err(Mishap::Stopped),
        }
    })
}

async fn stopped(stop: &Stop) {
    while !stop.is_set() {
        tokio::time::sleep(STEP).await;
    }
}

fn measured(sequence: &Sequence, measure: Measure) -> Sample {
    let all: Vec<&Exchange> = sequence.hops.iter().flatten().collect();
    let n = all.len().max(1) as f64;
    let took = sequence.took.as_secs_f64() * 1e3;
    let trips = f64::from(sequence.round_trips);
    let (value, trips, waited) = match measure {
        Measure::Total | Measure::Rate | Measure::Cost => (took, trips, waits(sequence, &all)),
        Measure::Mean => (took / n, trips / n, waits(sequence, &all).each(n)),
        Measure::Appconnect => connecting(&all),
    };
    Sample {
        run: 0,
        value,
        round_trips: Some(trips),
        waited: Some(waited),
        cpu_us: None,
        carried: None,
        phases: spans(sequence),
    }
}

/// What the whole time was spent waiting for: the sum of consecutive exchanges; for simultaneous
/// ones, that of the slowest.
fn waits(sequence: &Sequence, all: &[&Exchange]) -> WaitedFor {
    let slowest = all.iter().copied().max_by_key(|exchange| exchange.total());
    let counted: Vec<&Exchange> = match sequence.manner {
        roundtrip_probe::Manner::AtOnce => slowest.into_iter().collect(),
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

fn spans(sequence: &Sequence) -> Vec<Span> {
    let mut offset = 0.0;
    let mut spans = Vec::new();
    for (request, hops) in sequence.hops.iter().enumerate() {
        if sequence.manner == roundtrip_probe::Manner::AtOnce {
            offset = 0.0;
        }
        for exchange in hops {
            let phases = exchange.phases();
            spans.extend(phases.iter().map(|phase| Span::of(phase, request, offset)));
            offset += exchange.total().as_secs_f64() * 1e3;
        }
    }
    spans
}
