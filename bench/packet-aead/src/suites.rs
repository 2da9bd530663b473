//! What rustls asks of a cipher suite's QUIC keys, answered with `gcm`. RFC 9001 §5.3 and §5.4.

use std::sync::LazyLock;

use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{CipherSuite, CipherSuiteCommon, Error, SupportedCipherSuite, Tls13CipherSuite};

use super::aes::{AES_128, AES_256};
use super::cpu::Cpu;
use super::gcm::{Gcm, Masker, Nonce, TAG};

const SAMPLE: usize = 16;
/// RFC 9001 §5.4.1.
const FORM_LONG: u8 = 0x80;
const MASKED_LONG: u8 = 0x0f;
const MASKED_SHORT: u8 = 0x1f;
const NUMBER_LENGTH: u8 = 0x03;

/// RFC 9001 §6.6.
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
const INTEGRITY_LIMIT: u64 = 1 << 52;

static KEYS_128: LazyLock<Option<Made<AES_128, 16>>> =
    LazyLock::new(|| Made::over(TLS13_AES_128_GCM_SHA256));
static KEYS_256: LazyLock<Option<Made<AES_256, 32>>> =
    LazyLock::new(|| Made::over(TLS13_AES_256_GCM_SHA384));

static SUITE_128: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| KEYS_128.as_ref()?.suite(TLS13_AES_128_GCM_SHA256));
static SUITE_256: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| KEYS_256.as_ref()?.suite(TLS13_AES_256_GCM_SHA384));

/// The suite of that name with keys made here; `None` if it is not one of AES-GCM, or if the
/// processor lacks an instruction.
pub(super) fn made_here(plain: SupportedCipherSuite) -> Option<SupportedCipherSuite> {
    let suite = match plain.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => SUITE_128.as_ref(),
        CipherSuite::TLS13_AES_256_GCM_SHA384 => SUITE_256.as_ref(),
        _ => None,
    };
    suite.map(SupportedCipherSuite::Tls13)
}

/// How keys are made. `K` is the number of round keys, `KEY` the number of bytes of a key.
struct Made<const K: usize, const KEY: usize> {
    cpu: Cpu,
    /// aws-lc's algorithm, for keys of another length, which rustls never uses.
    plain: &'static dyn Algorithm,
}

impl<const K: usize, const KEY: usize> Made<K, KEY> {
    fn over(plain: SupportedCipherSuite) -> Option<Self> {
        Some(Self {
            cpu: Cpu::detect()?,
            plain: plain.tls13()?.quic?,
        })
    }

    fn suite(&'static self, plain: SupportedCipherSuite) -> Option<Tls13CipherSuite> {
        let plain = plain.tls13()?;
        Some(Tls13CipherSuite {
            common: CipherSuiteCommon {
                suite: plain.common.suite,
                hash_provider: plain.common.hash_provider,
                confidentiality_limit: plain.common.confidentiality_limit,
            },
            hkdf_provider: plain.hkdf_provider,
            aead_alg: plain.aead_alg,
            quic: Some(self),
        })
    }
}

impl<const K: usize, const KEY: usize> Algorithm for Made<K, KEY> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        let bytes = <&[u8; KEY]>::try_from(key.as_ref());
        match (bytes, iv.as_ref().as_array()) {
            (Ok(bytes), Some(iv)) => Box::new(Gcm::<K>::new(self.cpu, bytes, iv)),
            _ => self.plain.packet_key(key, iv),
        }
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        match <&[u8; KEY]>::try_from(key.as_ref()) {
            Ok(bytes) => Box::new(Masker::<K>::new(self.cpu, bytes)),
            Err(_) => self.plain.header_protection_key(key),
        }
    }

    fn aead_key_len(&self) -> usize {
        KEY
    }
}

impl<const K: usize> PacketKey for Gcm<K> {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.encrypt_in_place_for_path(0, packet_number, header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        let nonce = Nonce {
            path: path_id,
            number: packet_number,
        };
        let tag = self.seal(nonce, header, payload);
        tag.map(|tag| Tag::from(&tag[..]))
            .ok_or(Error::EncryptError)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.decrypt_in_place_for_path(0, packet_number, header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let nonce = Nonce {
            path: path_id,
            number: packet_number,
        };
        let split = payload.split_last_chunk_mut::<TAG>();
        let (data, tag) = split.ok_or(Error::DecryptError)?;
        self.open(nonce, header, data, tag)
            .ok_or(Error::DecryptError)?;
        Ok(data)
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }

    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

impl<const K: usize> HeaderProtectionKey for Masker<K> {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        let length = *first;
        self.apply(sample, first, packet_number, |_| length)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, |unmasked| unmasked)
    }

    fn sample_len(&self) -> usize {
        SAMPLE
    }
}

impl<const K: usize> Masker<K> {
    /// RFC 9001 §5.4.1. The number's length is in the first byte as it is below the mask: before,
    /// or after.
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
        plain: impl FnOnce(u8) -> u8,
    ) -> Result<(), Error> {
        let sample = sample
            .as_array()
            .ok_or_else(|| Error::General("a sample of another length than 16 bytes".into()))?;
        let [first_mask, number_mask @ ..] = self.mask(sample);
        if packet_number.len() > usize::from(NUMBER_LENGTH) + 1 {
            return Err(Error::General(
                "a packet number of more than 4 bytes".into(),
            ));
        }
        let masked = if *first & FORM_LONG != 0 {
            MASKED_LONG
        } else {
            MASKED_SHORT
        };
        *first ^= first_mask & masked;
        let length = usize::from(plain(*first) & NUMBER_LENGTH) + 1;
        for (byte, mask) in packet_number.iter_mut().zip(number_mask).take(length) {
            *byte ^= mask;
        }
        Ok(())
    }
}
