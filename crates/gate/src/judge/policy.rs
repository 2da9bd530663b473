//! What requests are judged by on one thread: the routes, the limits, and the door.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::door::Door;
use super::route::Routes;
use crate::GateError;
use crate::config::{Config, Limits, Network};

pub(crate) struct Policy<S> {
    pub(crate) door: Door<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    trusted: Vec<Network>,
}

impl<S> Policy<S> {
    pub(crate) fn new<U>(
        config: &Config,
        door: Door<S>,
        upstreams: &BTreeMap<String, U>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            door,
            routes: Routes::new(&config.route, upstreams)?,
            limits: config.limits.clone(),
            trusted: config.listen.trusted.clone(),
        })
    }

    /// May this client say whom it speaks for?
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }
}
