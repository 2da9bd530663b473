//! Counts the body of a response, decodes it if the client asked for an encoding, and passes it on.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use roundtrip_model::HttpFacts;

use crate::HttpError;

/// Takes a body piece by piece. `io::sink()`, a file and a `Vec` are sinks.
pub trait Sink: Write + Send {}

impl<T: Write + Send> Sink for T {}

/// Counts what comes from the wire and what remains after decoding.
pub(crate) struct Body<'a> {
    decoder: Decoder<'a>,
    /// The counts are kept here, even if the rest of the body is not waited for.
    pub(crate) facts: &'a mut HttpFacts,
}

enum Decoder<'a> {
    Plain(Counted<'a>),
    Gzip(Box<MultiGzDecoder<Counted<'a>>>),
    Deflate(Box<ZlibDecoder<Counted<'a>>>),
    Brotli(Box<DecompressorWriter<Counted<'a>>>),
}

struct Counted<'a> {
    sink: &'a mut dyn Sink,
    count: u64,
    /// The sink's own failure, which the decoders would hide.
    failed: Option<io::Error>,
}

impl<'a> Body<'a> {
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
            b"gzip" | b"x-gzip" => Decoder::Gzip(Box::new(MultiGzDecoder::new(counted))),
            b"deflate" => Decoder::Deflate(Box::new(ZlibDecoder::new(counted))),
            b"br" => Decoder::Brotli(Box::new(DecompressorWriter::new(counted, 4096))),
            _ => Decoder::Plain(counted),
        };
        Self { decoder, facts }
    }

    pub(crate) fn downloaded(&self) -> u64 {
        self.facts.downloaded
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.facts.downloaded += bytes.len() as u64;
        let outcome = match &mut self.decoder {
            Decoder::Plain(to) => to.write_all(bytes),
            Decoder::Gzip(to) => to.write_all(bytes),
            Decoder::Deflate(to) => to.write_all(bytes),
            Decoder::Brotli(to) => to.write_all(bytes),
        };
        outcome.map_err(|e| self.blame(e))
    }

    /// Ends the body: an encoding that stopped half way is an error.
    pub(crate) fn finish(&mut self) -> Result<(), HttpError> {
        if self.downloaded() > 0 {
            let outcome = match &mut self.decoder {
                Decoder::Plain(to) => to.flush(),
                Decoder::Gzip(to) => to.try_finish(),
                Decoder::Deflate(to) => to.try_finish(),
                Decoder::Brotli(to) => to.close(),
            };
            outcome.map_err(|e| self.blame(e))?;
        }
        self.facts.decoded = self.counted().count;
        Ok(())
    }

    fn counted(&mut self) -> &mut Counted<'a> {
        match &mut self.decoder {
            Decoder::Plain(to) => to,
            Decoder::Gzip(to) => to.get_mut(),
            Decoder::Deflate(to) => to.get_mut(),
            Decoder::Brotli(to) => to.get_mut(),
        }
    }

    fn blame(&mut self, source: io::Error) -> HttpError {
        if let Some(own) = self.counted().failed.take() {
            return HttpError::Sink(own);
        }
        let encoding = match self.decoder {
            Decoder::Plain(_) => return HttpError::Sink(source),
            Decoder::Gzip(_) => "gzip",
            Decoder::Deflate(_) => "deflate",
            Decoder::Brotli(_) => "br",
        };
        HttpError::Encoding { encoding, source }
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
