//! Fetches a JWK Set from a URL: one GET over a separate connection, with a deadline and a size
//! limit. Redirects are not followed.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use roundtrip_fetch::pool::{Deadlines, Pool, PoolRequest, Settings};
use roundtrip_model::{Scheme, Target, excerpt};
use roundtrip_tls::Roots;
use tokio::time::timeout;

use crate::GateError;
use crate::error::FetchError;

/// The time limit from the name lookup to the answer's last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Real sets are smaller.
const MAX_SET_SIZE: u64 = 256 * 1024;

pub(in crate::judge) struct JwksSource {
    target: Target,
    pool: Pool,
}

impl JwksSource {
    pub(in crate::judge) fn new(url: &str, ca: Option<&Path>) -> Result<Self, GateError> {
        Self::made(url, ca).map_err(|source| GateError::Fetch {
            url: shown(url),
            source: Box::new(source),
        })
    }

    fn made(url: &str, ca: Option<&Path>) -> Result<Self, FetchError> {
        let (target, pool) = trusted_pool(url, ca)?;
        Ok(Self { target, pool })
    }

    pub(in crate::judge) async fn fetch(&self) -> Result<Vec<u8>, GateError> {
        self.get().await.map_err(|source| GateError::Fetch {
            url: self.target.redacted(),
            source: Box::new(source),
        })
    }

    async fn get(&self) -> Result<Vec<u8>, FetchError> {
        let mut request = PoolRequest::new(self.target.clone());
        request.headers = vec![("Accept".into(), "application/json".into())];
        request.limit = MAX_SET_SIZE;
        let fetched = timeout(FETCH_TIMEOUT, self.pool.fetch(&request)).await;
        let reply = fetched.map_err(|_| FetchError::TimedOut(FETCH_TIMEOUT))??;
        match reply.status {
            200 => Ok(reply.body.to_vec()),
            other => Err(FetchError::Status(other)),
        }
    }
}

/// A pool for a server whose answers no one on the path can change: over TLS, or on this machine.
/// Nothing is kept from one request to the next.
pub(in crate::judge) fn trusted_pool(
    url: &str,
    ca: Option<&Path>,
) -> Result<(Target, Pool), FetchError> {
    trusted_pool_within(url, ca, FETCH_TIMEOUT)
}

/// Like [`trusted_pool`], with another time limit for an answer.
pub(in crate::judge) fn trusted_pool_within(
    url: &str,
    ca: Option<&Path>,
    total: Duration,
) -> Result<(Target, Pool), FetchError> {
    let target = Target::parse(url)?;
    if target.userinfo().is_some() {
        return Err(FetchError::Userinfo);
    }
    let roots = match target.scheme {
        Scheme::Https => ca.map_or(Roots::System, |path| Roots::File(path.into())),
        Scheme::Http if is_here(&target.host_name()) => Roots::Empty,
        _ => return Err(FetchError::Clear),
    };
    let settings = Settings {
        roots,
        deadlines: Deadlines {
            connect: FETCH_TIMEOUT,
            first_byte: total,
            idle: total,
            total,
        },
        ..Settings::default()
    };
    let pool = Pool::new(settings.without_reuse())?;
    Ok((target, pool))
}

fn is_here(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

/// The host, because the URL may contain a password by mistake.
fn shown(url: &str) -> String {
    let host = url.rsplit_once('@').map_or(url, |(_, host)| host);
    excerpt(host, 80)
}
