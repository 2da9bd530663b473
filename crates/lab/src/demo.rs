//! The demo: one origin, one path, seven ways to ask the same question.
//!
//! [`run`] builds path and origin (`stage`), asks each way as often as requested, in turns
//! (`order`), and reports the table after each step. `report` renders it; the binary owns the
//! terminal.

mod asking;
mod order;
mod stage;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use roundtrip_model::{Strategy, StrategyError};
use roundtrip_origin::OriginError;
use roundtrip_report::ways::{Activity, MeasuredRun, WayRuns, Ways};

use self::stage::DemoScene;

/// How often the table is reported while an answer is awaited.
const TICK: Duration = Duration::from_millis(25);

/// The ways, from the most costly one to those that cost one round trip. Each adds one option of
/// the client. Fast open is used without a post-quantum key share, because a ClientHello with one
/// does not fit into the SYN.
const WAYS: [(&str, &str); 7] = [
    ("TLS 1.2, new connection", "h1+tls1.2"),
    ("TLS 1.3, new connection", "h1+tls1.3"),
    ("TCP fast open", "h1+tls1.3+tfo-pq"),
    ("0-RTT (early data)", "h1+tls1.3+0rtt"),
    ("0-RTT + fast open", "h1+tls1.3+tfo+0rtt-pq"),
    ("HTTP/3 with 0-RTT", "h3+0rtt"),
    ("kept connection", "h1+tls1.3+reuse"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demo {
    pub rtt: Duration,
    /// How often each way is asked.
    pub runs: u32,
    /// The seed for the order in which the ways are asked.
    pub seed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error(transparent)]
    Path(#[from] roundtrip_path::PathError),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("cannot start the client: {0}")]
    Start(#[source] std::io::Error),
    #[error("'{word}' is not a strategy that can be asked for: {source}")]
    Strategy { word: String, source: StrategyError },
    #[error("interrupted before all ways were measured {runs} times")]
    Interrupted { runs: u32 },
    #[error("the client ended before it had measured everything")]
    Broken,
}

/// The reports of the asking thread.
#[derive(Debug)]
enum DemoEvent {
    Preparing(usize),
    Asking(usize),
    Answered(usize, Result<MeasuredRun, String>),
}

/// Measures all ways. `shown` is called with the table several times a second during a measurement.
///
/// The process must be in a sandbox already (see [`roundtrip_path::enter_sandbox`]) unless it is
/// privileged.
pub fn run(demo: &Demo, mut shown: impl FnMut(&Ways)) -> Result<Ways, DemoError> {
    let mut table = table(demo)?;
    shown(&table);
    let scene = DemoScene::set(demo.rtt)?;
    let strategies: Vec<Strategy> = table.ways.iter().map(|way| way.strategy).collect();
    let order = order::rounds(strategies.len(), demo.runs, demo.seed);
    let (tell, told) = channel();
    thread::scope(|scope| {
        let asking = scope.spawn(|| scene.ask(&strategies, &order, tell));
        let watched = watch(&mut table, &told, &mut shown);
        let asked = asking.join().map_err(|_| DemoError::Broken)?;
        asked.and(watched)
    })?;
    let finished = |way: &WayRuns| way.done() == demo.runs;
    if table.ways.iter().all(finished) {
        return Ok(table);
    }
    Err(DemoError::Interrupted { runs: demo.runs })
}

fn table(demo: &Demo) -> Result<Ways, DemoError> {
    let way = |(title, word): (&'static str, &str)| match word.parse() {
        Ok(strategy) => Ok(WayRuns::new(title, strategy)),
        Err(source) => Err(DemoError::Strategy {
            word: word.to_owned(),
            source,
        }),
    };
    Ok(Ways {
        rtt_ms: demo.rtt.as_secs_f64() * 1e3,
        runs: demo.runs,
        seed: demo.seed,
        ways: WAYS.into_iter().map(way).collect::<Result<_, _>>()?,
    })
}

/// Keeps the table up to date until the asking thread closes its channel.
fn watch(
    table: &mut Ways,
    told: &Receiver<DemoEvent>,
    shown: &mut impl FnMut(&Ways),
) -> Result<(), DemoError> {
    let mut asked: Option<(usize, Instant)> = None;
    loop {
        match told.recv_timeout(TICK) {
            Ok(news) => asked = note(table, news),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if let Some((place, since)) = asked
            && let Some(way) = table.ways.get_mut(place)
        {
            let ms = since.elapsed().as_secs_f64() * 1e3;
            way.stage = Activity::Asking { ms };
        }
        shown(table);
    }
}

/// Applies a report to the table; returns the way whose measurement has just begun, if any.
fn note(table: &mut Ways, news: DemoEvent) -> Option<(usize, Instant)> {
    let (DemoEvent::Preparing(place) | DemoEvent::Asking(place) | DemoEvent::Answered(place, _)) =
        news;
    let way = table.ways.get_mut(place)?;
    match news {
        DemoEvent::Preparing(_) => way.stage = Activity::Preparing,
        DemoEvent::Asking(_) => return Some((place, Instant::now())),
        DemoEvent::Answered(_, answer) => {
            way.stage = Activity::Resting;
            match answer {
                Ok(answer) => way.answers.push(answer),
                Err(why) => way.failures.push(why),
            }
        }
    }
    None
}

/// Ignores errors: they mean that the owner of the table is gone.
fn tell(to: &Sender<DemoEvent>, news: DemoEvent) {
    let _ = to.send(news);
}
