//! The next URL of a registry's entry, after one that failed. Clear text is used if a registry
//! publishes nothing else, or if the user allows it in place of an https URL that failed, and is
//! always reported. After a certificate that could not be verified, no other URL is requested.

use std::fmt::Write;

use roundtrip_model::{Scheme, Target};

use super::{Client, Outcome};

/// An entry of a registry, before and while its servers are asked.
pub(super) struct EntrySchemes {
    /// The entry lists an https URL.
    secure: bool,
    /// Whether the user named the server, and so chose the scheme.
    chosen: bool,
}

impl EntrySchemes {
    pub(super) fn from_targets(targets: &[Target], chosen: bool) -> Self {
        Self {
            secure: targets.iter().any(|t| t.scheme == Scheme::Https),
            chosen,
        }
    }
}

impl Client {
    /// Whether this URL may be requested, given what has happened so far. If not, the reason is
    /// added to the last trouble.
    pub(super) fn admits(
        &self,
        target: &Target,
        doors: &EntrySchemes,
        outcome: &mut Outcome,
    ) -> bool {
        let untrusted = outcome.troubles.iter().any(|t| t.untrusted);
        let leaves_tls = doors.secure && target.scheme != Scheme::Https;
        if !untrusted && (!leaves_tls || self.options.insecure_http) {
            return true;
        }
        if let Some(last) = outcome.troubles.last_mut() {
            let base = origin(target);
            let why = if untrusted {
                " in place of a server whose certificate is refused"
            } else {
                ", because it would leave TLS: --insecure-http allows it"
            };
            // Writing to a String cannot fail.
            let _ = write!(last.why, "; {base} is not asked{why}");
        }
        false
    }

    /// Notes that an answer came in clear text, unless the user asked for that.
    pub(super) fn tell_clear(&self, target: &Target, doors: &EntrySchemes) {
        if doors.chosen || target.scheme == Scheme::Https {
            return;
        }
        let base = origin(target);
        let why = if doors.secure {
            "its https URL failed, and --insecure-http allows it"
        } else {
            "the registry publishes no https URL"
        };
        self.memory.note(format!(
            "{base} is asked in clear text, where anyone on the path can change the answer: {why}"
        ));
    }
}

/// The origin of a URL, without its path, so that a list of queries causes one note.
fn origin(target: &Target) -> String {
    let scheme = match target.scheme {
        Scheme::Https => "https",
        _ => "http",
    };
    format!("{scheme}://{}/", target.authority())
}
