//! One finding of the doctor and the subject it is about.
//!
//! All output passes through [`plain`]: a value may come from a file that someone else wrote, and
//! must not contain terminal escapes or be very long.

use roundtrip_report::terminal::acts;
use serde::Serialize;

/// Values longer than this are cut: no setting that means something is longer.
const MAX_VALUE_LENGTH: usize = 400;

/// The part of the machine that a check is about; reports are grouped by it, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Area {
    /// The system: distribution, kernel, C library.
    System,
    /// TCP fast open (RFC 7413).
    FastOpen,
    /// TCP's other settings, routes and queues.
    Tcp,
    /// UDP, which QUIC needs.
    Udp,
    /// Name resolution.
    Names,
    /// TLS libraries, certificates, and what uses them.
    Tls,
    /// Capturing packets and stamping them.
    Capture,
    /// Namespaces and tunnels, for emulated paths.
    Namespaces,
}

impl Area {
    /// The heading in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::FastOpen => "TCP fast open",
            Self::Tcp => "TCP",
            Self::Udp => "UDP and QUIC",
            Self::Names => "Names",
            Self::Tls => "TLS",
            Self::Capture => "Capture",
            Self::Namespaces => "Namespaces",
        }
    }
}

/// Whether a finding is good or bad for latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Nothing can be improved, or an improvement would gain nothing.
    Good,
    /// Works, but time can be gained, or a limit is worth knowing.
    Notice,
    /// It costs time on every connection, or something will not work.
    Problem,
    /// Could not be determined.
    Unknown,
}

/// One finding: what was found, what it means, and how to change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name, kebab-case; several findings may share it (two OpenSSL libraries).
    pub id: &'static str,
    /// The subject, for grouping.
    pub area: Area,
    /// The subject, for readers.
    pub title: &'static str,
    /// What was found.
    pub value: String,
    /// Whether the value is good or bad for latency.
    pub status: CheckStatus,
    /// What the value means for latency.
    pub meaning: String,
    /// How to change the value, if that would help.
    pub change: Option<String>,
}

impl Check {
    /// Returns the same finding with advice on how to change it.
    #[must_use]
    pub(crate) fn change(mut self, advice: impl AsRef<str>) -> Self {
        self.change = Some(plain(advice.as_ref(), usize::MAX));
        self
    }

    /// Returns the same finding, with advice if that is needed.
    #[must_use]
    pub(crate) fn change_if(self, needed: bool, advice: impl AsRef<str>) -> Self {
        if needed { self.change(advice) } else { self }
    }
}

/// The subject of a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckSubject {
    pub(crate) id: &'static str,
    pub(crate) area: Area,
    pub(crate) title: &'static str,
}

impl CheckSubject {
    pub(crate) const fn new(id: &'static str, area: Area, title: &'static str) -> Self {
        Self { id, area, title }
    }

    pub(crate) fn good(self, value: impl AsRef<str>, meaning: impl AsRef<str>) -> Check {
        self.found(CheckStatus::Good, value, meaning)
    }

    pub(crate) fn notice(self, value: impl AsRef<str>, meaning: impl AsRef<str>) -> Check {
        self.found(CheckStatus::Notice, value, meaning)
    }

    pub(crate) fn problem(self, value: impl AsRef<str>, meaning: impl AsRef<str>) -> Check {
        self.found(CheckStatus::Problem, value, meaning)
    }

    /// Makes a finding with an unknown result; its value is `why`.
    pub(crate) fn unknown(self, why: impl std::fmt::Display, meaning: impl AsRef<str>) -> Check {
        self.found(CheckStatus::Unknown, why.to_string(), meaning)
    }

    pub(crate) fn found(
        self,
        status: CheckStatus,
        value: impl AsRef<str>,
        meaning: impl AsRef<str>,
    ) -> Check {
        Check {
            id: self.id,
            area: self.area,
            title: self.title,
            value: plain(value.as_ref(), MAX_VALUE_LENGTH),
            status,
            meaning: plain(meaning.as_ref(), usize::MAX),
            change: None,
        }
    }
}

/// One line without characters that act on a terminal, at most `longest` characters long.
fn plain(text: &str, longest: usize) -> String {
    let mut line = String::with_capacity(text.len().min(longest));
    for (count, character) in text.chars().enumerate() {
        if count >= longest {
            line.push('…');
            break;
        }
        line.push(match character {
            '\t' | '\n' | '\r' => ' ',
            // An override could make a hostile value read as something else.
            other if acts(other) => '?',
            other => other,
        });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: CheckSubject = CheckSubject::new("an-id", Area::Tcp, "A title");

    #[test]
    fn a_value_cannot_carry_terminal_escapes() {
        let check = SUBJECT.good("\u{1b}[31mred\u{202e}\nnext\u{9b}", "means\u{7}");
        assert_eq!(check.value, "?[31mred? next?");
        assert_eq!(check.meaning, "means?");
    }

    #[test]
    fn a_long_value_is_cut() {
        let check = SUBJECT.good("x".repeat(100_000), "");
        assert_eq!(check.value.chars().count(), MAX_VALUE_LENGTH + 1);
        assert!(check.value.ends_with('…'));
    }

    #[test]
    fn names_in_json_are_stable() {
        let check = SUBJECT.notice("1", "m").change("do");
        let json = serde_json::to_value(&check).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"id": "an-id", "area": "tcp", "title": "A title", "value": "1",
                "status": "notice", "meaning": "m", "change": "do"})
        );
        let area = serde_json::to_value(Area::FastOpen).unwrap();
        assert_eq!(area, serde_json::json!("fast-open"));
    }
}
