//! The data that all threads share, made from a configuration. A reload makes a new plan and keeps
//! everything that did not change, so that connections, sessions and tickets survive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;

use super::contents::Contents;
use crate::GateError;
use crate::accept::listener::{Seed, TlsSide};
use crate::config::{Authz, Config, Listen, Route, SessionStore};
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
    contents: Contents,
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
    /// The proxies that may ask about their clients' requests.
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
        let contents = Contents::read(&config);
        let place = StoreHandle::open(&config.session)?;
        let acme = acme(&config, &place)?;
        let tls = tls_side(&config, &seed, &place, acme.as_ref())?;
        let groups = groups(&config, &contents, None)?;
        Ok(Self {
            login: login(&config, &place)?,
            askers: Arc::new(AskingProxies::new(&config.authz)?),
            rules: keyring.rules(),
            alt_svc: alt_svc(&config.listen, https),
            config,
            contents,
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
        let (contents, before) = (Contents::read(&config), &self.contents);
        if contents.seed != before.seed {
            return Err(GateError::NeedsRestart("the content of tls.seed"));
        }
        let same_store = without_keys(&config.session) == without_keys(&self.config.session)
            && contents.store == before.store;
        // Services seal with the keys, and store what they sealed.
        let same_session =
            same_store && config.session == self.config.session && contents.keys == before.keys;
        let place = if same_store {
            self.place.clone()
        } else {
            StoreHandle::open(&config.session)?
        };
        let names = |config: &Config| config.acme.as_ref().map(|a| a.all_names(&config.route));
        let same_acme = config.acme == self.config.acme
            && contents.acme == before.acme
            && (same_session || config.acme.is_none())
            && names(&config) == names(&self.config);
        let acme = if same_acme {
            self.acme.clone()
        } else {
            acme(&config, &place)?
        };
        let tls = if config.tls == self.config.tls && same_store && same_acme {
            self.tls.clone()
        } else {
            tls_side(&config, &self.seed, &place, acme.as_ref())?
        };
        let same_login = config.login == self.config.login && contents.login == before.login;
        let login = if same_login && same_session {
            self.login.clone()
        } else {
            login(&config, &place)?
        };
        Ok(Self {
            login,
            askers: Arc::new(AskingProxies::new(&config.authz)?),
            rules: keyring.rules(),
            groups: groups(&config, &contents, Some(self))?,
            alt_svc: self.alt_svc.clone(),
            config,
            contents,
            place,
            acme,
            tls,
            seed: self.seed.clone(),
        })
    }
}

/// A copy of the settings that say where sessions are, without the keys.
fn without_keys(session: &SessionStore) -> SessionStore {
    SessionStore {
        seal: Vec::new(),
        plain: false,
        cbc: None,
        ..session.clone()
    }
}

/// Makes or keeps the login service. A reload keeps it if its settings did not change, so that no
/// login under way is lost.
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

/// A group whose settings and CA are unchanged is kept, with its connections.
fn groups(
    config: &Config,
    contents: &Contents,
    before: Option<&Plan>,
) -> Result<BTreeMap<String, Arc<Group>>, GateError> {
    let make = |(index, (name, settings)): (usize, (&String, &crate::config::Upstream))| {
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        let known = before.and_then(|plan| {
            let same = plan.config.upstream.get(name) == Some(settings)
                && plan.contents.upstream.get(name) == contents.upstream.get(name);
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_reload_reads_replaced_secrets_and_keeps_what_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        };
        for name in ["client", "seal", "redis", "sentinel"] {
            write(name, &"1".repeat(32)).unwrap();
        }
        let text = r#"
            [session]
            store = "redis://127.0.0.1:1/0"
            password = { file = "DIR/redis" }
            sentinel = { password = { file = "DIR/sentinel" } }
            [[session.seal]]
            id = "k"
            from = { file = "DIR/seal" }
            [login]
            issuer = "https://login.test"
            client_id = "gate"
            client_secret = { file = "DIR/client" }
            [upstream.app]
            servers = ["https://app.test"]
            ca = "DIR/ca"
            [upstream.other]
            servers = ["http://other.test"]
            [[route]]
            upstream = "app"
        "#;
        let text = text.replace("DIR", folder.path().to_str().unwrap());
        let config = Config::parse(&text, "test").unwrap();
        let seed = Arc::new(Seed::read(None).unwrap());
        let other = Config::default();
        let other = Plan::new(
            other.clone(),
            &Keyring::open(&other).unwrap(),
            seed.clone(),
            &[],
        );
        let ca = other.unwrap().tls.self_made().unwrap().to_owned();
        write("ca", &ca).unwrap();
        let keyring = Keyring::open(&config).unwrap();
        let mut plan = Plan::new(config.clone(), &keyring, seed, &[]).unwrap();
        for (replaced, [same_store, same_login, same_app]) in [
            (None, [true, true, true]),
            (Some(("client", "2")), [true, false, true]),
            (Some(("seal", "3")), [true, false, true]),
            (Some(("redis", "4")), [false, false, true]),
            (Some(("sentinel", "5")), [false, false, true]),
            (Some(("ca", "\n")), [true, true, false]),
            (None, [true, true, true]),
        ] {
            if let Some((name, with)) = replaced {
                let long = if name == "ca" {
                    ca.clone()
                } else {
                    with.repeat(31)
                };
                write(name, &(long + with)).unwrap();
            }
            let next = plan.reread(config.clone(), &keyring).unwrap();
            let is_same = |name: &str| Arc::ptr_eq(&plan.groups[name], &next.groups[name]);
            let login = |plan: &Plan| plan.login.clone().unwrap();
            let same = [
                plan.place.outage().is(next.place.outage()),
                login(&plan).is(&login(&next)),
                is_same("app"),
            ];
            assert_eq!(same, [same_store, same_login, same_app], "{replaced:?}");
            assert!(is_same("other"));
            plan = next;
        }
        std::fs::remove_file(folder.path().join("client")).unwrap();
        assert!(plan.reread(config, &keyring).is_err());
    }
}
