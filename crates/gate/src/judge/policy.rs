//! What one thread needs to judge requests: the routes, the limits, and the authenticator.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::acme::ActiveAcme;
use super::authenticator::Authenticator;
use super::authz::AskingProxies;
use super::login::LoginRules;
use super::request::is_trusted;
use super::route::Routes;
use crate::GateError;
use crate::config::{Config, Limits, Network};

pub(crate) struct Policy<S> {
    pub(crate) authenticator: Authenticator<S>,
    pub(crate) routes: Routes,
    pub(crate) limits: Limits,
    pub(crate) askers: Arc<AskingProxies>,
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
        askers: Arc<AskingProxies>,
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
            trusted_fields: config.listen.lowercase_trusted_fields(),
        })
    }

    /// Whether this client is a proxy that speaks for others.
    pub(crate) fn trusts(&self, client: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(client))
    }

    /// Whether proxies are trusted with this field.
    pub(crate) fn is_trusted_field(&self, name: &str) -> bool {
        is_trusted(&self.trusted_fields, name)
    }

    /// The fields that this client may set as a trusted proxy, in lower case.
    pub(crate) fn trusted_fields(&self, client: IpAddr) -> &[String] {
        if self.trusts(client) {
            &self.trusted_fields
        } else {
            &[]
        }
    }
}
