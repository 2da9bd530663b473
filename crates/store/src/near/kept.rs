//! Whether what was once found is still what the near cache has: a look at memory, without looking its name up.

use std::cell::Cell;
use std::rc::Rc;

/// Goes with what was found. It keeps nothing open: who waits for the end of a session [holds](super::Near::hold) it.
#[derive(Clone)]
pub struct Kept(Rc<State>);

#[derive(Default)]
struct State {
    there: Cell<bool>,
    /// Since the cache looked for something to evict.
    used: Cell<bool>,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self(Rc::default())
    }

    /// Of the very same finding?
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

/// For as long as the cache has it.
pub(super) struct Keeping(Kept);

impl Keeping {
    pub(super) fn new(kept: &Kept) -> Self {
        kept.0.there.set(true);
        Self(kept.clone())
    }
}

/// However it leaves the cache, it is not there any more.
impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.0.there.set(false);
    }
}
