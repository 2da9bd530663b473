//! Fuzzes the readers of other programs' logs: they never report more than the log contains, and a
//! page load has a critical path without overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_report::terminal::Style;
use roundtrip_trace::told::{Log, json, text};
use roundtrip_wire::witness::page::PageLoad;
use roundtrip_wire::witness::{Witness, curl_trace, har, netlog, qlog};

fuzz_target!(|bytes: &[u8]| {
    for witness in [
        curl_trace::read(bytes),
        har::read(bytes),
        netlog::read(bytes),
        qlog::read(bytes),
    ]
    .into_iter()
    .flatten()
    {
        check(&witness, bytes.len());
    }
    if let Some(log) = Log::read(bytes) {
        let _ = text::report(&log, false, &Style::default());
        let _ = json::document("log", &log);
        for request in &log.witness.requests {
            let exchange = log.exchange(request);
            assert!(exchange.findings.is_empty());
            let _ = exchange.phases();
        }
    }
});

fn check(witness: &Witness, size: usize) {
    assert!(witness.requests.len() + witness.connections.len() <= size + 1);
    for request in &witness.requests {
        assert!(
            request
                .connection
                .is_none_or(|at| at < witness.connections.len())
        );
        assert!(request.spans.iter().all(|span| span.begin <= span.end));
    }
    let Some(page) = PageLoad::from_witness(witness) else {
        return;
    };
    for two in page.critical.windows(2) {
        assert!(two[0].end <= two[1].begin);
    }
    let _ = page.round_trips(1);
    let whole = page.without(witness, |_| false);
    assert!(whole >= page.length());
    assert!(page.without(witness, |_| true) <= whole);
}
