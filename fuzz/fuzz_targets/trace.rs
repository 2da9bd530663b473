//! Fuzzes captures of any client: the phases of each exchange cover it, and no bytes cause a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::Phase;
use roundtrip_trace::{Options, Trace};
use roundtrip_wire::capture::CaptureReader;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = CaptureReader::new();
    let mut trace = Trace::new(Options::default());
    for piece in bytes.chunks(1000) {
        reader.push(piece);
        while let Ok(Some(item)) = reader.item() {
            trace.take(item);
        }
    }
    for conversation in trace.end().0 {
        for exchange in conversation.exchanges {
            let sum: f64 = exchange.phases().iter().map(Phase::ms).sum();
            let total = exchange.total().as_secs_f64() * 1e3;
            assert!((sum - total).abs() <= 0.001 + 1e-9 * total);
        }
    }
});
