//! What one thread needs to judge requests: the routes, the limits, and the authenticator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::authenticator::Authenticator;
use super::authz::Askers;
use super::route::Routes;
use crate::GateError;
use crate::config::{Config, Limits, Network};

pub(crate) struct Policy<S> {
    pub(crate) authenticator: Authenticator<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    pub(crate) askers: Arc<Askers>,
    trusted: Vec<Network>,
}

impl<S> Policy<S> {
    pub(crate) fn new<U>(
        config: &Config,
        authenticator: Authenticator<S>,
        askers: Arc<Askers>,
        upstreams: &BTreeMap<String, U>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            authenticator,
            askers,
            routes: Routes::new(&config.route, upstreams)?,
            limits: config.limits.clone(),
            trusted: config.listen.trusted.clone(),
        })
    }

    /// Whether this client is trusted to name the original client.
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }
}
