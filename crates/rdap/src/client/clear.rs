//! Clear text: asked where a registry publishes nothing else, or where the user allows it in place of an https URL that
//! failed; never after a certificate that did not verify; and always told.

use std::fmt::Write;

use roundtrip_model::{Scheme, Target};

use super::{Client, Outcome};

/// An entry of a registry, before and while its servers are asked.
pub(super) struct Doors {
    /// It lists an https URL.
    secure: bool,
    /// The user named the server, and knows.
    chosen: bool,
}

impl Doors {
    pub(super) fn of(targets: &[Target], chosen: bool) -> Self {
        Self {
            secure: targets.iter().any(|t| t.scheme == Scheme::Https),
            chosen,
        }
    }
}

impl Client {
    /// Whether this URL may be asked after what went before. Why not is added to the trouble that led here.
    pub(super) fn admits(&self, target: &Target, doors: &Doors, outcome: &mut Outcome) -> bool {
        if !doors.secure || target.scheme == Scheme::Https {
            return true;
        }
        let untrusted = outcome.troubles.iter().any(|t| t.untrusted);
        if !untrusted && self.wishes.insecure_http {
            return true;
        }
        if let Some(last) = outcome.troubles.last_mut() {
            let base = origin(target);
            let why = if untrusted {
                " in place of a server whose certificate is refused"
            } else {
                ", for it would leave TLS: --insecure-http allows it"
            };
            // Writing to a String does not fail.
            let _ = write!(last.why, "; {base} is not asked{why}");
        }
        false
    }

    /// Tells people that an answer came in clear text, where they did not ask for that themselves.
    pub(super) fn tell_clear(&self, target: &Target, doors: &Doors) {
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
            "{base} is asked in clear text, where anybody on the path can change the answer: {why}"
        ));
    }
}

/// Without the path, so that a list is told once.
fn origin(target: &Target) -> String {
    format!("http://{}/", target.authority())
}
