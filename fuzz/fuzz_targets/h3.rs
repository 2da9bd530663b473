//! Fuzzes the streams of HTTP/3: messages, and unidirectional streams. The pieces in which they
//! come make no difference; content and trailers follow a head, and nothing follows trailers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::h3::{MessageError, MessageReader, Part, SectionLimits, UniStream, UniStreams};
use roundtrip_wire::quic::Side;

const LIMITS: SectionLimits = SectionLimits {
    fields: 16,
    size: 4 << 10,
};

/// What was read, and why no more was.
fn message(sender: Side, stream: &[u8], piece: usize) -> (Vec<u8>, Result<(), MessageError>) {
    let mut reader = MessageReader::new(sender, LIMITS);
    let (mut seen, mut head, mut over) = (Vec::new(), false, false);
    for mut bytes in stream.chunks(piece) {
        while !bytes.is_empty() {
            let (used, part) = match reader.read(bytes) {
                Ok(read) => read,
                Err(error) => return (seen, Err(error)),
            };
            assert!(!over || part.is_none());
            match part {
                Some(Part::Head(section)) => {
                    head = true;
                    section
                        .lines()
                        .for_each(|(name, value)| seen.extend([name, value].concat()));
                }
                Some(Part::Data(range)) => {
                    assert!(head && range.end == used && !range.is_empty());
                    seen.extend_from_slice(&bytes[range]);
                }
                Some(Part::Trailers(section)) => {
                    over = true;
                    assert!(head);
                    section
                        .lines()
                        .for_each(|(name, value)| seen.extend([name, value].concat()));
                }
                None => assert_eq!(used, bytes.len()),
            }
            bytes = &bytes[used..];
        }
    }
    (seen, reader.end())
}

fuzz_target!(|input: (bool, u8, Vec<&[u8]>)| {
    let (server, piece, streams) = input;
    let (peer, piece) = (
        if server { Side::Server } else { Side::Client },
        usize::from(piece) + 1,
    );
    for stream in &streams {
        assert_eq!(
            message(peer, stream, piece),
            message(peer, stream, usize::MAX)
        );
    }
    let read = |piece| {
        let mut all = UniStreams::new(peer);
        for bytes in &streams {
            let mut stream = UniStream::default();
            for part in bytes.chunks(piece) {
                if !all.read(&mut stream, part).map_err(|error| error.code)? {
                    break;
                }
            }
        }
        Ok((all.settings(), all.goaway()))
    };
    assert_eq!(read(piece), read(usize::MAX));
    let _: Result<_, roundtrip_wire::h3::Code> = read(1);
});
