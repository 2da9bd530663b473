//! Name lookups in clear text: the name, the client, when the answer came, and its content.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use roundtrip_model::{Answer, NameFacts};
use roundtrip_wire::dns::{Kind, Message, Name, Rcode};

/// The number of lookups that are kept; older ones are forgotten first.
const MAX_LOOKUPS: usize = 10_000;
/// The number of addresses that are kept for one lookup.
const MAX_ADDRESSES: usize = 256;
/// A client connects within this many nanoseconds after a lookup, or the lookup had another
/// purpose.
const SOON: u64 = 2_000_000_000;
/// Lookups of one name that begin within this many nanoseconds are for the same connection.
const AT_ONCE: u64 = 100_000_000;
/// A question that is repeated within this many nanoseconds belongs to the same lookup.
const SAME_LOOKUP: u64 = 15_000_000_000;

/// The lookup of one name by one client.
#[derive(Debug, Clone)]
pub(crate) struct NameLookup {
    pub(crate) client: IpAddr,
    pub(crate) server: SocketAddr,
    pub(crate) name: String,
    /// The beginning in nanoseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: Option<u64>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) aliases: Vec<String>,
    pub(crate) ttl: Option<u32>,
    pub(crate) rcode: Option<Rcode>,
    pub(crate) repeats: u32,
    pub(crate) truncated: bool,
    /// When a truncated answer arrived, because the whole one is too long for UDP.
    cut_at: Option<u64>,
    /// The types that were asked for and not answered yet.
    open: Vec<Kind>,
    used: bool,
}

impl NameLookup {
    /// The lookup in the client's time, `distance` away.
    pub(crate) fn seen_from(mut self, distance: u64) -> Self {
        self.began = self.began.saturating_sub(distance);
        self.ended = self.ended.map(|ended| ended.saturating_add(distance));
        self
    }

    pub(crate) fn facts(&self) -> NameFacts {
        let server = Answer::Server(self.server);
        let mut facts = NameFacts::new(&self.name, server, self.addresses.clone());
        facts.aliases.clone_from(&self.aliases);
        facts.ttl = self.ttl;
        (facts.resent, facts.waits.unheard) = (self.repeats, self.repeats);
        facts.truncated = self.truncated;
        facts.waits.over_tcp = match (self.cut_at, self.ended) {
            (Some(cut), Some(ended)) => Duration::from_nanos(ended.saturating_sub(cut)),
            _ => Duration::ZERO,
        };
        facts
    }
}

/// All lookups so far.
#[derive(Debug, Default)]
pub(crate) struct NameLookups {
    all: Vec<NameLookup>,
    /// The newest lookup of each client and name.
    newest: HashMap<(IpAddr, String), usize>,
    /// The lookups that found each address.
    by_address: BTreeSet<(IpAddr, usize)>,
}

impl NameLookups {
    /// A DNS message from `from` to `to`.
    pub(crate) fn push(&mut self, at: u64, from: SocketAddr, to: SocketAddr, message: &Message) {
        let Some(question) = message.questions.first() else {
            return;
        };
        let name = question
            .name
            .to_string()
            .trim_end_matches('.')
            .to_lowercase();
        if message.response {
            self.answer(at, to.ip(), &name, question.kind, &question.name, message);
        } else {
            self.question(at, from.ip(), to, name, question.kind);
        }
    }

    fn question(&mut self, at: u64, client: IpAddr, server: SocketAddr, name: String, kind: Kind) {
        if self.all.len() >= MAX_LOOKUPS {
            self.all.clear();
            self.newest.clear();
            self.by_address.clear();
        }
        let key = (client, name);
        let known = self.newest.get(&key).and_then(|at| self.all.get_mut(*at));
        if let Some(lookup) = known
            && at.saturating_sub(lookup.began) < SAME_LOOKUP
            && (lookup.ended.is_none() || !lookup.open.is_empty() || lookup.truncated)
        {
            if lookup.open.contains(&kind) {
                lookup.repeats += 1;
            } else {
                lookup.open.push(kind);
            }
            return;
        }
        self.newest.insert(key.clone(), self.all.len());
        self.all.push(NameLookup {
            client,
            server,
            name: key.1,
            began: at,
            ended: None,
            addresses: Vec::new(),
            aliases: Vec::new(),
            ttl: None,
            rcode: None,
            repeats: 0,
            truncated: false,
            cut_at: None,
            open: vec![kind],
            used: false,
        });
    }

    fn answer(
        &mut self,
        at: u64,
        client: IpAddr,
        name: &str,
        kind: Kind,
        asked: &Name,
        message: &Message,
    ) {
        let known = self.newest.get(&(client, name.to_owned())).copied();
        let known = known.and_then(|n| Some((n, self.all.get_mut(n)?)));
        let Some((n, lookup)) = known else {
            return;
        };
        lookup.open.retain(|open| *open != kind);
        if message.truncated {
            lookup.truncated = true;
            lookup.cut_at.get_or_insert(at);
        }
        lookup.rcode = Some(message.rcode);
        if kind != Kind::A && kind != Kind::AAAA {
            return;
        }
        lookup.ended = Some(at);
        if let Ok(resolved) = message.addresses_for(asked) {
            for address in resolved.addresses {
                let is_full = lookup.addresses.len() >= MAX_ADDRESSES;
                if !is_full && self.by_address.insert((address, n)) {
                    lookup.addresses.push(address);
                }
            }
            if lookup.aliases.is_empty() {
                let aliases = resolved.aliases.iter();
                lookup.aliases = aliases.map(ToString::to_string).collect();
            }
            lookup.ttl = resolved.ttl.or(lookup.ttl);
        }
    }

    /// The lookup that made `client` connect to `server` at `at`: the newest that found this
    /// address, unless it already led to another connection.
    pub(crate) fn take(&mut self, client: IpAddr, server: IpAddr, at: u64) -> Option<NameLookup> {
        let (n, found) = self.that_found(client, server).find(|(_, lookup)| {
            let ended = lookup.ended;
            ended.is_some_and(|ended| ended <= at && at - ended < SOON)
        })?;
        if found.used {
            return None;
        }
        let found = found.clone();
        // Clients may ask twice at once, and wait for the first answer.
        let is_near = |l: &&mut NameLookup| l.began.abs_diff(found.began) <= AT_ONCE;
        let (before, after) = self.all.split_at_mut(n);
        let before = before.iter_mut().rev().take_while(is_near);
        for near in before.chain(after.iter_mut().take_while(is_near)) {
            near.used |= near.name == found.name && is_same_host(near.client, client);
        }
        Some(found)
    }

    /// The lookups in which `client` found this address, the newest first.
    fn that_found(
        &self,
        client: IpAddr,
        server: IpAddr,
    ) -> impl Iterator<Item = (usize, &NameLookup)> {
        let all = self.by_address.range((server, 0)..=(server, usize::MAX));
        let all = all.rev().filter_map(|(_, n)| Some((*n, self.all.get(*n)?)));
        all.filter(move |(_, lookup)| is_same_host(lookup.client, client))
    }

    /// The name under which `client` found this address.
    pub(crate) fn name_of(&self, client: IpAddr, server: IpAddr) -> Option<&str> {
        let (_, found) = self.that_found(client, server).next()?;
        Some(&found.name)
    }
}

/// A host may ask for names from an address of one family and connect from one of the other:
/// nothing shows whether an IPv4 and an IPv6 address belong to the same host.
pub(crate) fn is_same_host(a: IpAddr, b: IpAddr) -> bool {
    a == b || a.is_ipv4() != b.is_ipv4()
}
