//! The public interface of the crate.

use roundtrip_http::{HttpError, Sink};
use roundtrip_model::{Exchange, Target};

use crate::exchanger::Exchanger;
use crate::interruption::Interrupter;
use crate::sequence::{self, ConnectionUse, Sequence, SequenceRequest};
use crate::{Options, ProbeError, hops, priming};

/// Requests targets according to its [`Options`], and keeps the state that one exchange leaves for
/// the next: tickets, cookies, `Alt-Svc`, an open connection.
///
/// Three calls, in this order:
///
/// 1. [`new`](Self::new) opens nothing and reads nothing.
/// 2. [`run`](Self::run) makes one request, [`sequence`](Self::sequence) makes several as one
///    measured unit; both can be called any number of times. [`repeat`](crate::repeat) calls `run`,
///    and it alone can be stopped half way. The first call makes an unmeasured request if the
///    strategy presumes something that only a request leaves behind.
/// 3. [`retire`](Self::retire) closes the kept connection. If a prober is dropped without it, the
///    kernel closes the connection.
///
/// No call returns an error: a [`Failure`](roundtrip_model::Failure) is part of its exchange.
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

    /// Makes one request. Returns one exchange for each hop; the last one is the answer or the
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

    /// Requests all targets in this manner, and drops the bodies.
    pub async fn sequence(&mut self, targets: &[Target], manner: ConnectionUse) -> Sequence {
        let mut asks: Vec<_> = targets
            .iter()
            .cloned()
            .map(SequenceRequest::bodiless)
            .collect();
        self.sequence_into(&mut asks, manner).await
    }

    /// Requests all targets in this manner, with a sink for each body.
    pub async fn sequence_into<S: Sink>(
        &mut self,
        asks: &mut [SequenceRequest<S>],
        manner: ConnectionUse,
    ) -> Sequence {
        sequence::run(&mut self.exchanger, asks, manner).await
    }

    /// Closes the kept connection.
    pub async fn retire(&mut self) {
        self.exchanger.kept().retire().await;
    }

    /// Returns the handle that stops a run from outside.
    pub(crate) fn interrupter(&mut self) -> Interrupter {
        self.exchanger.interruption().interrupter()
    }

    /// Returns the unfinished exchange of a run that was stopped and dropped before it ended.
    pub(crate) fn interrupted(&mut self, run: u32) -> Option<Exchange> {
        self.exchanger.interrupted(run)
    }

    /// Returns a run that could not begin because its output could not be opened.
    pub(crate) fn unstarted(&self, target: &Target, run: u32, error: std::io::Error) -> Exchange {
        let error = ProbeError::Http(HttpError::Sink(error));
        self.exchanger.refused(target, run, &error)
    }
}
