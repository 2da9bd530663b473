//! Counts the body of a response, decodes it if the client asked for an encoding, and passes it on.

use std::io::{self, Write};

use roundtrip_model::HttpFacts;
use tokio::task::yield_now;

use crate::{Decoder, HttpError};

/// Takes a body piece by piece. `io::sink()`, a file and a `Vec` are sinks.
pub trait Sink: Write + Send {}

impl<T: Write + Send> Sink for T {}

/// In bytes: how much is decoded at once, and how much output that may produce before other tasks
/// get their turn.
const BROTLI_PIECE: usize = 32;
const MAX_TURN: u64 = 1024 * 1024;

/// A sink that refuses more than a small body may have.
#[derive(Debug)]
pub struct BoundedBody {
    bytes: Vec<u8>,
    most: usize,
}

impl BoundedBody {
    pub fn new(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            most,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Write for BoundedBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::Error::other("the answer is too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts the bytes from the wire, and the bytes after decoding.
pub(crate) struct ReceivedBody<'a> {
    decoder: Decoder<Counted<'a>>,
    /// Brotli data that is still to be decoded.
    coded: Vec<u8>,
    /// The counts. They are stored here at once, because nobody may wait for the rest of the body.
    pub(crate) facts: &'a mut HttpFacts,
}

struct Counted<'a> {
    sink: &'a mut dyn Sink,
    count: u64,
    /// The sink's own failure, which the decoders would hide.
    failed: Option<io::Error>,
}

impl<'a> ReceivedBody<'a> {
    /// `decode` is set when the client offered encodings (`--compressed`).
    pub(crate) fn new(facts: &'a mut HttpFacts, decode: bool, sink: &'a mut dyn Sink) -> Self {
        let counted = Counted {
            sink,
            count: 0,
            failed: None,
        };
        let encoding = facts
            .header("content-encoding")
            .filter(|_| decode)
            .unwrap_or_default();
        let decoder = match encoding.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Decoder::gzip(counted),
            b"deflate" => Decoder::zlib(counted),
            b"br" => Decoder::brotli(counted),
            _ => Decoder::Identity(counted),
        };
        Self {
            decoder,
            coded: Vec::new(),
            facts,
        }
    }

    pub(crate) fn downloaded(&self) -> u64 {
        self.facts.downloaded
    }

    /// Takes a piece, which [`Self::settle`] may have to decode.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.facts.downloaded += bytes.len() as u64;
        if matches!(self.decoder, Decoder::Brotli(_)) {
            self.coded.extend_from_slice(bytes);
            return Ok(());
        }
        let outcome = self.decoder.write_all(bytes);
        outcome.map_err(|e| self.blame(e))
    }

    /// Decodes what was taken. Fourteen bytes of Brotli can become 16 MiB, so deadlines and other
    /// tasks get their turn meanwhile.
    pub(crate) async fn settle(&mut self) -> Result<(), HttpError> {
        let mut told = self.decoder.get_mut().count;
        let mut coded = std::mem::take(&mut self.coded);
        for piece in coded.chunks(BROTLI_PIECE) {
            let outcome = self.decoder.write_all(piece);
            outcome.map_err(|e| self.blame(e))?;
            let count = self.decoder.get_mut().count;
            if count - told > MAX_TURN {
                told = count;
                yield_now().await;
            }
        }
        coded.clear();
        self.coded = coded;
        Ok(())
    }

    /// Ends the body: an encoding that stopped half way is an error.
    pub(crate) fn finish(&mut self) -> Result<(), HttpError> {
        if self.downloaded() > 0 {
            let outcome = self.decoder.finish();
            outcome.map_err(|e| self.blame(e))?;
        }
        self.facts.decoded = self.decoder.get_mut().count;
        Ok(())
    }

    fn blame(&mut self, source: io::Error) -> HttpError {
        if let Some(own) = self.decoder.get_mut().failed.take() {
            return HttpError::Sink(own);
        }
        match self.decoder.coding() {
            None => HttpError::Sink(source),
            Some(encoding) => HttpError::Encoding { encoding, source },
        }
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.sink.write(bytes) {
            Ok(n) => {
                self.count += n as u64;
                Ok(n)
            }
            Err(e) => {
                let kind = e.kind();
                self.failed = Some(e);
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// 64 MiB of zeros.
    const BOMB: [u8; 51] = [
        207, 255, 255, 127, 0, 36, 0, 226, 177, 64, 114, 239, 255, 249, 255, 255, 15, 128, 4, 64,
        28, 22, 128, 238, 253, 63, 255, 255, 255, 1, 144, 0, 136, 195, 2, 208, 189, 255, 207, 255,
        255, 127, 0, 18, 0, 113, 88, 0, 186, 247, 255,
    ];

    #[test]
    fn others_get_their_turn_while_little_becomes_much() {
        let mut facts = HttpFacts {
            headers: vec![("content-encoding".into(), "br".into())],
            ..HttpFacts::default()
        };
        let mut sink = io::sink();
        let mut body = ReceivedBody::new(&mut facts, true, &mut sink);
        body.take(&BOMB).unwrap();
        let mut turns = 1;
        {
            let mut settling = pin!(body.settle());
            let mut context = Context::from_waker(Waker::noop());
            while settling.as_mut().poll(&mut context).is_pending() {
                turns += 1;
            }
        }
        body.finish().unwrap();
        drop(body);
        assert!(turns > 1, "{turns}");
        assert_eq!((facts.downloaded, facts.decoded), (51, 64 << 20));
    }

    #[test]
    fn a_body_that_must_be_small_is_bounded() {
        let mut body = BoundedBody::new(4);
        body.write_all(b"four").unwrap();
        body.write_all(b"x").unwrap_err();
        assert_eq!(body.bytes(), b"four");
    }
}
