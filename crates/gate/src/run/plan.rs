//! The data that all threads share, made from a configuration. A reload makes a new plan and keeps
//! everything that did not change, so that connections, sessions and tickets survive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;

use crate::GateError;
use crate::accept::listener::{Seed, TlsSide};
use crate::config::{Authz, Config, Listen, Route};
use crate::forward::upstream::Group;
use crate::judge::acme::AcmeHandle;
use crate::judge::authz::AskingProxies;
use crate::judge::configured::vault;
use crate::judge::guard::Rules;
use crate::judge::keyring::Keyring;
use crate::judge::openid::LoginHandle;
use crate::judge::sessions::StoreHandle;

/// How long a client may remember that there is HTTP/3, in seconds.
const ALT_SVC_MAX_AGE: u32 = 24 * 3600;

pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) rules: watch::Receiver<Arc<Rules>>,
    pub(crate) place: StoreHandle,
    /// The service that people log in by.
    pub(crate) login: Option<LoginHandle>,
    /// The service that gets certificates.
    pub(crate) acme: Option<AcmeHandle>,
    pub(crate) tls: Arc<TlsSide>,
    pub(crate) groups: BTreeMap<String, Arc<Group>>,
    /// RFC 9114 §3.1.1.
    pub(crate) alt_svc: Option<String>,
    pub(crate) seed: Arc<Seed>,
    /// The proxies that may ask about their requests.
    pub(crate) askers: Arc<AskingProxies>,
}

impl Plan {
    /// `https` are the bound addresses.
    pub(crate) fn new(
        config: Config,
        keyring: &Keyring,
        seed: Arc<Seed>,
        https: &[SocketAddr],
    ) -> Result<Self, GateError> {
        lead_somewhere(&config)?;
        let place = StoreHandle::open(&config.session)?;
        let acme = acme(&config, &place)?;
        let tls = tls_side(&config, &seed, &place, acme.as_ref())?;
        let groups = groups(&config, None)?;
        Ok(Self {
            login: login(&config, &place)?,
            askers: Arc::new(AskingProxies::new(&config.authz)?),
            rules: keyring.rules(),
            alt_svc: alt_svc(&config.listen, https),
            config,
            place,
            acme,
            tls,
            groups,
            seed,
        })
    }

    /// The plan after a reload with another configuration.
    pub(crate) fn reread(&self, config: Config, keyring: &Keyring) -> Result<Self, GateError> {
        needs_no_restart(&self.config, &config)?;
        lead_somewhere(&config)?;
        let place = if config.session == self.config.session {
            self.place.clone()
        } else {
            StoreHandle::open(&config.session)?
        };
        let names = |config: &Config| config.acme.as_ref().map(|a| a.all_names(&config.route));
        let same_acme = config.acme == self.config.acme
            && config.session == self.config.session
            && names(&config) == names(&self.config);
        let acme = if same_acme {
            self.acme.clone()
        } else {
            acme(&config, &place)?
        };
        let tls = if config.tls == self.config.tls && same_acme {
            self.tls.clone()
        } else {
            tls_side(&config, &self.seed, &place, acme.as_ref())?
        };
        let kept = config.login == self.config.login && config.session == self.config.session;
        let login = if kept {
            self.login.clone()
        } else {
            login(&config, &place)?
        };
        Ok(Self {
            login,
            askers: Arc::new(AskingProxies::new(&config.authz)?),
            rules: keyring.rules(),
            groups: groups(&config, Some(self))?,
            alt_svc: self.alt_svc.clone(),
            config,
            place,
            acme,
            tls,
            seed: self.seed.clone(),
        })
    }
}

/// A reload keeps the service if nothing of it has changed, so that no login under way is lost.
fn login(config: &Config, place: &StoreHandle) -> Result<Option<LoginHandle>, GateError> {
    let Some(login) = &config.login else {
        return Ok(None);
    };
    let vault = Arc::new(vault(&config.session)?);
    LoginHandle::start(login, vault, place.shared()).map(Some)
}

fn acme(config: &Config, place: &StoreHandle) -> Result<Option<AcmeHandle>, GateError> {
    let Some(acme) = &config.acme else {
        return Ok(None);
    };
    let (names, vault) = (acme.all_names(&config.route), vault(&config.session)?);
    AcmeHandle::start(acme, names, Arc::new(vault), place.shared()).map(Some)
}

fn tls_side(
    config: &Config,
    seed: &Arc<Seed>,
    place: &StoreHandle,
    acme: Option<&AcmeHandle>,
) -> Result<Arc<TlsSide>, GateError> {
    let place = Some(place.shared());
    let clock = Arc::new(SystemTime::now);
    let acme = acme.map(|acme| acme.active().clone());
    TlsSide::new(&config.tls, &config.listen, seed, place, clock, acme).map(Arc::new)
}

/// A group whose settings are unchanged is kept, with its connections.
fn groups(
    config: &Config,
    before: Option<&Plan>,
) -> Result<BTreeMap<String, Arc<Group>>, GateError> {
    let make = |(index, (name, settings)): (usize, (&String, &crate::config::Upstream))| {
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        let known = before.and_then(|plan| {
            let same = plan.config.upstream.get(name) == Some(settings);
            plan.groups
                .get(name)
                .filter(|group| same && group.index() == index)
        });
        let group = match known {
            Some(group) => group.clone(),
            None => Group::new(name, index, settings)?,
        };
        Ok((name.clone(), group))
    };
    config.upstream.iter().enumerate().map(make).collect()
}

fn lead_somewhere(config: &Config) -> Result<(), GateError> {
    let lost = |route: &&Route| !config.upstream.contains_key(&route.upstream);
    match config.route.iter().filter(|_| config.forwards()).find(lost) {
        Some(route) => Err(GateError::NoUpstream {
            route: format!("{}{}", route.host, route.path),
            upstream: route.upstream.clone(),
        }),
        None => Ok(()),
    }
}

/// Refuses changes that need a restart: sockets are bound only once.
fn needs_no_restart(before: &Config, after: &Config) -> Result<(), GateError> {
    let bound = |listen: &Listen| Listen {
        proxy_protocol_from: Vec::new(),
        trusted: Vec::new(),
        trusted_fields: Vec::new(),
        ..listen.clone()
    };
    let asked = |authz: &Authz| authz.addresses().map(|(_, list)| list.to_vec());
    for (what, same) in [
        ("[authz]", asked(&before.authz) == asked(&after.authz)),
        ("[listen]", bound(&before.listen) == bound(&after.listen)),
        (
            "tls.resumption",
            before.tls.resumption == after.tls.resumption,
        ),
        ("tls.seed", before.tls.seed == after.tls.seed),
        ("[log]", before.log == after.log),
        ("admin.listen", before.admin.listen == after.admin.listen),
    ] {
        if !same {
            return Err(GateError::NeedsRestart(what));
        }
    }
    Ok(())
}

fn alt_svc(listen: &Listen, https: &[SocketAddr]) -> Option<String> {
    let port = listen.announced_port(https.first().filter(|_| listen.h3)?);
    Some(format!("h3=\":{port}\"; ma={ALT_SVC_MAX_AGE}"))
}
