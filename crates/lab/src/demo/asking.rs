//! The asking itself, on a thread at the near end: one prober for each way, which keeps what that way presumes.

use std::sync::mpsc::Sender;

use roundtrip_model::{Exchange, Memory, Strategy, Target};
use roundtrip_probe::{Options, Prober};
use roundtrip_report::ways::Answer;
use tokio::runtime::Builder;

use super::stage::TICKETS;
use super::{DemoError, News, tell};

/// Asks until all is asked or the user has had enough, which ends it early without an error.
pub(super) fn ask(
    url: &str,
    options: &Options,
    strategies: &[Strategy],
    order: &[usize],
    to: &Sender<News>,
) -> Result<(), DemoError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(DemoError::Start)?;
    let target = Target::parse(url).map_err(|_| DemoError::Broken)?;
    let probers = strategies
        .iter()
        .map(|strategy| Asker::new(options, *strategy));
    let mut askers: Vec<Asker> = probers.collect();
    runtime.block_on(async {
        tokio::select! {
            // Who can see that something is asked can interrupt it.
            biased;
            () = interrupted() => {}
            () = all(&mut askers, &target, order, to) => {}
        }
    });
    Ok(())
}

async fn all(askers: &mut [Asker], target: &Target, order: &[usize], to: &Sender<News>) {
    for place in order {
        let Some(asker) = askers.get_mut(*place) else {
            continue;
        };
        if asker.prepared == 0 {
            tell(to, News::Preparing(*place));
            asker.prepare(target).await;
        }
        tell(to, News::Asking(*place));
        let answer = asker.ask(target).await;
        tell(to, News::Answered(*place, answer));
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

struct Asker {
    options: Options,
    prober: Prober,
    /// How many runs may follow before it must prepare again.
    prepared: u32,
    asked: u32,
}

impl Asker {
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

    /// What nobody measures: the request that leaves tickets, a cookie or a connection, and a first one with it. If
    /// it fails, so will the measured ones, which say why.
    async fn prepare(&mut self, target: &Target) {
        self.prober.retire().await;
        self.prober = Prober::new(self.options.clone());
        self.run(target).await;
        self.prepared = match self.options.strategy.memory {
            Memory::Cold => u32::MAX,
            // A ticket is used once (RFC 8446, appendix C.4), and one went with the request just made.
            _ => u32::from(TICKETS) - 1,
        };
    }

    async fn ask(&mut self, target: &Target) -> Result<Answer, String> {
        self.prepared = self.prepared.saturating_sub(1);
        match self.run(target).await.last() {
            Some(exchange) => Answer::of(exchange),
            None => Err("nothing was asked".into()),
        }
    }

    async fn run(&mut self, target: &Target) -> Vec<Exchange> {
        let run = self.asked;
        self.asked += 1;
        self.prober.run(target, run, &mut std::io::sink()).await
    }
}
