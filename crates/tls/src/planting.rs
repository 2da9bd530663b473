//! Puts a kept session back. rustls makes sessions from handshakes alone, so there is one, in memory, between the client
//! as it is (the same objects verify and identify: no others may resume) and a server that shows the kept chain; at its
//! end the client is given the kept ticket, and the kept secret where it would derive one.
//!
//! The server cannot sign with a key it does not have. While a session is planted, on this thread alone and within one
//! call that does no I/O, the verifier takes a random number that was drawn for this one handshake in the place of a
//! signature, and only with the kept certificate: no peer can know it.

mod handshake;
mod server;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{
    ClientSessionStore, ResolvesClientCert, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, NamedGroup, version};

use crate::client::server_name;
use crate::keepsake::Keepsake;
use crate::{KeepsakeError, suites};

thread_local! {
    static PLANTING: RefCell<Option<Planting>> = const { RefCell::new(None) };
}

struct Planting {
    leaf: CertificateDer<'static>,
    seal: [u8; 32],
    nonce: Vec<u8>,
    secret: OkmBlock,
}

/// Is this the certificate of the session that is being planted on this thread?
pub(crate) fn shows(leaf: &CertificateDer<'_>) -> bool {
    PLANTING.with_borrow(|p| p.as_ref().is_some_and(|p| p.leaf == *leaf))
}

/// Does the server that is being played on this thread prove itself?
pub(crate) fn sealed(leaf: &CertificateDer<'_>, signature: &[u8]) -> bool {
    PLANTING.with_borrow(|p| {
        p.as_ref()
            .is_some_and(|p| p.leaf == *leaf && p.seal == *signature)
    })
}

/// The secret of the ticket that is being planted on this thread.
pub(crate) fn secret(nonce: &[u8]) -> Option<OkmBlock> {
    PLANTING.with_borrow(|p| {
        let planting = p.as_ref().filter(|p| p.nonce == nonce)?;
        Some(planting.secret.clone())
    })
}

/// Ends with what it was made for, however that ends.
struct Guard;

impl Guard {
    fn begin(planting: Planting) -> Self {
        PLANTING.set(Some(planting));
        Self
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        PLANTING.take();
    }
}

/// The session as the library knows it, good for connections under this verifier and this resolver.
pub(crate) fn session(
    keepsake: &Keepsake,
    verifier: Arc<dyn ServerCertVerifier>,
    resolver: Arc<dyn ResolvesClientCert>,
) -> Result<Tls13ClientSessionValue, KeepsakeError> {
    let suite = suites::tls13(keepsake.suite).ok_or(KeepsakeError::Damaged("cipher suite"))?;
    let leaf = keepsake.chain.first();
    let leaf = leaf.ok_or(KeepsakeError::Damaged("certificate"))?.clone();
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![suite.into()],
        kx_groups: vec![&server::Pretence],
        ..aws_lc_rs::default_provider()
    });
    let mut seal = [0; 32];
    let filled = provider.secure_random.fill(&mut seal);
    filled.map_err(|_| KeepsakeError::Refused(rustls::Error::FailedToGetRandomBytes))?;
    let time = Arc::new(Then(Duration::from_secs(keepsake.received)));
    let caught = Arc::new(Caught::default());
    let client = ClientConfig::builder_with_details(provider.clone(), time.clone())
        .with_protocol_versions(&[&version::TLS13]);
    let mut client = client
        .map_err(KeepsakeError::Refused)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(resolver);
    client.enable_secret_extraction = true;
    client.resumption = Resumption::store(caught.clone());
    let server = server::config(provider, time, keepsake.chain.to_vec(), seal);
    let name = server_name(&keepsake.name).map_err(|_| KeepsakeError::Damaged("name"))?;
    let guard = Guard::begin(Planting {
        leaf,
        seal,
        nonce: keepsake.ticket.nonce().to_vec(),
        secret: keepsake.secret.clone(),
    });
    server
        .and_then(|server| handshake::run(client, server, name))
        .and_then(|mut ended| ended.handle_new_session_ticket(keepsake.ticket.body()))
        .map_err(KeepsakeError::Refused)?;
    drop(guard);
    let mut session = caught.take().ok_or(KeepsakeError::Damaged("ticket"))?;
    if keepsake.quic {
        session.set_quic_params(&keepsake.quic_parameters);
    }
    Ok(session)
}

/// The time at which the ticket was received, from which its age is counted. RFC 8446 §4.2.11.1.
#[derive(Debug)]
struct Then(Duration);

impl TimeProvider for Then {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0))
    }
}

/// Keeps the one session that is made, and knows none.
#[derive(Debug, Default)]
struct Caught(Mutex<Option<Tls13ClientSessionValue>>);

impl Caught {
    fn take(&self) -> Option<Tls13ClientSessionValue> {
        let mut caught = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        caught.take()
    }
}

impl ClientSessionStore for Caught {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_vouched_for_but_by_the_seal_on_the_thread_that_plants() {
        let leaf = CertificateDer::from(vec![1, 2, 3]);
        let other = CertificateDer::from(vec![1, 2, 4]);
        let seen = |leaf: &CertificateDer<'_>, seal: u8| {
            (
                shows(leaf),
                sealed(leaf, &[seal; 32]),
                secret(&[5]).is_some(),
            )
        };
        assert_eq!(seen(&leaf, 7), (false, false, false));
        let guard = Guard::begin(Planting {
            leaf: leaf.clone(),
            seal: [7; 32],
            nonce: vec![5],
            secret: OkmBlock::new(&[9; 32]),
        });
        assert_eq!(seen(&leaf, 7), (true, true, true));
        assert_eq!(seen(&leaf, 8), (true, false, true));
        assert_eq!(seen(&other, 7), (false, false, true));
        assert!(!sealed(&leaf, &[]) && secret(&[6]).is_none());
        let elsewhere = std::thread::scope(|s| s.spawn(|| seen(&leaf, 7)).join().unwrap());
        assert_eq!(elsewhere, (false, false, false));
        drop(guard);
        assert_eq!(seen(&leaf, 7), (false, false, false));
    }
}
