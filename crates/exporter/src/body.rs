//! The body of an answer: decoded as the module says, limited, counted, and kept for patterns.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder};

use crate::config::{Compression, HttpModule};

/// The length of a body that patterns see, if the module sets no limit.
const MAX_MATCHED: usize = 4 * 1024 * 1024;
const BROTLI_BUFFER: usize = 4096;

/// Takes the body as it came, and removes the coding that the module names, whatever the answer
/// says about its coding.
pub(crate) struct ProbedBody {
    decoder: Decoder,
    is_empty: bool,
}

enum Decoder {
    Identity(Decoded),
    Gzip(Box<MultiGzDecoder<Decoded>>),
    Deflate(Box<DeflateDecoder<Decoded>>),
    Brotli(Box<DecompressorWriter<Decoded>>),
}

/// The body without its coding.
struct Decoded {
    limit: usize,
    kept: Option<Vec<u8>>,
    length: usize,
    is_too_long: bool,
}

impl ProbedBody {
    pub(crate) fn new(module: &HttpModule) -> Self {
        let limit = usize::try_from(module.body_size_limit.0).unwrap_or(usize::MAX);
        let content = Decoded {
            limit: if limit == 0 { usize::MAX } else { limit },
            kept: module.has_body_patterns().then(Vec::new),
            length: 0,
            is_too_long: false,
        };
        let decoder = match module.compression() {
            Compression::Identity => Decoder::Identity(content),
            Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(content))),
            Compression::Deflate => Decoder::Deflate(Box::new(DeflateDecoder::new(content))),
            Compression::Brotli => {
                Decoder::Brotli(Box::new(DecompressorWriter::new(content, BROTLI_BUFFER)))
            }
        };
        Self {
            decoder,
            is_empty: true,
        }
    }

    /// The length without the coding.
    pub(crate) fn length(&mut self) -> usize {
        self.decoded().length
    }

    /// The beginning of the body as text, if patterns need it.
    pub(crate) fn text(&mut self) -> String {
        let kept = self.decoded().kept.as_deref().unwrap_or_default();
        String::from_utf8_lossy(kept).into_owned()
    }

    /// Ends the body: a coding that stopped half way is an error.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        let outcome = match &mut self.decoder {
            Decoder::Identity(_) => Ok(()),
            Decoder::Gzip(_) | Decoder::Deflate(_) if self.is_empty => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(decoder) => decoder.try_finish(),
            Decoder::Brotli(_) if self.is_empty => Ok(()),
            Decoder::Brotli(decoder) => decoder.close(),
        };
        outcome.map_err(|error| self.blame(&error).to_string())
    }

    fn decoded(&mut self) -> &mut Decoded {
        match &mut self.decoder {
            Decoder::Identity(decoded) => decoded,
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Deflate(decoder) => decoder.get_mut(),
            Decoder::Brotli(decoder) => decoder.get_mut(),
        }
    }

    fn blame(&mut self, error: &io::Error) -> io::Error {
        if self.decoded().is_too_long {
            return io::Error::other("the body is larger than body_size_limit");
        }
        let coding = match self.decoder {
            Decoder::Identity(_) => return io::Error::other(error.to_string()),
            Decoder::Gzip(_) => Compression::Gzip,
            Decoder::Deflate(_) => Compression::Deflate,
            Decoder::Brotli(_) => Compression::Brotli,
        };
        io::Error::other(format!("the body is not valid {}", coding.name()))
    }
}

impl Write for ProbedBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_empty &= bytes.is_empty();
        let outcome = match &mut self.decoder {
            Decoder::Identity(decoded) => decoded.write_all(bytes),
            Decoder::Gzip(decoder) => decoder.write_all(bytes),
            Decoder::Deflate(decoder) => decoder.write_all(bytes),
            Decoder::Brotli(decoder) => decoder.write_all(bytes),
        };
        outcome.map_err(|error| self.blame(&error))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Decoded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = self.limit.saturating_sub(self.length).min(bytes.len());
        let allowed = bytes.get(..allowed).unwrap_or_default();
        if let Some(kept) = &mut self.kept {
            let room = MAX_MATCHED.saturating_sub(kept.len()).min(allowed.len());
            kept.extend_from_slice(allowed.get(..room).unwrap_or_default());
        }
        self.length += allowed.len();
        self.is_too_long = allowed.len() < bytes.len();
        if self.is_too_long {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
