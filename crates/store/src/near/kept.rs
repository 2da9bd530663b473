//! Whether the near cache still has an entry that was found earlier: one look at memory, without
//! looking up the name.

use std::cell::Cell;
use std::rc::Rc;

/// Belongs to an entry that was found. It keeps nothing open: to learn of the end of a session,
/// [hold](super::Near::hold) it.
#[derive(Clone)]
pub struct EntryHandle(Rc<State>);

#[derive(Default)]
struct State {
    there: Cell<bool>,
    /// Whether the entry was used since the cache last looked for something to evict.
    used: Cell<bool>,
}

impl EntryHandle {
    pub(super) fn new() -> Self {
        Self(Rc::default())
    }

    /// Whether both handles belong to the same entry.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.there.get()
    }

    pub(super) fn use_it(&self) {
        self.0.used.set(true);
    }

    pub(super) fn take_used(&self) -> bool {
        self.0.used.replace(false)
    }
}

/// Keeps the handle valid as long as the cache has the entry.
pub(super) struct Keeping(EntryHandle);

impl Keeping {
    pub(super) fn new(kept: &EntryHandle) -> Self {
        kept.0.there.set(true);
        Self(kept.clone())
    }
}

/// Marks the entry as gone, whichever way it leaves the cache.
impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.0.there.set(false);
    }
}
