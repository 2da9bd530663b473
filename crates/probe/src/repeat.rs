//! Asking again and again, as httping does: a fixed number of times, at an interval or as fast as answers come.

use std::io;
use std::time::Duration;

use roundtrip_http::Sink;
use roundtrip_model::{Exchange, Target};
use tokio::time::Instant;

use crate::Prober;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub count: u32,
    /// From the start of one to the start of the next; zero is a flood, bounded by `count`.
    pub interval: Duration,
}

/// Runs until the count is reached or `stop` resolves; `sink` makes the place for
/// each body, `seen` hears of each run as it ends.
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
        let outcome = tokio::select! {
            hops = prober.run(target, run, &mut body) => Some(hops),
            () = &mut stop => None,
        };
        let Some(hops) = outcome else {
            // Several have their summary; of a single one, what there is.
            all.extend(prober.interrupted(run).filter(|_| run == 0));
            if run == 0 {
                seen(&all);
            }
            break;
        };
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
    all
}

/// Repeats are kept for their times: the bytes of the same certificates need not be kept a thousand times.
fn lightened(mut exchange: Exchange) -> Exchange {
    let chain = exchange.tls.as_mut().and_then(|tls| tls.chain.as_mut());
    for certificate in chain.into_iter().flat_map(|chain| &mut chain.certificates) {
        certificate.der = Vec::new();
    }
    exchange
}
