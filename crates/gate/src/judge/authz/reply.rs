//! The data that a proxy gets in addition to the status.

use std::time::Duration;

use crate::judge::guard::Pass;

#[derive(Debug, Clone, Default)]
pub(crate) struct ProxyReply {
    /// Whether it is written as a `CheckResponse`.
    pub(crate) grpc: bool,
    /// The request may pass as this session.
    pub(crate) session: Option<Pass>,
    /// The fields that the route sets, as lines of a head.
    pub(crate) fields: Vec<u8>,
    /// Fields that the proxy is to remove from the request, if it can.
    pub(crate) removed: Vec<String>,
    /// How long the proxy may remember this.
    pub(crate) remember: Duration,
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
        // A login may have none.
        lines.chain(authorization.filter(|(_, value)| !value.is_empty()))
    }
}
