//! The servers that have the sessions: one, those of a cluster, or a master with its replicas that
//! sentinels watch. Each request goes to the master of its key's slot.
//!
//! Every server reports changes, including replicas, so a change by a new master arrives even
//! before it is known to be the master. An answer stays valid as long as its master keeps its
//! connection and still serves its slots, which is checked ten times a second; otherwise, the
//! sessions in these slots are forgotten.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use roundtrip_wire::resp::{Redirect, Value, key_slot};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep};

use super::discovery::find;
use super::link::{Link, LinkWatcher};
use super::node::{Node, NodeKind};
use super::pushes::Pushes;
use super::settings::{Address, RedisSettings, RedisTopology};
use super::slots::{SlotMap, names_own_replica};
use crate::StoreError;

/// The largest number of servers that one request is sent to.
const MAX_ATTEMPTS: usize = 6;

pub(super) struct RedisServers {
    pub(super) settings: Arc<RedisSettings>,
    pub(super) news: Rc<Pushes>,
    view: Rc<View>,
    nodes: RefCell<BTreeMap<Address, Rc<Node>>>,
    pub(super) sentinels: Vec<Rc<Node>>,
    /// The only server, if there is only one.
    only: Option<Rc<Node>>,
    /// Slots that are being moved: a server other than their master has answered for them.
    moving: RefCell<BTreeSet<u16>>,
    /// The lock of the task that refreshes the list of servers.
    looking: Mutex<()>,
    looked: Cell<Option<Instant>>,
    failed: RefCell<Option<StoreError>>,
}

/// A server's answers about one key.
pub(super) struct Asked {
    pub(super) answers: Vec<Value>,
    pub(super) link: Rc<Link>,
    pub(super) server: Address,
}

/// Which server has what, and whether that is in doubt.
pub(super) struct View {
    prefix: Arc<str>,
    map: RefCell<SlotMap>,
    stale: Cell<bool>,
    /// Signals that the list of servers must be requested.
    wanted: Notify,
}

/// Hears a server's reports.
struct ServerWatcher {
    address: Address,
    news: Rc<Pushes>,
    view: Rc<View>,
    ended: Rc<Notify>,
}

/// Hears a sentinel's reports.
struct SentinelWatcher {
    view: Rc<View>,
    ended: Rc<Notify>,
}

impl View {
    fn suspect(&self) {
        self.stale.set(true);
        self.wanted.notify_one();
    }
}

impl LinkWatcher for ServerWatcher {
    fn pushed(&self, items: Vec<Value>) {
        // A replica that copies its master again reports that all its keys were removed.
        let is_all = matches!(items.get(1), Some(Value::Null));
        if is_all && !self.view.map.borrow().is_master(&self.address) {
            return;
        }
        self.news.pushed(items);
    }

    fn lost(&self) {
        let part = self.view.map.borrow();
        if let Some(part) = part.part_of(&self.address, &self.view.prefix) {
            self.news.lost(part);
            self.view.suspect();
        }
        self.ended.notify_one();
    }
}

impl LinkWatcher for SentinelWatcher {
    fn pushed(&self, items: Vec<Value>) {
        if items.first().and_then(Value::bytes) == Some(b"message") {
            self.view.suspect();
        }
    }

    fn lost(&self) {
        self.ended.notify_one();
    }
}

impl RedisServers {
    pub(super) fn new(settings: Arc<RedisSettings>) -> Self {
        let news = Rc::new(Pushes::new(&settings.prefix));
        let view = Rc::new(View {
            prefix: settings.prefix.as_str().into(),
            map: RefCell::default(),
            stale: Cell::new(settings.has_several_servers()),
            wanted: Notify::new(),
        });
        let sentinel = |address: &Address| {
            let ended = Rc::new(Notify::new());
            let watcher = Rc::new(SentinelWatcher {
                view: view.clone(),
                ended: ended.clone(),
            });
            let kind = NodeKind::Sentinel;
            let node = Node::new(address.clone(), kind, settings.clone(), watcher, ended);
            Rc::new(node)
        };
        let sentinels = match &settings.topology {
            RedisTopology::Sentinels { sentinels, .. } => sentinels.iter().map(sentinel).collect(),
            _ => Vec::new(),
        };
        let mut servers = Self {
            news,
            view,
            nodes: RefCell::default(),
            sentinels,
            only: None,
            moving: RefCell::default(),
            looking: Mutex::new(()),
            looked: Cell::new(None),
            failed: RefCell::default(),
            settings,
        };
        if let RedisTopology::One(address) = &servers.settings.topology {
            let map = SlotMap::whole(address.clone(), Vec::new());
            *servers.view.map.borrow_mut() = map;
            servers.only = Some(servers.node(address));
        }
        servers
    }

    /// The server at this address, which need not be known yet.
    pub(super) fn node(&self, address: &Address) -> Rc<Node> {
        let make = || {
            let ended = Rc::new(Notify::new());
            let watcher = Rc::new(ServerWatcher {
                address: address.clone(),
                news: self.news.clone(),
                view: self.view.clone(),
                ended: ended.clone(),
            });
            let (kind, settings) = (NodeKind::Server, self.settings.clone());
            let node = Rc::new(Node::new(address.clone(), kind, settings, watcher, ended));
            self.set_probe(&node);
            node
        };
        let mut nodes = self.nodes.borrow_mut();
        nodes.entry(address.clone()).or_insert_with(make).clone()
    }

    /// All known servers, those with an open connection first.
    pub(super) fn known(&self) -> Vec<Rc<Node>> {
        let mut known: Vec<Rc<Node>> = self.nodes.borrow().values().cloned().collect();
        let map = self.view.map.borrow();
        known.sort_by_key(|node| (node.live().is_none(), !map.is_master(&node.address)));
        known
    }

    /// The masters, in the order of their addresses.
    pub(super) async fn masters(&self) -> Result<Vec<Rc<Node>>, StoreError> {
        self.look_if_stale().await;
        let map = self.view.map.borrow();
        let masters: Vec<Rc<Node>> = map.masters().into_iter().map(|a| self.node(a)).collect();
        if masters.is_empty() {
            return Err(self.no_master());
        }
        Ok(masters)
    }

    pub(super) async fn link_to(&self, node: &Node) -> Result<Rc<Link>, StoreError> {
        match node.open().await {
            Ok((link, again)) => {
                if again && self.view.map.borrow().is_master(&node.address) {
                    self.news.back();
                }
                Ok(link)
            }
            Err(error) => {
                if self.view.map.borrow().is_master(&node.address) {
                    self.view.suspect();
                }
                Err(error)
            }
        }
    }

    /// Sends commands about one key to its present master.
    pub(super) async fn ask(&self, key: &[u8], commands: &[&[&[u8]]]) -> Result<Asked, StoreError> {
        let slot = key_slot(key);
        let mut once = None;
        for _ in 0..MAX_ATTEMPTS {
            let (node, asking) = match once.take() {
                Some(node) => (node, true),
                None => (self.owner(slot).await?, false),
            };
            let link = self.link_to(&node).await?;
            let answers = link.ask_all(commands, asking).await?;
            let elsewhere = answers.iter().find_map(|answer| match answer {
                Value::Error(text) if self.only.is_none() && is_elsewhere(text) => {
                    Some(text.clone())
                }
                _ => None,
            });
            let server = node.address.clone();
            let asked = Asked {
                answers,
                link,
                server,
            };
            let Some(error) = elsewhere else {
                if asking {
                    self.moving.borrow_mut().insert(slot);
                }
                return Ok(asked);
            };
            if let Some(redirect) = Redirect::parse(&error) {
                once = self.follow(&redirect, &node);
            } else if error.starts_with(b"READONLY") {
                self.view.suspect();
                sleep(self.settings.pause).await;
            } else if error.starts_with(b"TRYAGAIN") {
                sleep(self.settings.pause).await;
            } else {
                self.view.suspect();
                return Ok(asked);
            }
        }
        Err(StoreError::down(
            "each server that was asked referred to another one",
        ))
    }

    /// The connection to the master of this key.
    pub(super) async fn link_for(&self, key: &[u8]) -> Result<Rc<Link>, StoreError> {
        let node = self.owner(key_slot(key)).await?;
        self.link_to(&node).await
    }

    /// Follows a redirect. Returns the server if only this request goes there; otherwise the server
    /// has the slot from now on.
    fn follow(&self, redirect: &Redirect, from: &Node) -> Option<Rc<Node>> {
        let to = from
            .address
            .named(redirect.host.as_bytes(), redirect.port)?;
        if redirect.once {
            self.moving.borrow_mut().insert(redirect.slot);
            return Some(self.node(&to));
        }
        let mut map = self.view.map.borrow().clone();
        map.give(redirect.slot, to);
        self.install(map);
        self.view.suspect();
        None
    }

    async fn owner(&self, slot: u16) -> Result<Rc<Node>, StoreError> {
        if let Some(only) = &self.only {
            return Ok(only.clone());
        }
        self.look_if_stale().await;
        let owner = self.view.map.borrow().owner(slot).cloned();
        owner
            .map(|address| self.node(&address))
            .ok_or_else(|| self.no_master())
    }

    fn no_master(&self) -> StoreError {
        let failed = self.failed.borrow().clone();
        failed.unwrap_or_else(|| StoreError::down("no server has this part of the sessions"))
    }

    async fn look_if_stale(&self) {
        if self.only.is_some() || !self.view.stale.get() {
            return;
        }
        let _turn = match self.looking.try_lock() {
            Ok(turn) => turn,
            // Another task is refreshing the view; the current one suffices until then.
            Err(_) if !self.view.map.borrow().is_empty() => return,
            Err(_) => self.looking.lock().await,
        };
        let recently = |at: Instant| at.elapsed() < self.settings.pause;
        if self.view.stale.get() && !self.looked.get().is_some_and(recently) {
            self.look_now().await;
        }
    }

    /// Asks which servers there are. The caller holds the lock.
    async fn look_now(&self) {
        self.view.stale.set(false);
        match find(self).await {
            Ok(map) => {
                *self.failed.borrow_mut() = None;
                self.install(map);
            }
            Err(error) => {
                *self.failed.borrow_mut() = Some(error);
                self.view.stale.set(true);
            }
        }
        self.looked.set(Some(Instant::now()));
        if self.is_down(None) {
            self.view.stale.set(true);
        }
    }

    /// Adopts a new map. Sessions whose slot has another master now are in doubt. Servers that are
    /// not in the map, such as seeds under another name, are forgotten.
    fn install(&self, map: SlotMap) {
        self.moving.borrow_mut().clear();
        let before = self.view.map.replace(map);
        let map = self.view.map.borrow().clone();
        let servers = map.servers();
        self.nodes.borrow_mut().retain(|at, _| servers.contains(at));
        if before == map {
            return;
        }
        let changed = before.changed(&map, &self.view.prefix);
        if let Some(part) = changed.filter(|_| !before.is_empty()) {
            self.news.lost(part);
            self.news.back();
        }
        for address in &servers {
            self.set_probe(&self.node(address));
        }
    }

    fn set_probe(&self, node: &Node) {
        let probe = match self.settings.topology {
            RedisTopology::One(_) => return,
            RedisTopology::Sentinels { .. } => vec![b"ROLE".to_vec()],
            RedisTopology::Cluster(_) => {
                let map = self.view.map.borrow();
                let key = probe_key(&map, &node.address, &self.settings.prefix);
                key.map_or(vec![b"PING".to_vec()], |key| vec![b"GET".to_vec(), key])
            }
        };
        node.set_probe(probe);
    }

    pub(super) fn is_single(&self) -> bool {
        self.only.is_some()
    }

    pub(super) fn is_watching(&self, key: Option<&[u8]>) -> bool {
        if let Some(only) = &self.only {
            return only.is_watching();
        }
        // Fewer could all be on the wrong side of a cut, with a master that has been replaced.
        let live = self.sentinels.iter().filter(|s| s.live().is_some()).count();
        if 2 * live < self.sentinels.len() + usize::from(!self.sentinels.is_empty()) {
            return false;
        }
        let (map, nodes) = (self.view.map.borrow(), self.nodes.borrow());
        let watching = |address: &Address| nodes.get(address).is_some_and(|n| n.is_watching());
        match key.map(key_slot) {
            Some(slot) => {
                !self.moving.borrow().contains(&slot) && map.owner(slot).is_some_and(watching)
            }
            None => self.moving.borrow().is_empty() && map.masters().into_iter().all(watching),
        }
    }

    pub(super) fn is_down(&self, key: Option<&[u8]>) -> bool {
        if let Some(only) = &self.only {
            return only.is_down();
        }
        let (map, nodes) = (self.view.map.borrow(), self.nodes.borrow());
        let down = |address: &Address| nodes.get(address).is_some_and(|n| n.is_down());
        match key.map(|key| map.owner(key_slot(key))) {
            Some(Some(owner)) => down(owner),
            None if !map.is_empty() => map.masters().into_iter().any(down),
            _ => self.failed.borrow().is_some(),
        }
    }

    pub(super) fn why_down(&self) -> Option<StoreError> {
        let (map, nodes) = (self.view.map.borrow(), self.nodes.borrow());
        let mut masters = map.masters().into_iter().filter_map(|a| nodes.get(a));
        let why = masters.find_map(|node| node.why_down());
        why.or_else(|| self.failed.borrow().clone().filter(|_| map.is_empty()))
    }

    /// Whether a replica can take the place of the server that answered. If that is not known, it
    /// is assumed: a server can have become a master a moment ago.
    pub(super) async fn is_replicated(&self, asked: &Asked) -> bool {
        if self.only.is_none() && self.view.stale.get() {
            let _turn = self.looking.lock().await;
            self.look_now().await;
        }
        let is_known = {
            let (map, failed) = (self.view.map.borrow(), self.failed.borrow().is_some());
            failed || !map.is_master(&asked.server) || map.is_replicated(&asked.server)
        };
        is_known || self.has_new_replica(&asked.link).await
    }

    /// `CLUSTER SLOTS` leaves out a replica until the server has heard that it has data. If the
    /// user may not ask `CLUSTER NODES`, there is none.
    async fn has_new_replica(&self, master: &Link) -> bool {
        if !matches!(self.settings.topology, RedisTopology::Cluster(_)) {
            return false;
        }
        let nodes = master.ask(&[b"CLUSTER", b"NODES"]).await;
        nodes.map_or(true, |nodes| nodes.bytes().is_some_and(names_own_replica))
    }

    /// Refreshes the view whenever it is due. `maintenance` runs this as long as the thread serves.
    pub(super) async fn keep_view(&self) {
        let pause = match self.view.stale.get() {
            _ if self.only.is_some() => return self.view.wanted.notified().await,
            true => self.settings.pause,
            false => self.settings.heartbeat,
        };
        tokio::select! {
            () = self.view.wanted.notified() => {}
            () = sleep(pause) => {}
        }
        let _turn = self.looking.lock().await;
        let recently = |at: Instant| at.elapsed() < self.settings.pause;
        if !self.looked.get().is_some_and(recently) {
            self.look_now().await;
        }
    }

    /// Processes a server's answer to a probe.
    pub(super) fn probed(&self, node: &Node, answer: &Value) {
        if !self.view.map.borrow().is_master(&node.address) {
            return;
        }
        match (&self.settings.topology, answer) {
            (RedisTopology::Sentinels { .. }, answer) if !is_master_role(answer) => {
                self.install(SlotMap::default());
                self.view.suspect();
            }
            (RedisTopology::Cluster(_), Value::Error(error))
                if Redirect::parse(error).is_some_and(|redirect| !redirect.once) =>
            {
                self.view.suspect();
            }
            _ => {}
        }
    }
}

/// Whether an answer to `ROLE` comes from a master.
pub(super) fn is_master_role(answer: &Value) -> bool {
    let Value::Array(parts) = answer else {
        return false;
    };
    parts.first().and_then(Value::bytes) == Some(b"master")
}

/// Whether the error means that another server has the key, or that this one will answer later.
fn is_elsewhere(error: &[u8]) -> bool {
    let word = error.split(|byte| *byte == b' ').next();
    matches!(
        word,
        Some(b"MOVED" | b"ASK" | b"TRYAGAIN" | b"READONLY" | b"CLUSTERDOWN" | b"MASTERDOWN")
    )
}

/// A key in one of this server's slots that belongs to no session. `None` if keys with the prefix
/// cannot be in its slots.
fn probe_key(map: &SlotMap, server: &Address, prefix: &str) -> Option<Vec<u8>> {
    let key = |number: u32| format!("{prefix}{{{number}}}").into_bytes();
    let is_its_own = |key: &Vec<u8>| map.serves(server, key_slot(key));
    map.first_slot(server)?;
    // If the prefix has a tag, all keys have one slot. Otherwise a server with a single slot is
    // found by one number in 16384.
    let same = (0..4).all(|n| key_slot(&key(n)) == key_slot(&key(0)));
    let most = if same { 1 } else { 1 << 18 };
    (0..most).map(key).find(is_its_own)
}
