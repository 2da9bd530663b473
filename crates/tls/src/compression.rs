//! Certificate compression, with a decompressor that remembers how much was saved. RFC 8879.

use std::cell::Cell;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};

pub(crate) static BROTLI: Brotli = Brotli;
pub(crate) static ZLIB: Zlib = Zlib;

#[derive(Debug)]
pub(crate) struct Brotli;

#[derive(Debug)]
pub(crate) struct Zlib;

thread_local! {
    /// The last chain decompressed on this thread: algorithm and compressed length. Rustls
    /// decompresses and verifies within one call, so the next verification on this thread is of
    /// that chain.
    static LAST: Cell<Option<(&'static str, u64)>> = const { Cell::new(None) };
}

pub(crate) fn take_last() -> Option<(&'static str, u64)> {
    LAST.take()
}

impl CertDecompressor for Brotli {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        exactly(brotli_decompressor::Decompressor::new(input, 4096), output)?;
        LAST.set(Some(("brotli", input.len() as u64)));
        Ok(())
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Brotli
    }
}

impl CertDecompressor for Zlib {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        exactly(flate2::read::ZlibDecoder::new(input), output)?;
        LAST.set(Some(("zlib", input.len() as u64)));
        Ok(())
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zlib
    }
}

/// The algorithm with which a server compresses its certificates.
pub fn certificate_compressor() -> &'static dyn CertCompressor {
    &ZLIB
}

impl CertCompressor for Zlib {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        let level = match level {
            CompressionLevel::Interactive => Compression::default(),
            CompressionLevel::Amortized => Compression::best(),
        };
        let mut encoder = ZlibEncoder::new(Vec::new(), level);
        encoder
            .write_all(&input)
            .and_then(|()| encoder.finish())
            .map_err(|_| CompressionFailed)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zlib
    }
}

/// Decompresses, and fails unless the declared length is exact. RFC 8879 §4.
fn exactly(mut from: impl Read, output: &mut [u8]) -> Result<(), DecompressionFailed> {
    from.read_exact(output).map_err(|_| DecompressionFailed)?;
    match from.read(&mut [0]) {
        Ok(0) => Ok(()),
        _ => Err(DecompressionFailed),
    }
}
