//! A session of TLS 1.3 that outlives the process: the ticket as the server sent it, the secret behind it, and what has
//! to be known to use both again. `tickets` fills it, `planting` puts it back, `code` makes bytes of it.

mod code;
mod ticket;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_wire::x509::Certificate;
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;

use crate::{KeepsakeError, suites};
pub(crate) use ticket::{MOST_TICKET, Ticket};

/// No ticket is used longer, whatever it says. RFC 8446 §4.6.1.
const MOST_LIFETIME: u64 = 7 * 24 * 60 * 60;
/// How far a clock may have been set back since.
const SKEW: u64 = 60;
/// As long as the library reads in a handshake.
const MOST_CHAIN: usize = 64 * 1024;
/// Real servers' transport parameters are about a hundred bytes.
const MOST_PARAMETERS: usize = 4096;

/// One session, to be used once. Who has its bytes can pose as the server to this client and read its early data: they
/// belong into files that only the user can read. The secret is wiped when the value goes, and never shown.
#[derive(Clone)]
pub struct Keepsake {
    pub(crate) quic: bool,
    pub(crate) name: String,
    pub(crate) suite: u16,
    /// The group that the server took, which saves the next hello a retry; 0 if it is not known.
    pub(crate) group: u16,
    /// Seconds since 1970.
    pub(crate) received: u64,
    /// Whom the client trusted and who it said it was: see `bond`.
    pub(crate) bond: [u8; 32],
    pub(crate) secret: OkmBlock,
    pub(crate) ticket: Ticket,
    pub(crate) quic_parameters: Vec<u8>,
    pub(crate) chain: Arc<[CertificateDer<'static>]>,
}

impl Keepsake {
    /// The server's name or address, as it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For QUIC, or for TCP.
    pub fn is_quic(&self) -> bool {
        self.quic
    }

    pub fn received(&self) -> SystemTime {
        time(self.received)
    }

    /// How much may be said in early data; for QUIC, where other limits count, any or none.
    pub fn early_data(&self) -> u32 {
        self.ticket.early_data()
    }

    /// When the ticket or the server's certificate ends, whichever is first. From then on it is of no use.
    pub fn expires(&self) -> SystemTime {
        time(self.ticket_ends().min(self.certificate_ends().unwrap_or(0)))
    }

    /// Versioned bytes, with a checksum. They hold the secret.
    pub fn encode(&self) -> Vec<u8> {
        code::encode(self)
    }

    /// Reads what `encode` wrote, and nothing else. Whether it is of use is told when it is planted.
    pub fn decode(bytes: &[u8]) -> Result<Self, KeepsakeError> {
        code::decode(bytes)
    }

    pub(crate) fn check_time(&self, now: SystemTime) -> Result<(), KeepsakeError> {
        let now = seconds(now);
        if self.received > now.saturating_add(SKEW) {
            return Err(KeepsakeError::FromTheFuture);
        }
        if self.ticket_ends() <= now {
            return Err(KeepsakeError::TicketExpired);
        }
        match self.certificate_ends() {
            Some(ends) if ends > now => Ok(()),
            Some(_) => Err(KeepsakeError::CertificateExpired),
            None => Err(KeepsakeError::Damaged("certificate")),
        }
    }

    /// What can be told without a client and a time.
    pub(crate) fn check_form(&self) -> Result<(), KeepsakeError> {
        let suite = suites::tls13(self.suite).ok_or(KeepsakeError::Damaged("cipher suite"))?;
        if self.secret.as_ref().len() != suite.common.hash_provider.output_len() {
            return Err(KeepsakeError::Damaged("secret"));
        }
        if self.name.is_empty() || crate::client::server_name(&self.name).is_err() {
            return Err(KeepsakeError::Damaged("name"));
        }
        // RFC 9001 §4.6.1: with QUIC, all or none.
        if self.quic && !matches!(self.early_data(), 0 | u32::MAX) {
            return Err(KeepsakeError::Damaged("limit of early data"));
        }
        let chain: usize = self.chain.iter().map(|c| c.len()).sum();
        if chain > MOST_CHAIN || self.certificate_ends().is_none() {
            return Err(KeepsakeError::Damaged("certificate"));
        }
        if self.quic_parameters.len() > MOST_PARAMETERS
            || self.quic == self.quic_parameters.is_empty()
        {
            return Err(KeepsakeError::Damaged("transport parameters"));
        }
        Ok(())
    }

    fn ticket_ends(&self) -> u64 {
        let lifetime = u64::from(self.ticket.lifetime()).min(MOST_LIFETIME);
        self.received.saturating_add(lifetime)
    }

    fn certificate_ends(&self) -> Option<u64> {
        let leaf = Certificate::parse(self.chain.first()?).ok()?;
        Some(u64::try_from(leaf.not_after).unwrap_or(0))
    }
}

/// Tells which one it is, and nothing of what it holds.
impl fmt::Debug for Keepsake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keepsake")
            .field("name", &self.name)
            .field("quic", &self.quic)
            .finish_non_exhaustive()
    }
}

pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn time(seconds: u64) -> SystemTime {
    let since = Duration::from_secs(seconds);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
