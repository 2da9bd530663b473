//! Measures the ways, on a thread at the client's side of the path. Each way has its own prober,
//! which keeps the tickets, cookies and connections of that way.

use std::sync::mpsc::Sender;

use roundtrip_model::{Exchange, Memory, Strategy, Target};
use roundtrip_probe::{Options, Prober};
use roundtrip_report::ways::MeasuredRun;
use tokio::runtime::Builder;

use super::stage::TICKETS;
use super::{DemoError, DemoEvent, tell};

/// Measures until everything is done or the user interrupts, which ends the measurement early
/// without an error.
pub(super) fn ask(
    url: &str,
    options: &Options,
    strategies: &[Strategy],
    order: &[usize],
    to: &Sender<DemoEvent>,
) -> Result<(), DemoError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(DemoError::Start)?;
    let target = Target::parse(url).map_err(|_| DemoError::Broken)?;
    let probers = strategies
        .iter()
        .map(|strategy| WayAsker::new(options, *strategy));
    let mut askers: Vec<WayAsker> = probers.collect();
    runtime.block_on(async {
        tokio::select! {
            // Check for interruption first, so that the way shown as running can be interrupted.
            biased;
            () = interrupted() => {}
            () = all(&mut askers, &target, order, to) => {}
        }
    });
    Ok(())
}

async fn all(askers: &mut [WayAsker], target: &Target, order: &[usize], to: &Sender<DemoEvent>) {
    for place in order {
        let Some(asker) = askers.get_mut(*place) else {
            continue;
        };
        if asker.prepared == 0 {
            tell(to, DemoEvent::Preparing(*place));
            asker.prepare(target).await;
        }
        tell(to, DemoEvent::Asking(*place));
        let answer = asker.ask(target).await;
        tell(to, DemoEvent::Answered(*place, answer));
    }
    for asker in askers {
        asker.prober.retire().await;
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct WayAsker {
    options: Options,
    prober: Prober,
    /// The number of runs before this way has to be prepared again.
    prepared: u32,
    asked: u32,
}

impl WayAsker {
    fn new(options: &Options, strategy: Strategy) -> Self {
        let options = Options {
            strategy,
            ..options.clone()
        };
        Self {
            prober: Prober::new(options.clone()),
            options,
            prepared: if strategy.is_warm() { 0 } else { u32::MAX },
            asked: 0,
        }
    }

    /// Makes the unmeasured requests: one that obtains tickets, a cookie or a connection, and one
    /// that uses these for the first time. If they fail, the measured ones fail too and report the
    /// reason.
    async fn prepare(&mut self, target: &Target) {
        self.prober.retire().await;
        self.prober = Prober::new(self.options.clone());
        self.run(target).await;
        self.prepared = match self.options.strategy.memory {
            Memory::Cold => u32::MAX,
            // Each ticket is used once (RFC 8446, appendix C.4), and the preparing request used
            // one.
            _ => u32::from(TICKETS) - 1,
        };
    }

    async fn ask(&mut self, target: &Target) -> Result<MeasuredRun, String> {
        self.prepared = self.prepared.saturating_sub(1);
        match self.run(target).await.last() {
            Some(exchange) => MeasuredRun::from_exchange(exchange),
            None => Err("no request was made".into()),
        }
    }

    async fn run(&mut self, target: &Target) -> Vec<Exchange> {
        let run = self.asked;
        self.asked += 1;
        self.prober.run(target, run, &mut std::io::sink()).await
    }
}
