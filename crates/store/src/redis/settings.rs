//! The Redis server, and how to connect to it. `Debug` shows no secret.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_model::{WallClock, excerpt};
use roundtrip_tls::{Client, Roots, Secret};
use url::Url;

use crate::StoreError;

const PORT: u16 = 6379;
const NO_PASSWORD: &str = "a password belongs in a file or the environment";

const SENTINEL_PORT: u16 = 26379;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Tls { host: String, port: u16 },
    Unix(PathBuf),
}

/// The servers with the sessions, and how to find them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisTopology {
    One(Address),
    /// Some of a cluster's servers, which name the others.
    Cluster(Vec<Address>),
    /// All sentinels, and their name for the master.
    Sentinels {
        sentinels: Vec<Address>,
        master: String,
    },
}

#[derive(Clone)]
pub struct RedisSettings {
    pub topology: RedisTopology,
    pub user: Option<String>,
    pub password: Option<Arc<Secret>>,
    /// The user and the password for the sentinels themselves.
    pub sentinel_user: Option<String>,
    pub sentinel_password: Option<Arc<Secret>>,
    pub database: u32,
    /// The prefix of every name; also limits which changes the server reports.
    pub prefix: String,
    /// The timeout from the first packet to the end of the handshakes.
    pub connect: Duration,
    /// The timeout of each answer. A connection that misses it is closed, and its answers are
    /// forgotten.
    pub answer: Duration,
    /// The time without traffic after which a ping is sent. With `answer`, this bounds how long a
    /// silently cut connection goes unnoticed.
    pub heartbeat: Duration,
    /// The interval at which a server in a cluster or behind sentinels is asked whether it still
    /// has its sessions.
    pub probe: Duration,
    /// The pause after a failed connect. If the server refuses us, each further pause is twice as
    /// long, up to `longest_pause`. After an outage it stays short, because a session that is
    /// revoked when the server comes back remains usable until the reconnection.
    pub pause: Duration,
    pub longest_pause: Duration,
    pub clock: Arc<dyn WallClock + Send + Sync>,
    tls: Option<Arc<Client>>,
}

impl RedisSettings {
    /// Parses `redis://[user@]host[:port][/database]`, `rediss://…` (TLS), `unix:/path[?db=n]`,
    /// `redis+cluster://[user@]host[:port],…` or
    /// `redis+sentinel://[user@]host[:port],…/master[/database]`. Refuses an address that contains
    /// a password.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let wrong = |why| StoreError::Address {
            address: without_userinfo(text),
            why,
        };
        if let Some((scheme @ ("redis+cluster" | "rediss+cluster"), rest)) = text.split_once("://")
        {
            let list = ServerList::parse(rest, scheme.starts_with("rediss"), PORT);
            let list = list.map_err(wrong)?;
            if !matches!(list.path, "" | "0") {
                return Err(wrong("a cluster has only database 0"));
            }
            let topology = RedisTopology::Cluster(list.servers);
            return Ok(Self::with_topology(topology).with_user(list.user));
        }
        if let Some((scheme @ ("redis+sentinel" | "rediss+sentinel"), rest)) =
            text.split_once("://")
        {
            let list = ServerList::parse(rest, scheme.starts_with("rediss"), SENTINEL_PORT);
            let list = list.map_err(wrong)?;
            let (master, database) = list.path.split_once('/').unwrap_or((list.path, ""));
            if master.is_empty() {
                return Err(wrong("the master's name is missing: …/mymaster"));
            }
            let topology = RedisTopology::Sentinels {
                sentinels: list.servers,
                master: master.into(),
            };
            let mut settings = Self::with_topology(topology).with_user(list.user);
            settings.database = parse_database(database).map_err(wrong)?;
            return Ok(settings);
        }
        Self::from_one_url(text)
    }

    fn from_one_url(text: &str) -> Result<Self, StoreError> {
        let wrong = |why| StoreError::Address {
            address: without_userinfo(text),
            why,
        };
        let url = Url::parse(text).map_err(|_| wrong("it is not a URL"))?;
        if url.password().is_some() {
            return Err(wrong(NO_PASSWORD));
        }
        let (address, database) = match url.scheme() {
            "unix" => (Address::Unix(url.path().into()), database_in_query(&url)),
            scheme @ ("redis" | "rediss") => {
                let host = url.host_str().filter(|h| !h.is_empty());
                let host = host.ok_or(wrong("it has no host"))?;
                let host = host.trim_matches(['[', ']']).to_owned();
                let port = url.port().unwrap_or(PORT);
                let address = Address::from_parts(host, port, scheme == "rediss");
                (address, url.path().trim_matches('/').to_owned())
            }
            _ => {
                let why = "it does not begin with redis:, rediss:, unix:, redis+cluster: or \
                           redis+sentinel:";
                return Err(wrong(why));
            }
        };
        let mut settings = Self::new(address).with_user(Some(url.username()));
        settings.database = parse_database(&database).map_err(wrong)?;
        Ok(settings)
    }

    fn with_user(mut self, user: Option<&str>) -> Self {
        self.user = user.filter(|user| !user.is_empty()).map(str::to_owned);
        self
    }

    pub fn new(address: Address) -> Self {
        Self::with_topology(RedisTopology::One(address))
    }

    pub fn with_topology(topology: RedisTopology) -> Self {
        Self {
            topology,
            user: None,
            password: None,
            sentinel_user: None,
            sentinel_password: None,
            database: 0,
            prefix: String::new(),
            connect: Duration::from_secs(2),
            answer: Duration::from_secs(1),
            heartbeat: Duration::from_secs(1),
            probe: Duration::from_millis(100),
            pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(2),
            clock: Arc::new(SystemTime::now),
            tls: None,
        }
    }

    /// Sets the certificate authorities for a `rediss:` server; those of the system are the
    /// default.
    pub fn trust(&mut self, roots: Roots) -> Result<(), StoreError> {
        let client = Client::new(roots, None).map_err(|e| StoreError::Tls(Arc::new(e)))?;
        self.tls = Some(Arc::new(client));
        Ok(())
    }

    pub(super) fn has_several_servers(&self) -> bool {
        !matches!(self.topology, RedisTopology::One(_))
    }

    pub(super) fn tls(&self) -> Result<Arc<Client>, StoreError> {
        match &self.tls {
            Some(client) => Ok(client.clone()),
            None => Client::new(Roots::System, None)
                .map(Arc::new)
                .map_err(|e| StoreError::Tls(Arc::new(e))),
        }
    }
}

/// What follows `://` in an address of several servers.
struct ServerList<'a> {
    user: Option<&'a str>,
    servers: Vec<Address>,
    path: &'a str,
}

impl<'a> ServerList<'a> {
    fn parse(text: &'a str, tls: bool, usual_port: u16) -> Result<Self, &'static str> {
        let (hosts, path) = text.split_once('/').unwrap_or((text, ""));
        let (user, hosts) = match hosts.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(NO_PASSWORD),
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, hosts),
        };
        let server = |text: &str| {
            let (host, port) = match text.rsplit_once(':') {
                Some((host, port)) if !port.contains(']') => {
                    (host, port.parse().map_err(|_| "a port is not a number")?)
                }
                _ => (text, usual_port),
            };
            let host = host.trim_matches(['[', ']']);
            if host.is_empty() {
                return Err("a server has no host");
            }
            Ok(Address::from_parts(host.into(), port, tls))
        };
        Ok(Self {
            user,
            servers: hosts.split(',').map(server).collect::<Result<_, _>>()?,
            path: path.trim_end_matches('/'),
        })
    }
}

impl Address {
    pub(super) fn from_parts(host: String, port: u16, tls: bool) -> Self {
        if tls {
            Self::Tls { host, port }
        } else {
            Self::Tcp { host, port }
        }
    }

    /// The address of another server, from the host and port that this one reports. Some servers do
    /// not report their own host.
    pub(super) fn named(&self, host: &[u8], port: u16) -> Option<Self> {
        let (own, tls) = match self {
            Self::Tcp { host, .. } => (host, false),
            Self::Tls { host, .. } => (host, true),
            Self::Unix(_) => return None,
        };
        let host = match host {
            b"" => own,
            b"?" => return None,
            host => str::from_utf8(host).ok()?,
        };
        Some(Self::from_parts(host.into(), port, tls))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => write!(f, "redis://{}:{port}", bracketed(host)),
            Self::Tls { host, port } => write!(f, "rediss://{}:{port}", bracketed(host)),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings")
            .field("topology", &self.topology)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.into()
    }
}

fn parse_database(text: &str) -> Result<u32, &'static str> {
    match text {
        "" => Ok(0),
        number => number.parse().map_err(|_| "the database is not a number"),
    }
}

fn database_in_query(url: &Url) -> String {
    let found = url.query_pairs().find(|(key, _)| key == "db");
    found.map_or_else(String::new, |(_, value)| value.into_owned())
}

/// The text for messages, because the userinfo can contain a password.
fn without_userinfo(text: &str) -> String {
    let (scheme, rest) = text.split_once("//").unwrap_or(("", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let whole = if scheme.is_empty() {
        rest.to_owned()
    } else {
        format!("{scheme}//{rest}")
    };
    excerpt(&whole, 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text| RedisSettings::from_url(text).unwrap();
        let plain = read("redis://alice@[::1]:7000/3");
        let address = Address::Tcp {
            host: "::1".into(),
            port: 7000,
        };
        assert_eq!(address.to_string(), "redis://[::1]:7000");
        let one = RedisTopology::One;
        assert_eq!((plain.topology, plain.database), (one(address), 3));
        assert_eq!(plain.user.as_deref(), Some("alice"));
        let tls = Address::from_parts("store".into(), 6379, true);
        assert_eq!(tls.to_string(), "rediss://store:6379");
        assert_eq!(read("rediss://store").topology, one(tls));
        let unix = read("unix:///run/redis.sock?db=2");
        assert_eq!(unix.topology, one(Address::Unix("/run/redis.sock".into())));
        assert_eq!(unix.database, 2);
    }

    #[test]
    fn addresses_of_several_servers_are_read() {
        let read = |text| RedisSettings::from_url(text).unwrap();
        let at = |host: &str, port, tls| Address::from_parts(host.into(), port, tls);
        let cluster = read("rediss+cluster://alice@a,b:7000,[::1],[::2]:7001/");
        let servers = vec![
            at("a", 6379, true),
            at("b", 7000, true),
            at("::1", 6379, true),
            at("::2", 7001, true),
        ];
        assert_eq!(cluster.topology, RedisTopology::Cluster(servers));
        assert_eq!(cluster.user.as_deref(), Some("alice"));
        let watched = read("redis+sentinel://a,b:7/mymaster/2");
        let sentinels = vec![at("a", 26379, false), at("b", 7, false)];
        let master = "mymaster".into();
        let topology = RedisTopology::Sentinels { sentinels, master };
        assert_eq!((watched.topology, watched.database), (topology, 2));
        for wrong in [
            "redis+cluster://",
            "redis+cluster://a,,b",
            "redis+cluster://a:x",
            "redis+cluster://a/1",
            "redis+sentinel://a",
            "redis+sentinel://a/m/x",
        ] {
            assert!(RedisSettings::from_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for text in [
            "redis://u:canary@h",
            "http://u:canary@h",
            "redis+cluster://u:canary@h,i",
            "redis+sentinel://u:canary@h,i/m",
            "redis://:canary@h:x",
        ] {
            let error = RedisSettings::from_url(text).unwrap_err().to_string();
            assert!(!error.contains("canary"), "{error}");
        }
        assert!(RedisSettings::from_url("redis://h/x").is_err());
        let mut settings = RedisSettings::from_url("redis://h").unwrap();
        settings.password = Some(Arc::new(Secret::new(b"canary".to_vec())));
        assert!(!format!("{settings:?}").contains("canary"));
    }
}
