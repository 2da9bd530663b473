//! The face of the crate.

use roundtrip_http::{HttpError, Sink};
use roundtrip_model::{Exchange, Target};

use crate::exchanger::Exchanger;
use crate::interruption::Interrupter;
use crate::sequence::{self, Ask, Manner, Sequence};
use crate::{Options, ProbeError, hops, priming};

/// Asks targets as its [`Options`] say, and keeps what one exchange leaves behind for the next:
/// tickets, cookies, `Alt-Svc`, an open connection.
///
/// Three calls, in this order:
///
/// 1. [`new`](Self::new) opens nothing and reads nothing.
/// 2. [`run`](Self::run) asks once, [`sequence`](Self::sequence) asks for several targets as one
///    measured thing; either as often as wanted. [`repeat`](crate::repeat) calls `run`, and is the
///    one that can be stopped half way. The first of them makes an unmeasured request, where the
///    strategy presumes something that only a request leaves behind.
/// 3. [`retire`](Self::retire) closes the connection that was kept. A prober that is dropped
///    without it leaves that to the kernel.
///
/// No call fails: what went wrong is a [`Failure`](roundtrip_model::Failure) in its exchange.
///
/// ```no_run
/// # async fn example() -> Result<(), roundtrip_model::TargetError> {
/// use roundtrip_model::Target;
/// use roundtrip_probe::{Options, Prober};
///
/// let target = Target::parse("https://example.com/")?;
/// let mut prober = Prober::new(Options::default());
/// for hop in prober.run(&target, 0, &mut std::io::sink()).await {
///     println!("{}: {} round trips", hop.url, hop.round_trips());
/// }
/// prober.retire().await;
/// # Ok(())
/// # }
/// ```
pub struct Prober {
    exchanger: Exchanger,
}

impl Prober {
    pub fn new(options: Options) -> Self {
        Self {
            exchanger: Exchanger::new(options),
        }
    }

    /// Asks once. Returns one exchange for each hop, the last of them being the answer or the
    /// failure. The body of the last response goes to `sink`.
    pub async fn run(&mut self, target: &Target, run: u32, sink: &mut dyn Sink) -> Vec<Exchange> {
        let exchanger = &mut self.exchanger;
        if priming::is_needed(exchanger) {
            let hops = priming::prime(exchanger, target).await;
            if exchanger.interruption().is_requested() {
                return hops;
            }
        }
        let strategy = exchanger.options().strategy;
        if !strategy.reuse {
            exchanger.kept().retire().await;
        }
        let hops = hops::ask(exchanger, target, strategy, run, sink).await;
        if !strategy.reuse {
            exchanger.kept().retire().await;
        }
        hops
    }

    /// Asks for all targets, in this manner, and drops the bodies.
    pub async fn sequence(&mut self, targets: &[Target], manner: Manner) -> Sequence {
        let mut asks: Vec<_> = targets.iter().cloned().map(Ask::bodiless).collect();
        self.sequence_into(&mut asks, manner).await
    }

    /// Asks for all targets, in this manner, with a sink for each body.
    pub async fn sequence_into<S: Sink>(
        &mut self,
        asks: &mut [Ask<S>],
        manner: Manner,
    ) -> Sequence {
        sequence::run(&mut self.exchanger, asks, manner).await
    }

    /// Closes the connection that was kept.
    pub async fn retire(&mut self) {
        self.exchanger.kept().retire().await;
    }

    /// Returns what stops a run from outside.
    pub(crate) fn interrupter(&mut self) -> Interrupter {
        self.exchanger.interruption().interrupter()
    }

    /// Returns what there is of a run that was stopped and dropped before it ended.
    pub(crate) fn interrupted(&mut self, run: u32) -> Option<Exchange> {
        self.exchanger.interrupted(run)
    }

    /// Returns a run that could not begin, because its body had nowhere to go.
    pub(crate) fn unstarted(&self, target: &Target, run: u32, error: std::io::Error) -> Exchange {
        let error = ProbeError::Http(HttpError::Sink(error));
        self.exchanger.refused(target, run, &error)
    }
}
