//! The servers of an upstream as all threads know them: their addresses, whether they pass their
//! checks, and their TLS. A group is made once in a process; each thread builds its own `Upstream`
//! on it.

mod health;
mod names;
mod open;
mod probe;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use roundtrip_model::{Recorder, excerpt};
use roundtrip_net::{ResolveError, Resolver, SystemClock};
use roundtrip_tls::{Client, Offer, Roots};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::address::{Host, ServerAddress};
use super::counts::ThreadCounts;
use super::server_view::{ServerHealth, ServerState, ServerView};
use crate::GateError;
use crate::config::{self, UpstreamProtocol};
use names::Resolved;

pub(crate) struct Group {
    pub(super) name: Arc<str>,
    pub(super) index: u16,
    pub(super) config: config::Upstream,
    servers: Vec<GroupServer>,
    tls: Option<Arc<ClientConfig>>,
    pub(super) well: Arc<[AtomicBool]>,
    health: Arc<[ServerHealth]>,
    resolver: fn() -> Result<Resolver, ResolveError>,
    threads: Mutex<Vec<Arc<ThreadCounts>>>,
}

struct GroupServer {
    address: ServerAddress,
    shown: Arc<str>,
    resolved: watch::Sender<Resolved>,
}

impl Group {
    /// `index` is the upstream's index in the configuration.
    pub(crate) fn new(
        name: &str,
        index: u16,
        config: &config::Upstream,
    ) -> Result<Arc<Self>, GateError> {
        Self::resolving(name, index, config, Resolver::system)
    }

    /// Like [`Self::new`], but with a new resolver from the caller for each lookup.
    pub(super) fn resolving(
        name: &str,
        index: u16,
        config: &config::Upstream,
        resolver: fn() -> Result<Resolver, ResolveError>,
    ) -> Result<Arc<Self>, GateError> {
        let servers: Vec<GroupServer> = config
            .servers
            .iter()
            .map(|server| GroupServer::new(name, server))
            .collect::<Result<_, _>>()?;
        Ok(Arc::new(Self {
            name: name.into(),
            index,
            tls: trust(name, config, &servers)?,
            well: servers.iter().map(|_| AtomicBool::new(true)).collect(),
            health: servers.iter().map(|_| ServerHealth::default()).collect(),
            servers,
            config: config.clone(),
            resolver,
            threads: Mutex::default(),
        }))
    }

    /// Looks names up and checks servers for as long as it is polled: one task of the process.
    pub(crate) async fn maintain(self: Arc<Self>) {
        let mut tasks = JoinSet::new();
        for at in 0..self.servers.len() {
            let (naming, checking, probing) = (self.clone(), self.clone(), self.clone());
            tasks.spawn(async move { naming.keep_named(at).await });
            tasks.spawn(async move { checking.keep_checked(at).await });
            tasks.spawn(async move { probing.keep_probed(at).await });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// The upstream's index in the configuration.
    pub(crate) fn index(&self) -> u16 {
        self.index
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    pub(super) fn new_thread(&self) -> Arc<ThreadCounts> {
        let counts = Arc::new(ThreadCounts::new(self.health.clone()));
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(counts.clone());
        counts
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Each server as all threads together see it, in the configuration's order.
    pub(crate) fn view(&self) -> Vec<ServerView> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let view = |(at, server): (usize, &GroupServer)| {
            let counts = threads.iter().map(|counts| counts.of_server(at));
            let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
            let (answered, failed) = counts.fold((0, 0), add);
            ServerView {
                address: server.address.authority().into(),
                state: self.state(at),
                answered,
                failed,
            }
        };
        self.servers.iter().enumerate().map(view).collect()
    }

    fn state(&self, server: usize) -> ServerState {
        let well = self.well.get(server);
        if well.is_some_and(|well| !well.load(Ordering::Relaxed)) {
            return ServerState::Unhealthy;
        }
        let health = self.health.get(server);
        match health.and_then(|health| health.failing(self.config.eject_after)) {
            Some(why) => ServerState::Failing(why),
            None => ServerState::Up,
        }
    }

    pub(super) fn shown(&self, server: usize) -> Arc<str> {
        match self.servers.get(server) {
            Some(server) => server.shown.clone(),
            None => self.name.clone(),
        }
    }
}

impl GroupServer {
    fn new(upstream: &str, text: &str) -> Result<Self, GateError> {
        let address = ServerAddress::parse(text).map_err(|why| GateError::Server {
            upstream: upstream.into(),
            server: excerpt(text, 80),
            why,
        })?;
        let resolved = match address.host {
            Host::Ip(ip) => Resolved::to(&[(ip, address.port).into()]),
            Host::Name(_) => Resolved::default(),
        };
        Ok(Self {
            shown: address.authority().into(),
            address,
            resolved: watch::Sender::new(resolved),
        })
    }
}

/// The TLS configuration, if TLS is used.
fn trust(
    upstream: &str,
    config: &config::Upstream,
    servers: &[GroupServer],
) -> Result<Option<Arc<ClientConfig>>, GateError> {
    let wrong = |at: usize, why| GateError::Server {
        upstream: upstream.into(),
        server: config.servers.get(at).cloned().unwrap_or_default(),
        why,
    };
    let Some(first) = servers.first() else {
        return Err(wrong(0, "an upstream needs at least one server"));
    };
    let secure = first.address.secure;
    if let Some(at) = servers.iter().position(|s| s.address.secure != secure) {
        return Err(wrong(
            at,
            "the servers of one upstream must be all http or all https",
        ));
    }
    if !secure {
        return Ok(None);
    }
    for (at, server) in servers.iter().enumerate() {
        let name = ServerName::try_from(server.address.name());
        name.map_err(|_| wrong(at, "its name cannot be in a certificate"))?;
    }
    client_config(config)
        .map(Some)
        .map_err(|source| GateError::UpstreamTrust {
            upstream: upstream.into(),
            source,
        })
}

fn client_config(config: &config::Upstream) -> Result<Arc<ClientConfig>, roundtrip_tls::TlsError> {
    let roots = match &config.ca {
        Some(path) => Roots::File(path.clone()),
        None => Roots::System,
    };
    let client = Client::new(roots, None)?;
    // The system's certificates are read now, not while the first handshake waits for them.
    let recorder = Recorder::new(Arc::new(SystemClock::start()));
    client.verifier().prepare(&recorder);
    let offer = Offer {
        tls12: true,
        tls13: true,
        // Its key share would leave no room for the rest of the hello in the SYN.
        post_quantum: !config.fast_open,
        early_data: false,
        resume: true,
        alpn: vec![match config.protocol {
            UpstreamProtocol::H1 => "http/1.1",
            UpstreamProtocol::H2 => "h2",
        }],
        quic: false,
    };
    client.config(&offer).map(Arc::new)
}

#[cfg(test)]
impl Group {
    /// The counts, summed over all threads.
    pub(in crate::forward::upstream) fn counts(&self) -> super::Counts {
        let mut sum = super::Counts::default();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for counts in threads.iter() {
            counts.read(&mut sum);
        }
        sum
    }

    /// Each server, and whether it passes its checks.
    pub(in crate::forward::upstream) fn servers(&self) -> impl Iterator<Item = (&str, bool)> {
        let well = self
            .well
            .iter()
            .map(|well| well.load(std::sync::atomic::Ordering::Relaxed));
        self.servers.iter().map(|server| &*server.shown).zip(well)
    }
}
