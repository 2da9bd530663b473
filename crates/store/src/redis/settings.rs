//! The Redis server, and how to connect to it. `Debug` shows no secret.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_model::WallClock;
use roundtrip_tls::{Client, Roots, Secret};
use url::Url;

use crate::StoreError;

const PORT: u16 = 6379;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Tls { host: String, port: u16 },
    Unix(PathBuf),
}

#[derive(Clone)]
pub struct RedisSettings {
    pub address: Address,
    pub user: Option<String>,
    pub password: Option<Arc<Secret>>,
    pub database: u32,
    /// The prefix of every name; also limits which changes the server reports.
    pub prefix: String,
    /// The time-out from the first packet to the end of the handshakes.
    pub connect: Duration,
    /// The time-out of each answer. A connection that misses it is closed, and its answers are
    /// forgotten.
    pub answer: Duration,
    /// The time without traffic after which a ping is sent. With `answer`, this bounds how long a
    /// silently cut connection goes unnoticed.
    pub heartbeat: Duration,
    /// The pause after a failed connect. If the server refuses us, each further pause is twice as
    /// long, up to `longest_pause`. After an outage it stays short, because a session that is
    /// revoked as soon as the server is back can be served for that much longer.
    pub pause: Duration,
    pub longest_pause: Duration,
    pub clock: Arc<dyn WallClock + Send + Sync>,
    tls: Option<Arc<Client>>,
}

impl RedisSettings {
    /// Parses `redis://[user@]host[:port][/database]`, `rediss://…` (TLS), or `unix:/path[?db=n]`.
    /// Refuses an address that contains a password.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let wrong = |why| StoreError::Address {
            address: without_userinfo(text),
            why,
        };
        let url = Url::parse(text).map_err(|_| wrong("it is not a URL"))?;
        if url.password().is_some() {
            return Err(wrong("a password belongs in a file or the environment"));
        }
        let (address, database) = match url.scheme() {
            "unix" => (Address::Unix(url.path().into()), database_in_query(&url)),
            scheme @ ("redis" | "rediss") => {
                let host = url.host_str().filter(|h| !h.is_empty());
                let host = host.ok_or(wrong("it has no host"))?;
                let host = host.trim_matches(['[', ']']).to_owned();
                let port = url.port().unwrap_or(PORT);
                let address = if scheme == "redis" {
                    Address::Tcp { host, port }
                } else {
                    Address::Tls { host, port }
                };
                (address, url.path().trim_matches('/').to_owned())
            }
            _ => return Err(wrong("it does not begin with redis:, rediss: or unix:")),
        };
        let database = match database.as_str() {
            "" => 0,
            number => number
                .parse()
                .map_err(|_| wrong("the database is not a number"))?,
        };
        let mut settings = Self::new(address);
        settings.database = database;
        settings.user = Some(url.username().to_owned()).filter(|u| !u.is_empty());
        Ok(settings)
    }

    pub fn new(address: Address) -> Self {
        Self {
            address,
            user: None,
            password: None,
            database: 0,
            prefix: String::new(),
            connect: Duration::from_secs(2),
            answer: Duration::from_secs(1),
            heartbeat: Duration::from_secs(1),
            pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(2),
            clock: Arc::new(SystemTime::now),
            tls: None,
        }
    }

    /// Sets the certificate authorities for a `rediss:` server; the system's are the default.
    pub fn trust(&mut self, roots: Roots) -> Result<(), StoreError> {
        let client = Client::new(roots, None).map_err(|e| StoreError::Tls(Arc::new(e)))?;
        self.tls = Some(Arc::new(client));
        Ok(())
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
            .field("address", &self.address)
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

fn database_in_query(url: &Url) -> String {
    let found = url.query_pairs().find(|(key, _)| key == "db");
    found.map_or_else(String::new, |(_, value)| value.into_owned())
}

/// For messages: the userinfo can contain a password.
fn without_userinfo(text: &str) -> String {
    let (scheme, rest) = text.split_once("//").unwrap_or(("", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let whole = if scheme.is_empty() {
        rest.to_owned()
    } else {
        format!("{scheme}//{rest}")
    };
    whole.chars().take(80).collect()
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
        assert_eq!((&plain.address, plain.database), (&address, 3));
        assert_eq!(plain.user.as_deref(), Some("alice"));
        assert_eq!(plain.address.to_string(), "redis://[::1]:7000");
        assert_eq!(
            read("rediss://store").address.to_string(),
            "rediss://store:6379"
        );
        let unix = read("unix:///run/redis.sock?db=2");
        assert_eq!(unix.address, Address::Unix("/run/redis.sock".into()));
        assert_eq!(unix.database, 2);
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for text in [
            "redis://u:canary@h",
            "http://u:canary@h",
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
