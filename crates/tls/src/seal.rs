//! Replaces the server's signature, and the secret of its ticket, while a stored session is
//! revived. Only one thread knows both values, and only during the call that revives the session:
//! see [`revive`](crate::revive).

use std::cell::RefCell;

use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::CertificateDer;

thread_local! {
    static REVIVED: RefCell<Option<Revived>> = const { RefCell::new(None) };
}

/// The session that is being revived on this thread.
pub(crate) struct Revived {
    pub(crate) leaf: CertificateDer<'static>,
    /// A random number, drawn for this one handshake.
    pub(crate) number: [u8; 32],
    pub(crate) nonce: Vec<u8>,
    pub(crate) secret: OkmBlock,
}

/// Whether this is the certificate of the session that is being revived on this thread.
pub(crate) fn is_shown(leaf: &CertificateDer<'_>) -> bool {
    REVIVED.with_borrow(|r| r.as_ref().is_some_and(|r| r.leaf == *leaf))
}

/// Whether this is the number in place of a signature, with the certificate that it was drawn for.
pub(crate) fn is_sealed(leaf: &CertificateDer<'_>, signature: &[u8]) -> bool {
    REVIVED.with_borrow(|r| {
        r.as_ref()
            .is_some_and(|r| r.leaf == *leaf && r.number == *signature)
    })
}

/// The secret of the ticket that is being revived on this thread.
pub(crate) fn ticket_secret(nonce: &[u8]) -> Option<OkmBlock> {
    REVIVED.with_borrow(|r| {
        let revived = r.as_ref().filter(|r| r.nonce == nonce)?;
        Some(revived.secret.clone())
    })
}

/// Makes the seal valid on this thread while it exists.
pub(crate) struct Seal {
    /// The seal is thread-local.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Seal {
    pub(crate) fn place(revived: Revived) -> Self {
        REVIVED.set(Some(revived));
        Self {
            _not_send: std::marker::PhantomData,
        }
    }
}

impl Drop for Seal {
    fn drop(&mut self) {
        REVIVED.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_valid_only_on_the_thread_that_revives() {
        let leaf = CertificateDer::from(vec![1, 2, 3]);
        let other = CertificateDer::from(vec![1, 2, 4]);
        let seen = |leaf: &CertificateDer<'_>, number: u8| {
            (
                is_shown(leaf),
                is_sealed(leaf, &[number; 32]),
                ticket_secret(&[5]).is_some(),
            )
        };
        assert_eq!(seen(&leaf, 7), (false, false, false));
        let seal = Seal::place(Revived {
            leaf: leaf.clone(),
            number: [7; 32],
            nonce: vec![5],
            secret: OkmBlock::new(&[9; 32]),
        });
        assert_eq!(seen(&leaf, 7), (true, true, true));
        assert_eq!(seen(&leaf, 8), (true, false, true));
        assert_eq!(seen(&other, 7), (false, false, true));
        assert!(!is_sealed(&leaf, &[]) && ticket_secret(&[6]).is_none());
        let elsewhere = std::thread::scope(|s| s.spawn(|| seen(&leaf, 7)).join().unwrap());
        assert_eq!(elsewhere, (false, false, false));
        drop(seal);
        assert_eq!(seen(&leaf, 7), (false, false, false));
    }
}
