//! The parts of an exchange that only the access log needs; kept only if there is a log.

use std::fmt;
use std::rc::Rc;

/// Longer methods and targets are cut off.
const MAX_TEXT_LENGTH: usize = 2048;

#[derive(Default)]
pub(crate) struct LogDetails {
    pub(crate) method: String,
    pub(crate) target: String,
    /// The session's name. A pseudonym for it is written.
    pub(crate) session: Option<Rc<str>>,
    /// The upstream's name.
    pub(crate) upstream: Option<Rc<str>>,
}

impl LogDetails {
    pub(crate) fn ask(&mut self, method: &str, target: &str) {
        self.method.clear();
        self.method.push_str(cut(method));
        self.target.clear();
        self.target.push_str(cut(target));
    }
}

/// A session's name must not be logged.
impl fmt::Debug for LogDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogDetails")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_LENGTH))
        .unwrap_or_default()
}
