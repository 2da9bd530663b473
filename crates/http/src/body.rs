//! Counts the body of a response, decodes it if the client asked for an encoding, and passes it on.

use std::io::{self, Write};

use roundtrip_model::HttpFacts;

use crate::{Decoder, HttpError};

/// Takes a body piece by piece. `io::sink()`, a file and a `Vec` are sinks.
pub trait Sink: Write + Send {}

impl<T: Write + Send> Sink for T {}

/// Counts the bytes from the wire, and the bytes after decoding.
pub(crate) struct ReceivedBody<'a> {
    decoder: Decoder<Counted<'a>>,
    /// The counts are kept here, even if the rest of the body is not waited for.
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
        Self { decoder, facts }
    }

    pub(crate) fn downloaded(&self) -> u64 {
        self.facts.downloaded
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.facts.downloaded += bytes.len() as u64;
        let outcome = self.decoder.write_all(bytes);
        outcome.map_err(|e| self.blame(e))
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
