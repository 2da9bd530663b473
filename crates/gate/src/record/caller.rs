//! What gate needs to answer a request itself: its ID, and the form that its client reads.

use super::RequestId;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) id: RequestId,
    pub(crate) form: ErrorFormat,
    /// Whether the request is HEAD: the answer has no body.
    pub(crate) is_head: bool,
}

/// The form of error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    Text,
    Html,
    /// RFC 9457.
    Problem,
}

impl Default for Caller {
    fn default() -> Self {
        Self {
            id: RequestId::NONE,
            form: ErrorFormat::Text,
            is_head: false,
        }
    }
}

impl Caller {
    /// Makes an ID for a request that could not be read.
    pub(crate) fn named(&mut self) -> Self {
        if self.id.is_none() {
            self.id = RequestId::new();
        }
        *self
    }
}
