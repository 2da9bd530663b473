//! The body of an answer: decoded as the module says, limited, counted, and kept for patterns.

use std::io::{self, Write};

use roundtrip_http::Decoder;

use crate::config::{Compression, HttpModule};

/// The length of a body that patterns see, if the module sets no limit.
const MAX_MATCHED: usize = 4 * 1024 * 1024;

/// Takes the body as it came, and decodes it with the coding that the module names, whatever the
/// answer says.
pub(crate) struct ProbedBody {
    decoder: Decoder<Decoded>,
    is_empty: bool,
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
            Compression::Gzip => Decoder::gzip(content),
            // Go's library reads `deflate` without the zlib format.
            Compression::Deflate => Decoder::raw_deflate(content),
            Compression::Brotli => Decoder::brotli(content),
        };
        Self {
            decoder,
            is_empty: true,
        }
    }

    /// The length without the coding.
    pub(crate) fn length(&mut self) -> usize {
        self.decoder.get_mut().length
    }

    /// Whether the body begins as the coding requires.
    pub(crate) fn can_be_read(&self) -> bool {
        match &self.decoder {
            Decoder::Gzip(gzip) => gzip.header().is_some(),
            _ => true,
        }
    }

    /// The beginning of the body as text, if patterns need it.
    pub(crate) fn text(&mut self) -> String {
        let kept = self.decoder.get_mut().kept.as_deref().unwrap_or_default();
        String::from_utf8_lossy(kept).into_owned()
    }

    /// Ends the body: a coding that stopped half way is an error.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        let outcome = match &mut self.decoder {
            Decoder::Gzip(_) | Decoder::RawDeflate(_) if self.is_empty => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Decoder::Brotli(_) if self.is_empty => Ok(()),
            decoder => decoder.finish(),
        };
        outcome.map_err(|error| self.blame(&error).to_string())
    }

    fn blame(&mut self, error: &io::Error) -> io::Error {
        if self.decoder.get_mut().is_too_long {
            return io::Error::other("the body is larger than body_size_limit");
        }
        match self.decoder.coding() {
            None => io::Error::other(error.to_string()),
            Some(coding) => io::Error::other(format!("the body is not valid {coding}")),
        }
    }
}

impl Write for ProbedBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_empty &= bytes.is_empty();
        let outcome = self.decoder.write_all(bytes);
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
