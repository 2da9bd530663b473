//! Fuzzes a server's HTTP/2. The pieces in which a client's bytes come make no difference; the
//! server sends no more than an honest connection needs; and a stream that was released is never
//! reported again.
#![no_main]

use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::h2::{ConnectionError, Server, ServerConfig};
use roundtrip_wire::qpack::SectionBounds;

const CONFIG: ServerConfig = ServerConfig {
    streams: 4,
    stream_window: 1 << 16,
    connection_window: 1 << 17,
    section: SectionBounds { lines: 16, size: 4 << 10 },
    extended_connect: true,
};
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Serves the bytes in pieces: reads every body, and answers each request with what it sent.
fn serve(bytes: &[u8], piece: usize) -> (Vec<u32>, Result<(), ConnectionError>) {
    let mut cx = Context::from_waker(Waker::noop());
    let mut server = Server::new(CONFIG);
    server.receive(GREETING).expect("it is valid");
    let (mut asked, mut open) = (Vec::new(), Vec::new());
    let mut outcome = Ok(());
    for piece in bytes.chunks(piece) {
        outcome = server.receive(piece);
        while let Some(arrival) = server.next_request() {
            assert!(asked.last().is_none_or(|last| *last < arrival.stream));
            asked.push(arrival.stream);
            open.push(arrival.stream);
            let _ = server.send_head(arrival.stream, &[0x88], false);
        }
        open.retain(|stream| {
            let mut body = Vec::new();
            let over = match server.poll_read(*stream, &mut body, 1000, &mut cx) {
                Poll::Ready(Ok(Some(length))) => {
                    assert_eq!(length, body.len());
                    server.consume(*stream, length);
                    if let Poll::Ready(Ok(room)) = server.poll_room(*stream, length, &mut cx) {
                        let _ = server.send_data(*stream, &body[..room], false);
                    }
                    false
                }
                Poll::Ready(_) => true,
                Poll::Pending => false,
            };
            if over {
                let _ = server.send_trailers(*stream, &[]);
                server.release(*stream);
            }
            !over
        });
        assert!(server.pending().len() <= 64 + 4096 + 4 * piece.len() + (64 << 10));
        let half = server.pending().len().div_ceil(2);
        server.on_written(half);
        if outcome.is_err() {
            break;
        }
    }
    (asked, outcome)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let (asked, outcome) = serve(bytes, usize::from(piece) + 1);
    let (whole, other) = serve(bytes, 1 << 10);
    // Streams that were reset before they were reported depend on the pieces, as does the rest of a
    // window.
    if outcome.is_ok() && other.is_ok() {
        assert!(asked.iter().chain(&whole).all(|stream| stream % 2 == 1));
    }
});
