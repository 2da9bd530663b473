//! What one thread needs to judge requests: the routes, the limits, and the authenticator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::acme::ActiveAcme;
use super::authenticator::Authenticator;
use super::authz::Askers;
use super::login::LoginRules;
use super::route::Routes;
use crate::GateError;
use crate::config::{Config, Limits, Network};

pub(crate) struct Policy<S> {
    pub(crate) authenticator: Authenticator<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    pub(crate) askers: Arc<Askers>,
    pub(crate) login: Option<LoginRules>,
    /// Answers a CA that validates a name.
    pub(crate) acme: Option<Arc<ActiveAcme>>,
    trusted: Vec<Network>,
    trusted_fields: Vec<String>,
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
            login: config.login.as_ref().map(LoginRules::new),
            acme: None,
            trusted: config.listen.trusted.clone(),
            trusted_fields: config.listen.believed(),
        })
    }

    /// Whether this client is a proxy that speaks for others.
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }

    /// Whether proxies are trusted with this field.
    pub(crate) fn is_trusted_field(&self, name: &str) -> bool {
        let is = |trusted: &String| trusted.eq_ignore_ascii_case(name);
        self.trusted_fields.iter().any(is)
    }

    /// The fields of proxies that are believed from this client, in lower case.
    pub(crate) fn believed(&self, client: IpAddr) -> &[String] {
        if self.trusts(client) {
            &self.trusted_fields
        } else {
            &[]
        }
    }
}
