//! The entries of the catalogue.

use roundtrip_model::Setting;

use crate::{Case, Cost};

/// Causes that belong together: one file and one heading.
#[derive(Debug)]
pub struct CauseFamily {
    pub title: &'static str,
    pub causes: &'static [Cause],
}

/// A cause of a slow exchange.
#[derive(Debug)]
pub struct Cause {
    /// Kebab-case and stable: programs identify a cause by it.
    pub id: &'static str,
    /// The recordings in which other clients' exchanges can show it.
    pub decidable: Decidable,
    /// A description of the event, in one line.
    pub name: &'static str,
    /// The signature of the cause in an exchange, in words.
    pub shows: &'static str,
    /// Returns the evidence and the cost if the exchange proves the cause.
    pub signature: fn(&Case<'_>) -> Option<Cost>,
    /// The usual cost; a finding states the actual one.
    pub cost: &'static str,
    /// The measure that removes the cause, in one sentence.
    pub remedy: &'static str,
    /// The settings that remove the cause.
    pub settings: &'static [Setting],
    /// The RFC or manual page.
    pub source: &'static str,
}

/// The recordings of another client's exchange that can show a cause. Each needs at least what the
/// ones before it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decidable {
    /// Packets of either end, without keys.
    Packets,
    /// Packets at either end with readable contents: clear text, or the session's keys.
    Content,
    /// Packets at the client's end, which include those that are lost on the way to the server.
    ClientEnd,
    /// The client itself: no packet shows it.
    ClientItself,
}

impl Decidable {
    pub const ALL: [Self; 4] = [
        Self::Packets,
        Self::Content,
        Self::ClientEnd,
        Self::ClientItself,
    ];

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Content => "content",
            Self::ClientEnd => "client-end",
            Self::ClientItself => "client-itself",
        }
    }

    /// The name for readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::Packets => "packets, from either end",
            Self::Content => "packets from either end, in clear text or with the session's keys",
            Self::ClientEnd => "packets at the client's end",
            Self::ClientItself => "the client itself; no packet shows it",
        }
    }
}

/// Server software as a Server header may name it, and the name that its settings use.
const SERVERS: [(&str, &str); 4] = [
    ("nginx", "nginx"),
    ("openresty", "nginx"),
    ("haproxy", "HAProxy"),
    ("apache", "Apache"),
];

impl Cause {
    /// The settings that remove the cause for the software named in `server` (its Server header).
    /// Those of the same software come first; if there are any, those of other servers are left
    /// out.
    pub fn settings_for(&self, server: &str) -> Vec<Setting> {
        let server = server.to_ascii_lowercase();
        let made_by = SERVERS.iter().find(|(name, _)| server.starts_with(name));
        let is_own = |s: &Setting| made_by.is_some_and(|(_, own)| s.of.starts_with(own));
        let is_of_a_server = |s: &Setting| SERVERS.iter().any(|(_, name)| s.of.contains(name));
        let (own, others): (Vec<Setting>, Vec<Setting>) =
            self.settings.iter().copied().partition(is_own);
        let others = others
            .into_iter()
            .filter(|s| own.is_empty() || !is_of_a_server(s));
        own.iter().copied().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::by_id;

    fn of(id: &str, server: &str) -> Vec<&'static str> {
        let settings = by_id(id).map(|cause| cause.settings_for(server));
        settings.into_iter().flatten().map(|s| s.of).collect()
    }

    #[test]
    fn the_setting_of_the_server_that_answered_comes_first_and_others_are_left_out() {
        let all = of("slow-start", "");
        assert!(all.starts_with(&["nginx", "HAProxy", "Apache", "Linux (server)"]));
        for unknown in ["gws", "cloudflare", "my-nginx", "roundtrip-origin"] {
            assert_eq!(of("slow-start", unknown), all, "{unknown}");
        }
        for (server, own) in [
            ("nginx/1.29.1", "nginx"),
            ("openresty", "nginx"),
            ("Apache/2.4.62 (Debian)", "Apache"),
            ("HAProxy", "HAProxy"),
        ] {
            let told = of("slow-start", server);
            assert_eq!(told.first(), Some(&own), "{server}");
            assert!(told.contains(&"Linux (server)"), "{server}: {told:?}");
            let servers = told
                .iter()
                .filter(|of| ["nginx", "HAProxy", "Apache"].contains(of));
            assert_eq!(servers.count(), 1, "{server}: {told:?}");
        }
    }

    #[test]
    fn a_server_without_a_setting_hides_no_other() {
        let all = of("client-starved", "");
        assert!(!all.is_empty());
        assert_eq!(of("client-starved", "nginx"), all);
    }
}
