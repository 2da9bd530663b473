//! Our own client: a prober in the client's network, whose exchanges tell phases, round trips and waits.

use std::time::Duration;

use roundtrip_model::{Exchange, Http, PhaseName, Security, Strategy, Target};
use roundtrip_probe::{Options, Prober};
use roundtrip_tls::Roots;

use super::Stop;
use super::scene::{Mishap, Scene, Taken};
use crate::experiment::{Manner, Measure, Scheme};
use crate::outcome::{Sample, Span, WaitedFor};

const LONGEST: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(50);

pub(super) fn sample(
    scene: &Scene<'_>,
    strategy: Strategy,
    manner: Manner,
    hello_delay: Duration,
) -> Result<Taken, Mishap> {
    let target = Target::parse(&scene.url(scheme(strategy))?)?;
    let options = Options {
        strategy: Strategy {
            reuse: strategy.reuse || manner == Manner::Kept,
            ..strategy
        },
        cold: !scene.cell.arm.warm,
        roots: Roots::File(scene.ca()),
        max_time: LONGEST,
        hello_delay,
        ..Options::default()
    };
    let (requests, stop) = (scene.cell.requests, scene.stop);
    let asked = || ask(options, &target, requests, stop);
    let exchanges = scene.path.client().run(asked)??;
    for (place, exchange) in exchanges.iter().enumerate() {
        if let Some(failure) = &exchange.failure {
            return Err(Mishap::Exchange(place + 1, failure.message.clone()));
        }
    }
    Ok(Taken {
        sample: measured(&exchanges, scene.experiment.measure),
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
    target: &Target,
    requests: u32,
    stop: &Stop,
) -> Result<Vec<Exchange>, Mishap> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Mishap::Io("a runtime".into(), e))?;
    runtime.block_on(async {
        let mut prober = Prober::new(options);
        let all = async {
            let mut exchanges = Vec::new();
            for run in 0..requests {
                let hops = prober.run(target, run, &mut std::io::sink()).await;
                let failed = hops.iter().any(|hop| !hop.ok());
                exchanges.extend(hops);
                if failed {
                    break;
                }
            }
            prober.retire().await;
            exchanges
        };
        tokio::select! {
            exchanges = all => Ok(exchanges),
            () = stopped(stop) => Err(Mishap::Stopped),
        }
    })
}

async fn stopped(stop: &Stop) {
    while !stop.is_set() {
        tokio::time::sleep(STEP).await;
    }
}

/// One after the other: what they took is the sum of what each took.
fn measured(exchanges: &[Exchange], measure: Measure) -> Sample {
    let mut offset = 0.0;
    let (mut value, mut trips, mut waited) = (0.0, 0, WaitedFor::default());
    let mut phases = Vec::new();
    for (request, exchange) in exchanges.iter().enumerate() {
        let cut = exchange.phases();
        let connected = cut
            .iter()
            .rposition(|phase| matches!(phase.name, PhaseName::Tls | PhaseName::Quic));
        let count = match (measure, connected) {
            (Measure::Appconnect, Some(last)) => last + 1,
            _ => cut.len(),
        };
        for phase in cut.iter().take(count) {
            value += phase.ms();
            trips += phase.round_trips;
            waited = waited.plus(&phase.waited);
        }
        phases.extend(cut.iter().map(|phase| Span::of(phase, request, offset)));
        offset += exchange.total().as_secs_f64() * 1e3;
    }
    let n = match measure {
        Measure::Mean | Measure::Appconnect => exchanges.len().max(1) as f64,
        Measure::Total => 1.0,
    };
    Sample {
        run: 0,
        value: value / n,
        round_trips: Some(f64::from(trips) / n),
        waited: Some(waited.each(n)),
        phases,
    }
}
