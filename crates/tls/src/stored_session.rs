//! A session of TLS 1.3 that outlives the process: the ticket as the server sent it, its secret,
//! and the data needed to use both again. `tickets` makes it, `revive` turns it back into a
//! session, `code` encodes it.

mod code;
mod ticket;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_wire::x509::Certificate;
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;

use crate::{StoredSessionError, digest};
pub(crate) use ticket::{MAX_TICKET_SIZE, Ticket};

/// The longest time that a ticket is used, whatever lifetime it has. RFC 8446 §4.6.1.
const MAX_LIFETIME: u64 = 7 * 24 * 60 * 60;
/// The number of seconds that the clock can have been set back since.
const MAX_CLOCK_SKEW: u64 = 60;
/// The longest chain that the library reads in a handshake.
const MAX_CHAIN_SIZE: usize = 64 * 1024;
/// Real servers' transport parameters are about a hundred bytes.
const MAX_PARAMETERS_SIZE: usize = 4096;

/// One session, to be used once.
///
/// Anyone who has its bytes can pose as the server to this client and read its early data: store
/// them in files that only the user can read. The secret is wiped when the value is dropped, and
/// never shown.
#[derive(Clone)]
pub struct StoredSession {
    pub(crate) quic: bool,
    pub(crate) name: String,
    pub(crate) suite: u16,
    /// The group that the server selected; knowing it avoids a HelloRetryRequest. 0 if unknown.
    pub(crate) group: u16,
    /// Seconds since 1970.
    pub(crate) received: u64,
    /// The client's trust and identity: see `trust_fingerprint`.
    pub(crate) trust_fingerprint: [u8; 32],
    pub(crate) secret: OkmBlock,
    pub(crate) ticket: Ticket,
    pub(crate) quic_parameters: Vec<u8>,
    pub(crate) chain: Arc<[CertificateDer<'static>]>,
}

impl StoredSession {
    /// The server's name or address, as it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the session is for QUIC; otherwise it is for TCP.
    pub fn is_quic(&self) -> bool {
        self.quic
    }

    pub fn received(&self) -> SystemTime {
        time(self.received)
    }

    /// The limit of early data in bytes. For QUIC, which has other limits, it is `u32::MAX`
    /// (allowed) or 0 (not allowed).
    pub fn early_data(&self) -> u32 {
        self.ticket.early_data()
    }

    /// The time when the ticket or the server's certificate expires, whichever is first.
    pub fn expires(&self) -> SystemTime {
        time(self.ticket_ends().min(self.certificate_ends().unwrap_or(0)))
    }

    /// Encodes the session, with its secret, a version and a checksum.
    pub fn encode(&self) -> Vec<u8> {
        code::encode(self)
    }

    /// Decodes the output of `encode`, and nothing else. Whether it can be used is checked when it
    /// is revived.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoredSessionError> {
        code::decode(bytes)
    }

    pub(crate) fn check_time(&self, now: SystemTime) -> Result<(), StoredSessionError> {
        let now = seconds(now);
        if self.received > now.saturating_add(MAX_CLOCK_SKEW) {
            return Err(StoredSessionError::FromTheFuture);
        }
        if self.ticket_ends() <= now {
            return Err(StoredSessionError::TicketExpired);
        }
        match self.certificate_ends() {
            Some(ends) if ends > now => Ok(()),
            Some(_) => Err(StoredSessionError::CertificateExpired),
            None => Err(StoredSessionError::Damaged("certificate")),
        }
    }

    /// Checks everything that does not depend on the client or the time.
    pub(crate) fn check_form(&self) -> Result<(), StoredSessionError> {
        let length = digest::hash_length(self.suite);
        let length = length.ok_or(StoredSessionError::Damaged("cipher suite"))?;
        if self.secret.as_ref().len() != length {
            return Err(StoredSessionError::Damaged("secret"));
        }
        if self.name.is_empty() || crate::name::server_name(&self.name).is_err() {
            return Err(StoredSessionError::Damaged("name"));
        }
        // RFC 9001 §4.6.1: with QUIC, the limit is 0 or 0xffffffff.
        if self.quic && !matches!(self.early_data(), 0 | u32::MAX) {
            return Err(StoredSessionError::Damaged("limit of early data"));
        }
        let chain: usize = self.chain.iter().map(|c| c.len()).sum();
        if chain > MAX_CHAIN_SIZE || self.certificate_ends().is_none() {
            return Err(StoredSessionError::Damaged("certificate"));
        }
        if self.quic_parameters.len() > MAX_PARAMETERS_SIZE
            || self.quic == self.quic_parameters.is_empty()
        {
            return Err(StoredSessionError::Damaged("transport parameters"));
        }
        Ok(())
    }

    fn ticket_ends(&self) -> u64 {
        let lifetime = u64::from(self.ticket.lifetime()).min(MAX_LIFETIME);
        self.received.saturating_add(lifetime)
    }

    fn certificate_ends(&self) -> Option<u64> {
        let leaf = Certificate::parse(self.chain.first()?).ok()?;
        Some(u64::try_from(leaf.not_after).unwrap_or(0))
    }
}

/// Shows which session this is, but no secret.
impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession")
            .field("name", &self.name)
            .field("quic", &self.quic)
            .finish_non_exhaustive()
    }
}

pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

pub(crate) fn time(seconds: u64) -> SystemTime {
    let since = Duration::from_secs(seconds);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
