//! Which proxies may ask, and for how long they may remember an answer.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::config::{Authz, IdentityFields, Network, SecretFrom};
use crate::judge::request::Request;
use crate::{GateError, Secret};

/// The field with the proxies' secret.
pub(super) const SECRET: &str = "x-gate-secret";

#[derive(Default)]
pub(crate) struct AskingProxies {
    trusted: Vec<Network>,
    secret: Option<Secret>,
    remember: Duration,
    identity_fields: IdentityFields,
}

impl fmt::Debug for AskingProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskingProxies")
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

impl AskingProxies {
    pub(crate) fn new(settings: &Authz) -> Result<Self, GateError> {
        let secret = settings.secret.as_ref().map(SecretFrom::read);
        Ok(Self {
            trusted: settings.trusted.clone(),
            secret: secret.transpose()?,
            remember: settings.remember.0,
            identity_fields: settings.identity_fields,
        })
    }

    /// Whether this proxy may ask: it is in a trusted network and sends the secret, if there is
    /// one.
    pub(super) fn admit(&self, proxy: IpAddr, request: &Request<'_>) -> bool {
        self.trusted.iter().any(|network| network.contains(proxy))
            && self
                .secret
                .as_ref()
                .is_none_or(|secret| sends(request, secret.line()))
    }

    /// Whether requests with fields that only a proxy may set are refused.
    pub(super) fn refuses_identity(&self) -> bool {
        self.identity_fields == IdentityFields::Refuse
    }

    /// How long an answer may be cached: at most for the rest of its session.
    pub(super) fn remember(&self, left: Option<Duration>) -> Duration {
        left.map_or(self.remember, |left| left.min(self.remember))
    }
}

/// Whether the request has the secret in exactly one field.
fn sends(request: &Request<'_>, secret: &[u8]) -> bool {
    let mut sent = request.values(SECRET);
    let first = sent.next();
    first.is_some_and(|value| verify_slices_are_equal(value.trim_ascii(), secret).is_ok())
        && sent.next().is_none()
}
