//! Chains that were verified a short time ago. A process that asks the same servers again and again
//! need not verify the same certificates each time.

use std::sync::{Arc, Mutex, PoisonError};

use roundtrip_wire::x509::Certificate;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use crate::digest::sha256;

/// How long a verdict is used, in seconds. If the clock is set, or the files of roots change, that
/// has an effect after this time at the latest.
const MAX_AGE: u64 = 300;
/// The largest number of verdicts that are kept. The oldest is dropped for a new one.
const MAX_VERDICTS: usize = 4096;

static VERDICTS: Mutex<Vec<Verdict>> = Mutex::new(Vec::new());

/// A chain that was valid for a name under these roots.
struct Verdict {
    roots: Arc<RootCertStore>,
    digest: [u8; 32],
    since: u64,
    until: u64,
}

/// A chain and a name, as one value.
pub(crate) struct Presented {
    digest: [u8; 32],
    /// When the first certificate ends, in seconds since 1970.
    not_after: u64,
}

impl Presented {
    pub(crate) fn new(
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
    ) -> Option<Self> {
        let mut bytes = name.to_str().into_owned().into_bytes();
        let mut not_after = i64::MAX;
        for certificate in std::iter::once(end_entity).chain(intermediates) {
            bytes.push(0);
            bytes.extend((certificate.len() as u64).to_be_bytes());
            bytes.extend_from_slice(certificate);
            not_after = not_after.min(Certificate::parse(certificate).ok()?.not_after);
        }
        Some(Self {
            digest: sha256(&bytes).as_ref().try_into().ok()?,
            not_after: not_after.try_into().ok()?,
        })
    }

    /// Whether this was verified under the same roots, and recently enough.
    pub(crate) fn is_verified(&self, roots: &Arc<RootCertStore>, now: UnixTime) -> bool {
        let now = now.as_secs();
        let verdicts = VERDICTS.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.iter().any(|known| {
            known.digest == self.digest
                && Arc::ptr_eq(&known.roots, roots)
                && (known.since..known.until).contains(&now)
        })
    }

    /// Remembers that this was verified.
    pub(crate) fn remember(&self, roots: &Arc<RootCertStore>, now: UnixTime) {
        let now = now.as_secs();
        let mut verdicts = VERDICTS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |known: &Verdict| known.digest == self.digest && Arc::ptr_eq(&known.roots, roots);
        verdicts.retain(|known| known.until > now && !is_same(known));
        if verdicts.len() >= MAX_VERDICTS {
            verdicts.remove(0);
        }
        verdicts.push(Verdict {
            roots: roots.clone(),
            digest: self.digest,
            since: now,
            until: self.not_after.min(now + MAX_AGE),
        });
    }
}
