//! A stub resolver: from a name to addresses, configured by the system's files, with the time of
//! each answer.
//!
//! The C library would hide the HTTPS record, repeated queries and truncated answers, but reports
//! have to explain them.

mod ask;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use roundtrip_model::{Answer, HttpsRecord, NameFacts, NameWaits, excerpt};
use roundtrip_wire::dns::{Kind, Message, Name, Rcode};
use roundtrip_wire::hosts::Hosts;
use roundtrip_wire::resolv_conf::ResolvConf;
use tokio::time::{Instant, timeout};

pub use ask::random_dns_id;
use ask::{TimedAnswer, ask};

use crate::sys;

const RESOLV_CONF: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";
/// The largest configuration file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The records to ask for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub v4: bool,
    pub v6: bool,
    /// The port whose HTTPS record to ask for, and how long to wait for it once there are
    /// addresses.
    pub https: Option<(u16, Duration)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("the name {name} does not exist (asked {})", listed(.servers))]
    NoSuchName {
        name: String,
        servers: Vec<SocketAddr>,
    },
    #[error("{name} exists but has no address (asked {})", listed(.servers))]
    NoAddress {
        name: String,
        servers: Vec<SocketAddr>,
    },
    #[error("no answer about {name} from {} within {:.1} s", listed(.servers), .after.as_secs_f64())]
    Silent {
        name: String,
        servers: Vec<SocketAddr>,
        after: Duration,
    },
    #[error("the name server {server} failed for {name}: {why}")]
    Failed {
        name: String,
        server: SocketAddr,
        why: String,
    },
    #[error("'{name}' is not a valid name: {source}")]
    Name {
        name: String,
        source: roundtrip_wire::Error,
    },
    #[error("no name server is configured")]
    NoServer,
}

fn listed(all: &[SocketAddr]) -> String {
    all.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

pub struct Resolver {
    conf: ResolvConf,
    hosts: Hosts,
    servers: Vec<SocketAddr>,
}

impl Resolver {
    /// Reads /etc/resolv.conf and /etc/hosts. Missing files count as empty.
    pub fn system() -> Result<Self, ResolveError> {
        Self::from_files(&read(RESOLV_CONF), &read(HOSTS))
    }

    pub fn from_files(resolv_conf: &str, hosts: &str) -> Result<Self, ResolveError> {
        let conf = ResolvConf::parse(resolv_conf);
        let servers = conf
            .name_servers
            .iter()
            .map(|s| SocketAddr::new(s.address, 53))
            .collect();
        Self::new(conf, Hosts::parse(hosts), servers)
    }

    /// Uses the given servers, on any port.
    pub fn new(
        conf: ResolvConf,
        hosts: Hosts,
        servers: Vec<SocketAddr>,
    ) -> Result<Self, ResolveError> {
        if servers.is_empty() {
            return Err(ResolveError::NoServer);
        }
        Ok(Self {
            conf,
            hosts,
            servers,
        })
    }

    /// Uses the same files with other servers; an empty list changes nothing.
    #[must_use]
    pub fn asking(mut self, servers: &[SocketAddr]) -> Self {
        if !servers.is_empty() {
            self.servers = servers.to_vec();
        }
        self
    }

    pub async fn look_up(&self, host: &str, wanted: Wanted) -> Result<NameFacts, ResolveError> {
        if let Some(addresses) = self.known(host, wanted) {
            return Ok(NameFacts::new(host, Answer::Hosts, addresses));
        }
        let began = Instant::now();
        let (mut empty, mut in_vain) = (None, Vec::new());
        for candidate in self.conf.candidates(host) {
            let before = began.elapsed();
            match self.ask_about(&candidate, wanted).await {
                Err(error @ ResolveError::NoAddress { .. }) => empty = Some(error),
                Err(ResolveError::NoSuchName { .. }) => {}
                outcome => {
                    return outcome.map(|mut found| {
                        host.clone_into(&mut found.host);
                        if !in_vain.is_empty() {
                            (found.waits.in_vain, found.waits.suffixes) = (in_vain, before);
                        }
                        found
                    });
                }
            }
            in_vain.push(candidate);
        }
        if let Some(error) = empty {
            return Err(error);
        }
        Err(ResolveError::NoSuchName {
            name: host.to_owned(),
            servers: self.servers.clone(),
        })
    }

    /// Resolves names that need no query: those in the hosts file, and `localhost`, for which
    /// queries are forbidden (RFC 6761 §6.3).
    fn known(&self, host: &str, wanted: Wanted) -> Option<Vec<IpAddr>> {
        let fits = |a: &IpAddr| if a.is_ipv4() { wanted.v4 } else { wanted.v6 };
        let bare = host.trim_end_matches('.').to_ascii_lowercase();
        let listed: Vec<IpAddr> = self
            .hosts
            .lookup(&bare)
            .iter()
            .copied()
            .filter(fits)
            .collect();
        if !listed.is_empty() {
            return Some(listed);
        }
        if bare == "localhost" || bare.ends_with(".localhost") {
            let loopback = [
                IpAddr::V6(Ipv6Addr::LOCALHOST),
                IpAddr::V4(Ipv4Addr::LOCALHOST),
            ];
            return Some(loopback.into_iter().filter(fits).collect());
        }
        None
    }

    /// Sends all queries about one full name at once.
    async fn ask_about(&self, candidate: &str, wanted: Wanted) -> Result<NameFacts, ResolveError> {
        let name: Name = candidate.parse().map_err(|source| ResolveError::Name {
            name: excerpt(candidate, 80),
            source,
        })?;
        let four = self.maybe(wanted.v4, &name, Kind::A);
        let six = self.maybe(wanted.v6, &name, Kind::AAAA);
        let addresses = async { tokio::join!(four, six) };
        let service = self.service(&name, wanted);
        tokio::pin!(service);
        let (early, (four, six)) = {
            tokio::pin!(addresses);
            let mut early = None;
            loop {
                tokio::select! {
                    found = &mut service, if early.is_none() => early = Some(found),
                    both = &mut addresses => break (early, both),
                }
            }
        };
        let mut arrived = last_arrival([&four, &six].into_iter().flatten());
        let mut found = self.gather(&name, four, six)?;
        let began = Instant::now();
        let service = match (early, wanted.https) {
            (Some(early), _) => early,
            (None, Some((_, grace))) => {
                let late = timeout(grace, service).await.unwrap_or_default();
                arrived = late.arrived;
                late
            }
            (None, None) => ServiceAnswer::default(),
        };
        found.https_record = service.record;
        found.waits.https_record = began.elapsed();
        let unread = arrived.map(|at| sys::realtime().saturating_sub(at));
        found.waits.unread = unread.unwrap_or_default();
        Ok(found)
    }

    async fn maybe(&self, wanted: bool, name: &Name, kind: Kind) -> Option<AddressQuery> {
        if !wanted {
            return None;
        }
        let began = Instant::now();
        let outcome = ask(&self.conf, &self.servers, name, kind).await;
        let took = began.elapsed();
        Some(AddressQuery { outcome, took })
    }

    /// Asks for the HTTPS record. Without an answer, nothing is known.
    async fn service(&self, name: &Name, wanted: Wanted) -> ServiceAnswer {
        // Other ports have their own owner name (RFC 9460 §9.1).
        let owner = match wanted.https {
            Some((443, _)) => Ok(name.clone()),
            Some((port, _)) => format!("_{port}._https.{name}").parse(),
            None => return ServiceAnswer::default(),
        };
        let Ok(owner) = owner else {
            return ServiceAnswer::default();
        };
        let asked = ask(&self.conf, &self.servers, &owner, Kind::HTTPS).await;
        asked.map_or_else(
            |_| ServiceAnswer::default(),
            |asked| {
                let services = asked.message.https_for(&owner).unwrap_or_default();
                let usable = services.iter().find(|s| !s.is_alias());
                ServiceAnswer {
                    record: usable.map(|s| (*s).into()),
                    arrived: asked.arrived,
                }
            },
        )
    }

    /// Merges the answers for both families; one of them is enough.
    fn gather(
        &self,
        name: &Name,
        four: Option<AddressQuery>,
        six: Option<AddressQuery>,
    ) -> Result<NameFacts, ResolveError> {
        let mut found = NameFacts::new(&name.to_string(), Answer::Hosts, Vec::new());
        if let (Some(four), Some(six)) = (&four, &six) {
            compare(&mut found.waits, four, six);
        }
        let (mut trouble, mut missing) = (None, false);
        // IPv6 first, as getaddrinfo orders equal addresses (RFC 6724 §2.1).
        for half in [six, four].into_iter().flatten() {
            let asked = match half.outcome {
                Ok(asked) => asked,
                Err(error) => {
                    trouble.get_or_insert(error);
                    continue;
                }
            };
            missing |= asked.message.rcode == Rcode::NO_SUCH_NAME;
            found.answer = Answer::Server(asked.server);
            found.resent += asked.resent;
            found.waits.unheard += asked.unanswered;
            let over_tcp = asked.over_tcp.unwrap_or_default();
            found.truncated |= asked.over_tcp.is_some();
            found.waits.over_tcp = found.waits.over_tcp.max(over_tcp);
            add(&mut found, name, &asked.message);
        }
        let servers = self.servers.clone();
        match (found.addresses.is_empty(), trouble) {
            (false, _) => Ok(found),
            (true, Some(error)) => Err(error),
            (true, None) if missing => Err(ResolveError::NoSuchName {
                name: name.to_string(),
                servers,
            }),
            (true, None) => Err(ResolveError::NoAddress {
                name: name.to_string(),
                servers,
            }),
        }
    }
}

/// The HTTPS record, if there is one, and when the answer arrived, by the wall clock.
#[derive(Default)]
struct ServiceAnswer {
    record: Option<HttpsRecord>,
    arrived: Option<Duration>,
}

/// When the last of these answers arrived, by the wall clock; `None` if that is not known for all
/// of them.
fn last_arrival<'a>(queries: impl Iterator<Item = &'a AddressQuery>) -> Option<Duration> {
    let arrivals = queries.map(|query| query.outcome.as_ref().ok()?.arrived);
    arrivals.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// One of the two address queries (A and AAAA).
struct AddressQuery {
    outcome: Result<TimedAnswer, ResolveError>,
    took: Duration,
}

impl AddressQuery {
    fn is_clean(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|asked| asked.resent == 0)
    }

    /// Whether a query got no answer. A failure that a server reports is an answer.
    fn is_unanswered(&self) -> bool {
        match &self.outcome {
            Ok(asked) => asked.unanswered > 0,
            Err(error) => matches!(error, ResolveError::Silent { .. }),
        }
    }
}

/// Notes if one query was answered at once and the other was not: the lookup then waited for the
/// second.
fn compare(waits: &mut NameWaits, four: &AddressQuery, six: &AddressQuery) {
    for (clean, late, kind) in [(four, six, "AAAA"), (six, four, "A")] {
        if clean.is_clean() && late.is_unanswered() {
            waits.unanswered = Some(kind);
            waits.half = late.took.saturating_sub(clean.took);
        }
    }
}

/// Adds the records of one answer about a name; also for answers from elsewhere (DNS over HTTPS).
pub fn add(found: &mut NameFacts, name: &Name, message: &Message) {
    let Ok(resolved) = message.addresses_for(name) else {
        return;
    };
    found.addresses.extend(resolved.addresses);
    found.ttl = [found.ttl, resolved.ttl].into_iter().flatten().min();
    if found.aliases.is_empty() {
        found.aliases = resolved.aliases.iter().map(ToString::to_string).collect();
    }
}

fn read(path: &str) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    let opened = std::fs::File::open(path);
    let _ = opened.and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}
