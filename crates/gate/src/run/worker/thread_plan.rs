//! A plan on one thread: its sessions, its upstreams, and the site that is made from them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::spawn_local;

use crate::GateError;
use crate::accept::listener::{AcceptConfig, kernel_takes_syn_data};
use crate::forward::site::Site;
use crate::forward::upstream::{Group, Upstream};
use crate::judge::authenticator::Authenticator;
use crate::judge::guard::Guard;
use crate::judge::session_counts;
use crate::judge::sessions::NearSessions;
use crate::record::Ledger;
use crate::run::plan::Plan;

pub(super) struct ThreadPlan {
    pub(super) plan: Arc<Plan>,
    known: NearSessions,
    /// Dropped with the plan; while it exists, new requests use `known`.
    current: Rc<()>,
    pub(super) upstreams: BTreeMap<String, Rc<Upstream>>,
}

impl ThreadPlan {
    /// Makes a plan. Upstreams are kept if their group is kept.
    pub(super) fn begin(plan: Arc<Plan>, ledger: &Arc<Ledger>, before: Option<&Self>) -> Self {
        let same_place =
            |thread_plan: &&Self| thread_plan.plan.place.outage().is(plan.place.outage());
        let (known, current) = match before.filter(same_place) {
            Some(thread_plan) => (thread_plan.known.clone(), thread_plan.current.clone()),
            None => {
                let (known, current) = (plan.place.on_this_thread(), Rc::new(()));
                let outage = plan.place.outage().clone();
                spawn_local(session_counts::sessions(
                    known.clone(),
                    Rc::downgrade(&current),
                    outage,
                    ledger.clone(),
                ));
                (known, current)
            }
        };
        if let Some(login) = &plan.login
            && !before.is_some_and(|b| b.plan.login.as_ref().is_some_and(|l| l.is(login)))
        {
            spawn_local(session_counts::logins(login.counts(), ledger.clone()));
        }
        let upstreams = plan
            .groups
            .iter()
            .map(|(name, group)| (name.clone(), known_or_new(name, group, before)))
            .collect();
        Self {
            plan,
            known,
            current,
            upstreams,
        }
    }

    pub(super) fn site(&self) -> Result<Site<NearSessions>, GateError> {
        let guard = Guard::following(
            self.plan.rules.clone(),
            Box::new(std::time::SystemTime::now),
        )?;
        let authenticator = Authenticator::new(guard, self.known.clone());
        let authenticator = authenticator.with_login(self.plan.login.clone());
        let alt_svc = self.plan.alt_svc.clone();
        let askers = self.plan.askers.clone();
        let config = &self.plan.config;
        let mut site = Site::new(config, authenticator, askers, &self.upstreams, alt_svc)?;
        site.policy.acme = self.plan.acme.as_ref().map(|acme| acme.active().clone());
        Ok(site)
    }

    pub(super) fn accept_config(&self) -> Result<AcceptConfig, GateError> {
        let listen = &self.plan.config.listen;
        Ok(AcceptConfig {
            tls: Rc::new(self.plan.tls.on_this_thread()?),
            proxies: listen.proxy_protocol_from.clone(),
            fast_open: listen.fast_open > 0 && kernel_takes_syn_data(),
        })
    }
}

fn known_or_new(name: &str, group: &Arc<Group>, before: Option<&ThreadPlan>) -> Rc<Upstream> {
    let known = before.and_then(|thread_plan| thread_plan.upstreams.get(name));
    match known.filter(|upstream| Arc::ptr_eq(upstream.group(), group)) {
        Some(upstream) => upstream.clone(),
        None => {
            let upstream = Upstream::new(group);
            spawn_local(upstream.maintain());
            upstream
        }
    }
}
