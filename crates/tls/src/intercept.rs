//! Intercepts session tickets as they were sent, and their secrets, while one connection processes
//! received bytes. `tickets` combines both when the library hands over the session made from them.
//!
//! All of that happens on one thread within one call, so the state is thread-local and lasts for
//! that call.

mod reader;

use std::cell::RefCell;

use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;
use rustls::{Connection, Error, IoState};

use crate::session_cache::PendingSession;
use crate::stored_session::Ticket;
pub use reader::TicketReader;

thread_local! {
    /// What was intercepted; `None` while there is no [`Interception`] on this thread.
    static INTERCEPTED: RefCell<Option<Intercepted>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Intercepted {
    /// The tickets of the last record alone (or of the last bytes of QUIC's stream): the library
    /// works record by record.
    tickets: Vec<Ticket>,
    secret: Option<(Vec<u8>, OkmBlock)>,
    pending: Vec<PendingSession>,
}

/// Lets TLS process the received bytes. Sessions that arrive with them can be stored.
pub(crate) fn process(tls: &mut Connection) -> Result<IoState, Error> {
    if matches!(tls, Connection::Server(_)) {
        return tls.process_new_packets();
    }
    let interception = Interception::begin();
    let outcome = tls.process_new_packets();
    interception.end(|| tls.peer_certificates().map(own));
    outcome
}

fn own(chain: &[CertificateDer<'_>]) -> Vec<CertificateDer<'static>> {
    chain.iter().map(|c| c.clone().into_owned()).collect()
}

/// While this value lives, the session tickets of the connection that runs on this thread are
/// intercepted.
///
/// Create it, let [`TicketReader::read`] see the bytes that TLS is about to process, let TLS
/// process them, then call [`Self::end`].
#[must_use = "nothing is intercepted once it is dropped"]
pub struct Interception {
    /// The state is thread-local.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Interception {
    pub fn begin() -> Self {
        INTERCEPTED.set(Some(Intercepted::default()));
        Self {
            _not_send: std::marker::PhantomData,
        }
    }

    /// Completes the sessions with the server's chain. `chain` is called only if there is a
    /// session.
    pub fn end(self, chain: impl FnOnce() -> Option<Vec<CertificateDer<'static>>>) {
        let pending = with(|seen| std::mem::take(&mut seen.pending)).unwrap_or_default();
        if !pending.is_empty()
            && let Some(chain) = chain()
        {
            let chain: std::sync::Arc<[_]> = chain.into();
            for session in pending {
                session.complete(chain.clone());
            }
        }
    }
}

impl Drop for Interception {
    fn drop(&mut self) {
        INTERCEPTED.take();
    }
}

/// Notes the secret that was derived for a ticket.
pub(crate) fn on_ticket_secret(nonce: &[u8], secret: &OkmBlock) {
    with(|seen| seen.secret = Some((nonce.to_vec(), secret.clone())));
}

/// Takes the last derived secret, from which a session was made, with its ticket.
pub(crate) fn take_session() -> Option<(Ticket, OkmBlock)> {
    with(|seen| {
        let (nonce, secret) = seen.secret.take()?;
        let place = seen.tickets.iter().position(|t| t.nonce() == nonce)?;
        Some((seen.tickets.remove(place), secret))
    })?
}

/// Notes a session that waits for the server's chain.
pub(crate) fn on_session(session: PendingSession) {
    with(|seen| seen.pending.push(session));
}

/// The number of tickets in the last record, and whether a ticket's secret was derived.
#[cfg(test)]
pub(crate) fn seen() -> (usize, bool) {
    with(|seen| (seen.tickets.len(), seen.secret.is_some())).unwrap_or_default()
}

/// Drops the tickets of the previous record, which have been processed.
fn forget_tickets() {
    with(|seen| seen.tickets.clear());
}

fn on_ticket(ticket: Ticket) {
    with(|seen| seen.tickets.push(ticket));
}

fn with<T>(work: impl FnOnce(&mut Intercepted) -> T) -> Option<T> {
    INTERCEPTED.with_borrow_mut(|seen| seen.as_mut().map(work))
}
