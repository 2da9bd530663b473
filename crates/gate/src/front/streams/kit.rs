//! What every exchange of a connection needs, and leaves to the next one.

use std::cell::RefCell;

use crate::patrol::{Patrol, Posts};

/// Kept by a connection for its next exchanges.
const MOST: usize = 8;
/// A head that was larger is let go.
const LARGEST: usize = 8 * 1024;

pub(super) struct Kit {
    pub(super) posts: Posts,
    /// The head for the backend.
    pub(super) head: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Kits(RefCell<Vec<Kit>>);

impl Kits {
    pub(super) fn take(&self, patrol: &Patrol) -> Kit {
        let known = self.0.borrow_mut().pop();
        known.unwrap_or_else(|| Kit {
            posts: patrol.posts(),
            head: Vec::new(),
        })
    }

    pub(super) fn give(&self, kit: Kit) {
        let mut kits = self.0.borrow_mut();
        if kits.len() < MOST && kit.head.capacity() <= LARGEST {
            kits.push(kit);
        }
    }
}
