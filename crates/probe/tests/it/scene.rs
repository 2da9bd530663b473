//! A client and an origin with a path between them, both in this process.

use std::ops::Deref;
use std::time::Duration;

use roundtrip_model::{Event, Exchange, Moment, Security, Strategy, Target};
use roundtrip_origin::{Knobs, QuicEngine};
use roundtrip_path::Path;
use roundtrip_probe::{ConnectionUse, Options, Prober, Sequence};
use roundtrip_tls::Roots;

use crate::far::Far;

pub(crate) const RTT: Duration = Duration::from_millis(100);

/// The engines that serve QUIC: our own, and one that shares no code with the client's.
pub(crate) const ENGINES: [QuicEngine; 2] = [QuicEngine::Own, QuicEngine::Quinn];

pub(crate) struct Scene(Far);

impl Deref for Scene {
    type Target = Far;

    fn deref(&self) -> &Far {
        &self.0
    }
}

impl Scene {
    /// The origin listens at the far end of a path of [`RTT`], with fast open allowed on both
    /// sides.
    pub(crate) fn new(knobs: Knobs) -> Self {
        Self::over(Path::builder().rtt(RTT).build().unwrap(), knobs)
    }

    pub(crate) fn over(path: Path, mut knobs: Knobs) -> Self {
        knobs.listen.bind = vec![path.server().address_v4().into()];
        knobs.listen.fast_open = 64;
        Self(Far::new(path, knobs))
    }

    /// Probes once, with the given options.
    pub(crate) fn probe(&self, strategy: &str, place: &str) -> Exchange {
        self.probe_times(
            1,
            Options {
                strategy: strategy.parse().unwrap(),
                ..Options::default()
            },
            place,
        )
        .remove(0)
    }

    /// Probes `n` times with one prober; the last hop of each run.
    pub(crate) fn probe_times(&self, n: u32, mut options: Options, place: &str) -> Vec<Exchange> {
        options = self.trusting(options);
        let target = self.target(options.strategy, place);
        self.ask(n, options, target)
    }

    /// Requests all places as one sequence, with one prober.
    pub(crate) fn sequence(
        &self,
        strategy: &str,
        places: &[&str],
        manner: ConnectionUse,
    ) -> Sequence {
        let options = Options {
            strategy: strategy.parse().unwrap(),
            max_time: Duration::from_secs(20),
            ..Options::default()
        };
        self.sequence_with(options, places, manner)
    }

    pub(crate) fn sequence_with(
        &self,
        options: Options,
        places: &[&str],
        manner: ConnectionUse,
    ) -> Sequence {
        let max_time = options.max_time;
        let options = Options {
            max_time,
            ..self.trusting(options)
        };
        let strategy = options.strategy;
        let targets: Vec<Target> = places.iter().map(|p| self.target(strategy, p)).collect();
        self.near(async move || {
            let mut prober = Prober::new(options);
            let sequence = prober.sequence(&targets, manner).await;
            prober.retire().await;
            sequence
        })
    }

    pub(crate) fn target(&self, strategy: Strategy, place: &str) -> Target {
        let base = if strategy.security == Security::Clear {
            format!("http://{}", self.origin.http)
        } else {
            format!("https://{}", self.origin.https)
        };
        Target::parse(&format!("{base}{place}")).unwrap()
    }

    /// The options, with this origin's certificate trusted and a time limit.
    pub(crate) fn trusting(&self, options: Options) -> Options {
        let roots = Roots::File(self.ca());
        Options {
            roots,
            max_time: Duration::from_secs(20),
            ..options
        }
    }

    pub(crate) fn ask(&self, n: u32, options: Options, target: Target) -> Vec<Exchange> {
        self.ask_pausing(n, options, target, Duration::ZERO)
    }

    /// The same with a pause between one answer and the next request.
    pub(crate) fn ask_pausing(
        &self,
        n: u32,
        options: Options,
        target: Target,
        pause: Duration,
    ) -> Vec<Exchange> {
        self.near(async move || {
            let mut prober = Prober::new(options);
            let mut last = Vec::new();
            for run in 0..n {
                if run > 0 {
                    tokio::time::sleep(pause).await;
                }
                last.extend(prober.run(&target, run, &mut std::io::sink()).await.pop());
            }
            prober.retire().await;
            last
        })
    }
}

/// The time to the first byte, in round trips of the path.
pub(crate) fn first_byte_in_trips(exchange: &Exchange) -> f64 {
    let first = exchange
        .timeline
        .first(|e| *e == Event::FirstByte)
        .map_or(f64::NAN, Moment::as_secs);
    first / RTT.as_secs_f64()
}

/// The count agrees with the clock: whole round trips, and less than one of anything else.
pub(crate) fn assert_trips(exchange: &Exchange, trips: u32) {
    assert!(
        exchange.ok(),
        "{}: {:?} {:?}",
        exchange.asked,
        exchange.failure,
        exchange.timeline
    );
    let phases: Vec<String> = exchange
        .phases()
        .iter()
        .map(|p| format!("{} {:.1} ms {}", p.name.as_str(), p.ms(), p.round_trips))
        .collect();
    let told = format!(
        "{} as {}: {phases:?} {:?} {:?}",
        exchange.asked, exchange.used, exchange.notes, exchange.timeline
    );
    assert_eq!(exchange.round_trips(), trips, "{told}");
    let measured = first_byte_in_trips(exchange);
    assert!(
        (f64::from(trips)..f64::from(trips) + 0.9).contains(&measured),
        "{measured} round trips: {told}"
    );
    let rtt = exchange.rtt.unwrap().as_secs_f64() / RTT.as_secs_f64();
    assert!((1.0..2.0).contains(&rtt), "R is {rtt} of the path's");
}
