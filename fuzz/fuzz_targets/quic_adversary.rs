//! Fuzzes the QUIC engine behind the keys: a peer that holds them does what the input tells it, on
//! either side, from several addresses, in virtual time. TLS is replayable, so an input does the
//! same each time.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/quic/tests/world/adversary.rs"]
mod adversary;
#[path = "../../crates/quic/tests/world/adversary_frames.rs"]
mod adversary_frames;
#[path = "../../crates/quic/tests/world/adversary_judge.rs"]
mod adversary_judge;
#[path = "../../crates/quic/tests/world/key_holder.rs"]
mod key_holder;
#[path = "../../crates/quic/tests/world/replayable_tls.rs"]
mod replayable_tls;

fuzz_target!(|input: &[u8]| {
    let reached = adversary::play(input);
    assert!(reached.bytes_read <= 1 << 40);
});
