//! Fuzzes QUIC's frames and transport parameters: parsed values that are written and parsed again
//! stay the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::quic::{Frame, Frames, Parameters, Pen, Side, expand_number, number_length};

fuzz_target!(|input: (&[u8], &[u8], u64, u64)| {
    let (payload, parameters, number, expected) = input;
    for frame in Frames::new(payload).flatten() {
        let mut bytes = vec![0; frame.size()];
        assert!(frame.write(&mut Pen::new(&mut bytes)));
        assert_eq!(Frames::new(&bytes).next(), Some(Ok(frame.clone())));
        if let Frame::Ack(ack) = frame {
            let mut below = u64::MAX;
            for range in ack.ranges() {
                assert!(range.start() <= range.end() && *range.end() < below);
                below = *range.start();
            }
        }
    }
    for side in [Side::Client, Side::Server] {
        if let Ok(read) = Parameters::read(parameters, side) {
            let mut bytes = Vec::new();
            read.write(&mut bytes);
            assert_eq!(Parameters::read(&bytes, side), Ok(read));
        }
    }
    let _ = expand_number(number, number_length(number, Some(expected)), expected);
});
