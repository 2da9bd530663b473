//! The configuration that a thread serves: routes, upstreams, limits, and the authenticator. It is
//! replaced as a whole when the configuration changes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::upstream::{Upstream, UpstreamError};
use crate::GateError;
use crate::config::Config;
use crate::forward::h1::Response;
use crate::judge::ForwardedRequest;
use crate::judge::authenticator::Authenticator;
use crate::judge::authz::AskingProxies;
use crate::judge::policy::Policy;
use crate::judge::request::{self, Field, Version};

pub(crate) struct Site<S> {
    pub(crate) policy: Policy<S>,
    /// Sorted by name; routes refer to them by index.
    upstreams: Vec<Rc<Upstream>>,
    /// The value of `Alt-Svc` for clients over TCP. RFC 9114 §3.1.1.
    alt_svc: Option<String>,
}

impl<S> Site<S> {
    pub(crate) fn new(
        config: &Config,
        authenticator: Authenticator<S>,
        askers: Arc<AskingProxies>,
        upstreams: &BTreeMap<String, Rc<Upstream>>,
        alt_svc: Option<String>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            policy: Policy::new(config, authenticator, askers, upstreams)?,
            upstreams: upstreams.values().cloned().collect(),
            alt_svc,
        })
    }

    /// The upstream for a request that this site's policy has judged.
    pub(crate) fn upstream(
        &self,
        asked: &ForwardedRequest,
    ) -> Result<&Rc<Upstream>, UpstreamError> {
        let upstream = self.upstreams.get(asked.route.upstream);
        upstream.ok_or_else(|| UpstreamError::NoneWell {
            upstream: (*asked.route.upstream_name).into(),
        })
    }

    /// The fields that gate adds to an answer; `room` holds their values.
    pub(crate) fn fields<'r, 's>(
        &'s self,
        asked: &ForwardedRequest,
        response: &Response<'_>,
        timing: &'s [u8],
        id: &'s [u8],
        room: &'r mut [Field<'s>; 4],
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
        if asked.private && !response.tells_shared_caches() {
            add("Cache-Control", b"private");
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
