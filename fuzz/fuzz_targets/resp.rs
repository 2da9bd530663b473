//! Fuzzes Redis' answers: the result does not depend on the pieces in which they come, and stays
//! the same if it is written and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::resp::{Decoder, Value};

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, bytes.len().max(1));
    let pieces = read(bytes, 3);
    // NaN equals nothing, not even itself.
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    let mut again = Vec::new();
    whole.iter().for_each(|value| value.encode(&mut again));
    assert_eq!(
        format!("{:?}", read(&again, again.len().max(1))),
        format!("{whole:?}")
    );
});

fn read(bytes: &[u8], piece: usize) -> Vec<Value> {
    let mut decoder = Decoder::default();
    let mut values = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.feed(piece);
        while let Ok(Some(value)) = decoder.next_value() {
            values.push(value);
        }
    }
    values
}
