//! The unmeasured request that obtains what a strategy presumes: a ticket, a cookie, or an open
//! connection.

use std::time::Duration;

use roundtrip_model::{Exchange, Http, Memory, Primer, Strategy, Target};
use tokio::io::AsyncReadExt;

use crate::exchanger::Exchanger;
use crate::hops;

/// The longest wait for a ticket that arrives after the response.
const MAX_TICKET_WAIT: Duration = Duration::from_millis(500);
const TICKET_STEP: Duration = Duration::from_millis(5);

/// Whether an unmeasured request must come before the first measured one.
pub(crate) fn is_needed(exchanger: &Exchanger) -> bool {
    let options = exchanger.options();
    options.strategy.is_warm() && !options.cold && !exchanger.is_primed()
}

/// Makes the unmeasured request, and waits for the ticket.
pub(crate) async fn prime(exchanger: &mut Exchanger, target: &Target) -> Vec<Exchange> {
    exchanger.set_primed(None);
    let strategy = exchanger.options().strategy;
    let plain = Strategy {
        memory: memory(strategy),
        reuse: false,
        ..strategy
    };
    let hops = hops::ask(exchanger, target, plain, 0, &mut std::io::sink()).await;
    exchanger.set_primed(paid(&hops));
    let quic = hops.last().is_some_and(|e| e.quic.is_some());
    if strategy.memory != Memory::Cold && hops.last().is_some_and(Exchange::ok) {
        await_ticket(exchanger, quic).await;
    }
    if !strategy.reuse {
        exchanger.kept().retire().await;
    }
    hops
}

/// Keeps reading for a moment: servers may send tickets long after the handshake. RFC 8446 §4.6.1.
async fn await_ticket(exchanger: &mut Exchanger, quic: bool) {
    let mut waited = Duration::ZERO;
    let limit = MAX_TICKET_WAIT.min(exchanger.options().time_left());
    while waited < limit && exchanger.lacks_ticket(quic) {
        if let Some(stream) = exchanger.kept().stream() {
            let mut byte = [0; 1];
            let _ = tokio::time::timeout(TICKET_STEP, stream.read(&mut byte)).await;
        } else {
            tokio::time::sleep(TICKET_STEP).await;
        }
        waited += TICKET_STEP;
    }
}

/// Returns the cost of these hops, if they were answered.
fn paid(hops: &[Exchange]) -> Option<Primer> {
    let last = hops.last().filter(|e| e.ok())?;
    Some(Primer {
        used: last.used,
        took: hops.iter().map(Exchange::total).sum(),
        round_trips: hops.iter().map(Exchange::round_trips).sum(),
    })
}

/// Returns the memory of the unmeasured request: it needs `Resume` to keep a ticket, but offers
/// none.
fn memory(strategy: Strategy) -> Memory {
    if strategy.memory == Memory::Cold || strategy.http == Http::Echo {
        Memory::Cold
    } else {
        Memory::Resume
    }
}
