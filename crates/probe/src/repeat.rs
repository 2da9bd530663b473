//! Repeats requests like httping: a fixed number, at an interval or as fast as answers arrive.

use std::io;
use std::time::Duration;

use roundtrip_http::Sink;
use roundtrip_model::{Exchange, Target};
use tokio::time::{Instant, timeout};

use crate::Prober;

/// The longest wait for an interrupted run to return its unfinished exchange.
const MAX_FAREWELL_WAIT: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub count: u32,
    /// The time from one start to the next. Zero is a flood, bounded by `count`.
    pub interval: Duration,
}

/// Runs until the count is reached or `stop` resolves. `sink` makes the sink of each body; `seen`
/// is called with each run as it ends. The returned exchanges take the whole series into account.
pub async fn repeat<S: Sink>(
    prober: &mut Prober,
    target: &Target,
    pace: Pace,
    mut sink: impl FnMut(u32) -> io::Result<S>,
    stop: impl Future<Output = ()>,
    mut seen: impl FnMut(&[Exchange]),
) -> Vec<Exchange> {
    tokio::pin!(stop);
    let mut all = Vec::new();
    for run in 0..pace.count {
        let began = Instant::now();
        let mut body = match sink(run) {
            Ok(body) => body,
            Err(error) => {
                all.push(prober.unstarted(target, run, error));
                seen(all.last().map_or(&[], std::slice::from_ref));
                break;
            }
        };
        let (hops, is_over) = until(prober, target, run, &mut body, &mut stop).await;
        if is_over {
            // Several runs have a summary; for a single run, show what it has measured so far.
            if run == 0 || hops.last().is_some_and(Exchange::ok) {
                seen(&hops);
                all.extend(hops);
            }
            break;
        }
        seen(&hops);
        all.extend(
            hops.into_iter()
                .map(|hop| if run == 0 { hop } else { lightened(hop) }),
        );
        if run + 1 < pace.count && !pace.interval.is_zero() {
            tokio::select! {
                () = tokio::time::sleep_until(began + pace.interval) => {}
                () = &mut stop => break,
            }
        }
    }
    roundtrip_explain::review(&mut all);
    all
}

/// Runs once. Returns whether that was the last run because `stop` has resolved meanwhile.
async fn until(
    prober: &mut Prober,
    target: &Target,
    run: u32,
    body: &mut dyn Sink,
    stop: impl Future<Output = ()>,
) -> (Vec<Exchange>, bool) {
    let interrupter = prober.interrupter();
    let outcome = {
        let asking = prober.run(target, run, body);
        tokio::pin!(asking);
        tokio::select! {
            hops = &mut asking => return (hops, false),
            () = stop => {
                interrupter.interrupt();
                timeout(MAX_FAREWELL_WAIT, asking).await
            }
        }
    };
    let hops = outcome.unwrap_or_else(|_| prober.interrupted(run).into_iter().collect());
    (hops, true)
}

/// Drops the bytes of certificates: there may be thousands of runs, and they are kept for their
/// times.
fn lightened(mut exchange: Exchange) -> Exchange {
    let chain = exchange.tls.as_mut().and_then(|tls| tls.chain.as_mut());
    for certificate in chain.into_iter().flat_map(|chain| &mut chain.certificates) {
        certificate.der = Vec::new();
    }
    exchange
}
