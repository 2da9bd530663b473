//! Turns a stored session back into a session of rustls.
//!
//! # Why a pretended server
//!
//! rustls makes sessions only in handshakes, and cannot export them. So this module performs a
//! handshake in memory between the real client configuration (rustls resumes a session only with
//! the same verifier and resolver) and our own server, which presents the stored chain. At the end
//! of the handshake the client receives the stored ticket, and the stored secret instead of the one
//! that it would derive. The result is a session like any other. This needs no fork of rustls, no
//! `unsafe`, and no I/O.
//!
//! # Why a seal
//!
//! The server presents a certificate whose key it does not have, so it cannot sign. While the
//! handshake runs, only on this thread and within one call, the verifier accepts a random number
//! that was drawn for this handshake instead of the signature, and only with the stored certificate
//! ([`seal`](crate::seal)). No peer can know that number, and no other connection can run on the
//! thread in the meantime. The certificate's trust was verified when the session was received, and
//! the session is revived only under the same trust
//! ([`trust_fingerprint`](crate::trust_fingerprint)).
//!
//! # What it relies on
//!
//! 1. rustls derives the secret of a ticket by `HkdfExpander::expand_block` with six slices, of
//!    which the fourth is `resumption` and the sixth the ticket's nonce, from an expander that
//!    `Hkdf::expander_for_okm` made.
//! 2. It decrypts each record by the `MessageDecrypter` of its suite, and processes the tickets in
//!    it before it decrypts the next one; all of that within `process_new_packets`, on the caller's
//!    thread.
//! 3. It passes a session to the `ClientSessionStore` right after it derived its secret, with the
//!    limits of its ticket.
//! 4. `KernelConnection::handle_new_session_ticket` does the same with the body of a ticket
//!    message, and the clock of the configuration.
//! 5. The verifier receives the unchanged signature, with the certificate that it belongs to.
//!
//! `assumptions` below tests each by its number, so that an update of rustls shows which one broke.

#[cfg(test)]
mod assumptions;
mod handshake;
mod server;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{
    ClientSessionStore, ResolvesClientCert, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, NamedGroup, version};

use crate::name::server_name;
use crate::seal::{Revived, Seal};
use crate::stored_session::StoredSession;
use crate::{StoredSessionError, suites};

/// The session in rustls' form, for connections with this verifier and this resolver.
pub(crate) fn session(
    stored: &StoredSession,
    verifier: Arc<dyn ServerCertVerifier>,
    resolver: Arc<dyn ResolvesClientCert>,
) -> Result<Tls13ClientSessionValue, StoredSessionError> {
    let suite = suites::tls13(stored.suite).ok_or(StoredSessionError::Damaged("cipher suite"))?;
    let leaf = stored.chain.first();
    let leaf = leaf
        .ok_or(StoredSessionError::Damaged("certificate"))?
        .clone();
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![suite.into()],
        kx_groups: vec![&server::NoKeyExchange],
        ..aws_lc_rs::default_provider()
    });
    let mut number = [0; 32];
    let filled = provider.secure_random.fill(&mut number);
    filled.map_err(|_| StoredSessionError::Refused(rustls::Error::FailedToGetRandomBytes))?;
    let time = Arc::new(ReceivedAt(Duration::from_secs(stored.received)));
    let caught = Arc::new(OneSession::default());
    let client = ClientConfig::builder_with_details(provider.clone(), time.clone())
        .with_protocol_versions(&[&version::TLS13]);
    let mut client = client
        .map_err(StoredSessionError::Refused)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(resolver);
    client.enable_secret_extraction = true;
    client.resumption = Resumption::store(caught.clone());
    let server = server::config(provider, time, stored.chain.to_vec(), number);
    let name = server_name(&stored.name).map_err(|_| StoredSessionError::Damaged("name"))?;
    let seal = Seal::place(Revived {
        leaf,
        number,
        nonce: stored.ticket.nonce().to_vec(),
        secret: stored.secret.clone(),
    });
    server
        .and_then(|server| handshake::run(client, server, name))
        .and_then(|mut ended| ended.handle_new_session_ticket(stored.ticket.body()))
        .map_err(StoredSessionError::Refused)?;
    drop(seal);
    let mut session = caught.take().ok_or(StoredSessionError::Damaged("ticket"))?;
    if stored.quic {
        session.set_quic_params(&stored.quic_parameters);
    }
    Ok(session)
}

/// The time at which the ticket was received, from which its age is counted. RFC 8446 §4.2.11.1.
#[derive(Debug)]
struct ReceivedAt(Duration);

impl TimeProvider for ReceivedAt {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0))
    }
}

/// A session store that keeps the one session that is made, and returns none.
#[derive(Debug, Default)]
struct OneSession(Mutex<Option<Tls13ClientSessionValue>>);

impl OneSession {
    fn take(&self) -> Option<Tls13ClientSessionValue> {
        let mut caught = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        caught.take()
    }
}

impl ClientSessionStore for OneSession {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}
