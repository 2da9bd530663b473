//! Fuzzes the readers of other people's HTTP: their results do not depend on how the bytes were
//! split, and never report more bytes than there were.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::passive::{Http1Reader, Http2Reader, Http3Reader, HttpEvent, HttpFact};
use roundtrip_wire::quic::Side;

fuzz_target!(|bytes: &[u8]| {
    let Some(([kind, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let cut = usize::from(*cut).max(1);
    match kind % 3 {
        0 => {
            let (mut once, mut cut_up) = (Http1Reader::new(), Http1Reader::new());
            both(rest, cut, |pieces, side, bytes, at, skip, each| {
                let reader = if pieces { &mut cut_up } else { &mut once };
                if skip {
                    reader.skip(side, at.end - at.start, at, each);
                } else {
                    reader.push(side, bytes, at, each);
                }
            });
        }
        1 => {
            let (mut once, mut cut_up) = (Http2Reader::new(), Http2Reader::new());
            both(rest, cut, |pieces, side, bytes, at, skip, each| {
                let reader = if pieces { &mut cut_up } else { &mut once };
                if skip {
                    reader.skip(side, at.end - at.start, at, each);
                } else {
                    reader.push(side, bytes, at, each);
                }
            });
        }
        _ => {
            let mut reader = Http3Reader::new();
            let mut said = 0;
            for (place, (side, piece)) in pieces(rest).into_iter().enumerate() {
                let side = if side & 1 == 0 {
                    Side::Client
                } else {
                    Side::Server
                };
                reader.push(side, piece, place as u64, |event| {
                    assert!(event.at.start <= event.at.end);
                    said += 1;
                });
            }
            assert!(said <= 2 * bytes.len());
        }
    }
});

type Push<'f> =
    &'f mut dyn FnMut(bool, Side, &[u8], std::ops::Range<u64>, bool, &mut dyn FnMut(HttpEvent));

/// Gives the same to two readers, to one of them in pieces.
fn both(
    rest: &[u8],
    cut: usize,
    mut push: impl FnMut(bool, Side, &[u8], std::ops::Range<u64>, bool, &mut dyn FnMut(HttpEvent)),
) {
    let push: Push<'_> = &mut push;
    let mut said = [Vec::new(), Vec::new()];
    let mut lost = false;
    for in_pieces in [false, true] {
        let said = &mut said[usize::from(in_pieces)];
        let mut places = [0, 0];
        for (kind, piece) in pieces(rest) {
            let side = if kind & 1 == 0 {
                Side::Client
            } else {
                Side::Server
            };
            let place = &mut places[usize::from(kind & 1)];
            let skip = kind & 2 != 0;
            let length = if in_pieces && !skip { cut } else { usize::MAX };
            for piece in piece.chunks(length.min(piece.len().max(1))) {
                let at = *place..*place + piece.len() as u64;
                *place = at.end;
                push(in_pieces, side, piece, at, skip, &mut |event| {
                    lost |= event.what == HttpFact::Lost;
                    assert!(event.at.start <= event.at.end);
                    if !matches!(event.what, HttpFact::Body(_)) {
                        said.push((event.side, event.stream, event.what));
                    }
                });
            }
        }
        assert!(said.len() <= 2 * rest.len());
    }
    // Where something was lost, the pieces decide where reading goes on.
    if !lost {
        assert_eq!(said[0], said[1]);
    }
}

fn pieces(bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while let Some(([kind, high, low], behind)) = rest.split_first_chunk::<3>() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (piece, behind) = behind.split_at_checked(length).unwrap_or((behind, &[]));
        pieces.push((*kind, piece));
        rest = behind;
    }
    pieces
}
