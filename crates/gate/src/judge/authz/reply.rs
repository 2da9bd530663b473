//! The data that a proxy gets in addition to the status.

use std::time::Duration;

use crate::judge::guard::Pass;
use crate::judge::login::LOGIN_NAMES;

#[derive(Debug, Clone, Default)]
pub(crate) struct ProxyReply {
    /// Whether the reply is written as a `CheckResponse`.
    pub(crate) grpc: bool,
    /// The request may pass as this session.
    pub(crate) session: Option<Pass>,
    /// The fields that the route sets, as lines of a head.
    pub(crate) fields: Vec<u8>,
    /// Fields that the proxy should remove from the request, if it can.
    pub(crate) removed: Vec<String>,
    /// How long the proxy may remember this.
    pub(crate) remember: Duration,
    /// Whether the reply names the logged-in user. Backends learn that from these fields, so no
    /// client may send them.
    pub(crate) names_person: bool,
}

impl ProxyReply {
    /// Names and values of the fields for the backend.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let lines = self.fields.split(|b| *b == b'\n');
        let lines = lines.filter_map(|line| {
            let line = std::str::from_utf8(line.strip_suffix(b"\r")?).ok()?;
            let (name, value) = line.split_once(": ")?;
            Some((name, value.as_bytes()))
        });
        let session = self.session.as_ref();
        let authorization = session.map(|session| ("authorization", session.authorization()));
        // A login may have no `Authorization` value.
        lines.chain(authorization.filter(|(_, value)| !value.is_empty()))
    }

    /// Envoy removes fields after it has set others, so a field that is set must not be removed.
    pub(super) fn keep_own_fields(&mut self) {
        let mut removed = std::mem::take(&mut self.removed);
        removed.retain(|name| !self.sets(name));
        self.removed = removed;
    }

    fn sets(&self, name: &str) -> bool {
        let mut lines = self.lines();
        lines.any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Names of fields that the backend must not get, although no line replaces the client's own.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &str> {
        let login = LOGIN_NAMES.iter().filter(|_| self.names_person);
        let login = login.filter(|name| !self.sets(name));
        let session = self.session.as_ref();
        let is_empty = session.is_some_and(|session| session.authorization().is_empty());
        login.copied().chain(is_empty.then_some("authorization"))
    }
}
