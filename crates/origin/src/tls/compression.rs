//! Certificate compression with zlib (RFC 8879).

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{CertCompressor, CompressionFailed, CompressionLevel};

pub(super) static ZLIB: Zlib = Zlib;

#[derive(Debug)]
pub(super) struct Zlib;

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
