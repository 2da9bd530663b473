//! When, where and by which version a report was made, as far as the report states it.

use crate::ReadError;
use crate::node::Node;

/// Where and when a report was made. Older reports have none of these keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    /// RFC 3339.
    pub started: Option<String>,
    pub host: Option<String>,
    pub version: Option<String>,
}

impl Provenance {
    pub(crate) fn read(root: &Node<'_>) -> Result<Self, ReadError> {
        let text = |key| -> Result<Option<String>, ReadError> {
            Ok(root.get(key)?.maybe_text()?.map(str::to_owned))
        };
        Ok(Self {
            started: text("started")?,
            host: text("host")?,
            version: text("version")?,
        })
    }

    /// A line such as `2026-03-01T12:00:00.000Z on host, roundtrip 0.1.0`. The text is unchanged,
    /// and so not safe to show yet.
    pub(crate) fn told(&self) -> Option<String> {
        let host = self.host.as_ref().map(|host| format!("on {host}"));
        let made: Vec<&str> = [self.started.as_deref(), host.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        let version = self.version.as_ref().map(|v| format!("roundtrip {v}"));
        let parts = [(!made.is_empty()).then(|| made.join(" ")), version];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
