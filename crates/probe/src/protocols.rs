//! The protocols that origins announced or used, for the plans of later connections.

use roundtrip_model::{Http, HttpsRecord, Origin, Scheme, Target};
use roundtrip_wire::alt_svc::{self, AltSvc};

use crate::plan::Announced;

#[derive(Default)]
pub(crate) struct Protocols {
    /// Origins whose `Alt-Svc` offers h3 at the same host and port.
    alt_svc_h3: Vec<Origin>,
    /// The protocol of the first exchange with an origin. A ticket or a connection is valid only
    /// for the protocol that it came from, so the next request uses the same.
    spoken: Vec<(Origin, Http)>,
}

impl Protocols {
    /// Returns the known announcements of a target, before a connection is opened.
    pub(crate) fn announced<'a>(
        &self,
        target: &Target,
        https_record: Option<&'a HttpsRecord>,
    ) -> Announced<'a> {
        let here = target.origin();
        let spoken = self.spoken.iter().find(|(o, _)| *o == here);
        Announced {
            https_record,
            alt_svc_h3: self.alt_svc_h3.contains(&here),
            spoken: spoken.map(|(_, http)| *http),
        }
    }

    /// Reads an answer's `Alt-Svc`, which replaces the previous one.
    pub(crate) fn read_alt_svc(&mut self, target: &Target, value: &[u8]) {
        let here = target.origin();
        self.alt_svc_h3.retain(|o| *o != here);
        // Only an alternative at the same host and port is followed: others would need a second
        // lookup. RFC 7838 §2.1.
        let same_place = |a: &alt_svc::Alternative| {
            a.protocol == "h3" && a.host.is_empty() && a.port == target.port
        };
        if target.scheme == Scheme::Https
            && matches!(alt_svc::parse(value), AltSvc::Alternatives(list) if list.iter().any(same_place))
        {
            self.alt_svc_h3.push(here);
        }
    }

    /// Remembers the protocol used with a target's origin, unless one was already remembered.
    pub(crate) fn remember(&mut self, target: &Target, http: Http) {
        let here = target.origin();
        if !self.spoken.iter().any(|(o, _)| *o == here) {
            self.spoken.push((here, http));
        }
    }
}
