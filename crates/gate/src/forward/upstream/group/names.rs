//! The servers' addresses: names are looked up before they are needed, and again while they are
//! used.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_net::Wanted;
use tokio::time::sleep;

use super::{Group, GroupServer};
use crate::forward::upstream::address::Host;
use crate::forward::upstream::error::UpstreamError;

const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// The interval between lookups as long as no address is known.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The largest number of addresses that are tried.
const MAX_ADDRESSES: usize = 8;

/// A server's addresses, as last looked up.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    addresses: Arc<[SocketAddr]>,
    /// Why there are no addresses.
    trouble: Option<Arc<str>>,
}

impl Resolved {
    pub(super) fn to(addresses: &[SocketAddr]) -> Self {
        Self {
            addresses: addresses.into(),
            trouble: None,
        }
    }
}

impl Group {
    pub(super) async fn keep_named(&self, server: usize) {
        let Some(server) = self.servers.get(server) else {
            return;
        };
        let Host::Name(name) = &server.address.host else {
            return;
        };
        loop {
            let found = self.look_up(name, server.address.port).await;
            let pause = if found.addresses.is_empty() {
                RETRY_INTERVAL
            } else {
                RESOLVE_INTERVAL
            };
            server.resolved.send_if_modified(|known| {
                // Old addresses are better than none.
                let better = !found.addresses.is_empty() || known.addresses.is_empty();
                if better {
                    *known = found;
                }
                better
            });
            sleep(pause).await;
        }
    }

    async fn look_up(&self, name: &str, port: u16) -> Resolved {
        let wanted = Wanted {
            v4: true,
            v6: true,
            https: None,
        };
        let found = match (self.resolver)() {
            Ok(resolver) => resolver.look_up(name, wanted).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                let addresses = found.addresses.iter().take(MAX_ADDRESSES);
                let addresses: Vec<SocketAddr> = addresses.map(|ip| (*ip, port).into()).collect();
                Resolved::to(&addresses)
            }
            Err(error) => Resolved {
                addresses: Arc::default(),
                trouble: Some(error.to_string().into()),
            },
        }
    }
}

impl GroupServer {
    /// Returns at once, unless the name was never looked up. The caller has a deadline.
    pub(super) async fn addresses(&self) -> Result<Arc<[SocketAddr]>, UpstreamError> {
        let mut resolved = self.resolved.subscribe();
        let known =
            |resolved: &Resolved| !resolved.addresses.is_empty() || resolved.trouble.is_some();
        let unnamed = |why: Arc<str>| UpstreamError::Unnamed {
            server: self.shown.clone(),
            why,
        };
        match resolved.wait_for(known).await {
            Ok(resolved) if !resolved.addresses.is_empty() => Ok(resolved.addresses.clone()),
            Ok(resolved) => Err(unnamed(resolved.trouble.clone().unwrap_or_default())),
            Err(_) => Err(unnamed("it is not being looked up".into())),
        }
    }
}
