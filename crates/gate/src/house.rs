//! What all connections of one thread share: the site that is served now, its deadlines, and word that gate is about to end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::exchange::Broken;
use crate::patrol::Patrol;
use crate::record::{Entry, Ledger};
use crate::site::Site;

pub(crate) struct House<S> {
    site: RefCell<Rc<Site<S>>>,
    pub(crate) patrol: Patrol,
    pub(crate) ledger: Arc<Ledger>,
    draining: Cell<bool>,
}

impl<S> House<S> {
    pub(crate) fn new(site: Site<S>, ledger: Arc<Ledger>) -> Self {
        Self {
            site: RefCell::new(Rc::new(site)),
            patrol: Patrol::default(),
            ledger,
            draining: Cell::new(false),
        }
    }

    /// What is served at this moment; an exchange keeps what it began with.
    pub(crate) fn site(&self) -> Rc<Site<S>> {
        self.site.borrow().clone()
    }

    pub(crate) fn replace(&self, site: Site<S>) {
        *self.site.borrow_mut() = Rc::new(site);
    }

    /// An exchange is over, as it should be or not.
    pub(crate) fn close(&self, entry: &mut Entry, error: Option<&Broken>) {
        if let Some(error) = error {
            entry.outcome = error.outcome();
            entry.reason = entry.reason.or_else(|| error.reason());
        }
        self.ledger.record(entry, Instant::now());
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Connections are to end with the exchange that they are in.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        self.patrol.rouse();
    }
}
