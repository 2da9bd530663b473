//! The conditions for resuming a TLS session: the same version of QUIC, and limits no lower than
//! those that early data relies on. RFC 9000 §7.4.1, RFC 9369 §5.
//!
//! Both are stored with each session, in the server's store or in the ticket. A session that does
//! not meet them is treated as unknown: the handshake is a full one, and early data is refused.

use std::sync::Arc;

use roundtrip_wire::quic::Version;
use rustls::ServerConfig;
use rustls::server::{ProducesTickets, StoresServerSessions};

/// The number of limits that early data relies on.
pub(crate) const LIMITS: usize = 6;
const SIZE: usize = 4 + 8 * LIMITS;

#[derive(Debug, Clone, Copy)]
struct Terms {
    version: Version,
    limits: [u64; LIMITS],
}

impl Terms {
    fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let limits = self.limits.iter().flat_map(|limit| limit.to_be_bytes());
        let all = self.version.0.to_be_bytes().into_iter().chain(limits);
        for (to, from) in bytes.iter_mut().zip(all) {
            *to = from;
        }
        bytes
    }

    fn append(&self, mut session: Vec<u8>) -> Vec<u8> {
        session.extend_from_slice(&self.bytes());
        session
    }

    /// Returns the session without its terms, if they are compatible.
    fn strip(&self, mut session: Vec<u8>) -> Option<Vec<u8>> {
        let (rest, terms) = session.split_last_chunk::<SIZE>()?;
        let (version, limits) = terms.split_first_chunk()?;
        let limits = limits
            .chunks_exact(8)
            .filter_map(|limit| limit.try_into().ok());
        let have_shrunk = limits
            .map(u64::from_be_bytes)
            .zip(self.limits)
            .any(|(before, now)| now < before);
        if u32::from_be_bytes(*version) != self.version.0 || have_shrunk {
            return None;
        }
        let length = rest.len();
        session.truncate(length);
        Some(session)
    }
}

/// Makes the configuration of one connection, whose sessions are bound to its version and limits.
/// The sessions are stored in `storage`, or where `config` says.
pub(crate) fn bind_sessions(
    config: &ServerConfig,
    storage: Option<Arc<dyn StoresServerSessions>>,
    version: Version,
    limits: [u64; LIMITS],
) -> Arc<ServerConfig> {
    let terms = Terms { version, limits };
    let mut bound = config.clone();
    bound.session_storage = Arc::new(BoundStorage {
        inner: storage.unwrap_or_else(|| config.session_storage.clone()),
        terms,
    });
    bound.ticketer = Arc::new(BoundTickets {
        inner: config.ticketer.clone(),
        terms,
    });
    Arc::new(bound)
}

#[derive(Debug)]
struct BoundStorage {
    inner: Arc<dyn StoresServerSessions>,
    terms: Terms,
}

impl StoresServerSessions for BoundStorage {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.inner.put(key, self.terms.append(value))
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.terms.strip(self.inner.get(key)?)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.terms.strip(self.inner.take(key)?)
    }

    fn can_cache(&self) -> bool {
        self.inner.can_cache()
    }
}

#[derive(Debug)]
struct BoundTickets {
    inner: Arc<dyn ProducesTickets>,
    terms: Terms,
}

impl ProducesTickets for BoundTickets {
    fn enabled(&self) -> bool {
        self.inner.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.inner.encrypt(&self.terms.append(plain.to_vec()))
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.terms.strip(self.inner.decrypt(cipher)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(version: Version, last: u64) -> Terms {
        let mut limits = [100; LIMITS];
        limits[LIMITS - 1] = last;
        Terms { version, limits }
    }

    #[test]
    fn a_session_comes_back_under_the_same_or_higher_limits_of_the_same_version() {
        let kept = terms(Version::V1, 100).append(b"session".to_vec());
        let strip = |version, last| terms(version, last).strip(kept.clone());
        assert_eq!(strip(Version::V1, 100).as_deref(), Some(&b"session"[..]));
        assert_eq!(strip(Version::V1, 101).as_deref(), Some(&b"session"[..]));
        assert_eq!(strip(Version::V1, 99), None);
        assert_eq!(strip(Version::V2, 100), None);
        assert_eq!(terms(Version::V1, 100).strip(b"session".to_vec()), None);
    }
}
