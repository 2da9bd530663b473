//! What a thread serves by: routes, upstreams, limits, and the door. Replaced whole when the configuration changes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use crate::GateError;
use crate::config::{Config, Limits, Network};
use crate::forward::upstream::Upstream;
use crate::judge::Asked;
use crate::judge::door::Door;
use crate::judge::request::{self, Field, Version};
use crate::judge::route::Routes;

pub(crate) struct Site<S> {
    pub(crate) door: Door<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    trusted: Vec<Network>,
    /// The value of `Alt-Svc` for those who came over TCP. RFC 9114 §3.1.1.
    alt_svc: Option<String>,
}

impl<S> Site<S> {
    pub(crate) fn new(
        config: &Config,
        door: Door<S>,
        upstreams: &BTreeMap<String, Rc<Upstream>>,
        alt_svc: Option<String>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            door,
            routes: Routes::new(&config.route, upstreams)?,
            limits: config.limits.clone(),
            trusted: config.listen.trusted.clone(),
            alt_svc,
        })
    }

    /// May this client say whom it speaks for?
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }

    /// What gate adds to an answer, put into `room`.
    pub(crate) fn fields<'r, 's>(
        &'s self,
        asked: &Asked,
        timing: &'s [u8],
        id: &'s [u8],
        room: &'r mut [Field<'s>; 3],
    ) -> &'r [Field<'s>] {
        let mut count = 0;
        let mut add = |name, value| {
            if let Some(field) = room.get_mut(count) {
                *field = Field { name, value };
                count += 1;
            }
        };
        if !timing.is_empty() {
            add("Server-Timing", timing);
        }
        if !id.is_empty() {
            add(request::ID, id);
        }
        if let Some(value) = &self.alt_svc
            && asked.secure
            && asked.version < Version::H3
        {
            add("Alt-Svc", value.as_bytes());
        }
        room.get(..count).unwrap_or_default()
    }
}
