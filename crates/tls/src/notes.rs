//! What is overheard while one connection works on what it received: session tickets as they were sent, and their
//! secrets. Both meet in `tickets` when the library hands over the session they make.
//!
//! All of it happens on one thread within one call, so the notes are the thread's, and last for that call.

mod reader;

use std::cell::RefCell;

use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;
use rustls::{Connection, Error, IoState};

use crate::keepsake::Ticket;
use crate::tickets::Draft;
pub use reader::TicketReader;

thread_local! {
    /// `None` while nobody listens.
    static NOTES: RefCell<Option<Notes>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Notes {
    /// Of the last record (or the last bytes of QUIC's stream) alone: the library works record by record.
    tickets: Vec<Ticket>,
    secret: Option<(Vec<u8>, OkmBlock)>,
    drafts: Vec<Draft>,
}

/// Lets TLS work on what it received; sessions that come with it can be kept.
pub(crate) fn process(tls: &mut Connection) -> Result<IoState, Error> {
    if matches!(tls, Connection::Server(_)) {
        return tls.process_new_packets();
    }
    let listening = Listening::begin();
    let outcome = tls.process_new_packets();
    listening.end(|| tls.peer_certificates().map(own));
    outcome
}

fn own(chain: &[CertificateDer<'_>]) -> Vec<CertificateDer<'static>> {
    chain.iter().map(|c| c.clone().into_owned()).collect()
}

/// As long as it lasts, what the connection at work on this thread receives is noted.
#[must_use = "nothing is noted unless it lives on"]
pub struct Listening {
    /// Notes are the thread's.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Listening {
    pub fn begin() -> Self {
        NOTES.set(Some(Notes::default()));
        Self {
            _not_send: std::marker::PhantomData,
        }
    }

    /// Completes the sessions that came with the server's chain, which is asked for only if there is one.
    pub fn end(self, chain: impl FnOnce() -> Option<Vec<CertificateDer<'static>>>) {
        let drafts = with(|notes| std::mem::take(&mut notes.drafts)).unwrap_or_default();
        if !drafts.is_empty()
            && let Some(chain) = chain()
        {
            let chain: std::sync::Arc<[_]> = chain.into();
            for draft in drafts {
                draft.complete(chain.clone());
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        NOTES.take();
    }
}

/// A ticket's secret was derived.
pub(crate) fn secret(nonce: &[u8], secret: &OkmBlock) {
    with(|notes| notes.secret = Some((nonce.to_vec(), secret.clone())));
}

/// A session was made from the last secret that was derived: that, with its ticket.
pub(crate) fn take_session() -> Option<(Ticket, OkmBlock)> {
    with(|notes| {
        let (nonce, secret) = notes.secret.take()?;
        let place = notes.tickets.iter().position(|t| t.nonce() == nonce)?;
        Some((notes.tickets.remove(place), secret))
    })?
}

/// The session waits for the server's chain.
pub(crate) fn draft(draft: Draft) {
    with(|notes| notes.drafts.push(draft));
}

/// What came before was dealt with.
fn turn_page() {
    with(|notes| notes.tickets.clear());
}

fn ticket(ticket: Ticket) {
    with(|notes| notes.tickets.push(ticket));
}

fn with<T>(work: impl FnOnce(&mut Notes) -> T) -> Option<T> {
    NOTES.with_borrow_mut(|notes| notes.as_mut().map(work))
}
