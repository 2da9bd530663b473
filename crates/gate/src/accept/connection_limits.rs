//! Counts connections, in total and for each client, over all threads.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::accept::concurrency::Concurrency;
use crate::config::Limits;
use crate::judge::original_client::network;
use crate::record::Limit;

#[derive(Debug, Default)]
pub(crate) struct ConnectionLimits {
    heads: Mutex<OpenCounts>,
    exchanges: Arc<Concurrency>,
}

#[derive(Debug, Default)]
struct OpenCounts {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    connection_limits: Arc<ConnectionLimits>,
    /// `None` for a proxy that speaks for many clients.
    client: Option<IpAddr>,
}

impl ConnectionLimits {
    pub(crate) fn exchanges(&self) -> &Arc<Concurrency> {
        &self.exchanges
    }

    /// Returns the limit that one more connection would exceed; counts nothing.
    pub(crate) fn look(&self, client: IpAddr, limits: &Limits) -> Result<(), Limit> {
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.look(client, limits)
    }

    /// Counts a connection, or returns the limit that it would exceed.
    pub(crate) fn admit(
        self: &Arc<Self>,
        client: IpAddr,
        limits: &Limits,
    ) -> Result<ConnectionPermit, Limit> {
        let mut permit = self.admit_proxy(limits)?;
        permit.count_for(client, limits)?;
        Ok(permit)
    }

    /// Admits a proxy's connection. It counts for no client, unless the proxy names one.
    pub(crate) fn admit_proxy(
        self: &Arc<Self>,
        limits: &Limits,
    ) -> Result<ConnectionPermit, Limit> {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if heads.all >= limits.connections {
            return Err(Limit::Connections);
        }
        heads.all += 1;
        Ok(ConnectionPermit {
            connection_limits: self.clone(),
            client: None,
        })
    }

    #[cfg(test)]
    fn all(&self) -> usize {
        self.heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all
    }
}

impl ConnectionPermit {
    /// Counts the connection for this client, or returns the limit that it would exceed.
    pub(crate) fn count_for(&mut self, client: IpAddr, limits: &Limits) -> Result<(), Limit> {
        let heads = &self.connection_limits.heads;
        let mut heads = heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.look_at(client, limits)?;
        *heads.of.entry(network(client)).or_default() += 1;
        self.client = Some(client);
        Ok(())
    }
}

impl OpenCounts {
    fn look(&self, client: IpAddr, limits: &Limits) -> Result<(), Limit> {
        if self.all >= limits.connections {
            return Err(Limit::Connections);
        }
        self.look_at(client, limits)
    }

    fn look_at(&self, client: IpAddr, limits: &Limits) -> Result<(), Limit> {
        let of_client = self.of.get(&network(client)).copied().unwrap_or_default();
        if of_client >= limits.connections_per_client {
            return Err(Limit::ConnectionsPerClient);
        }
        Ok(())
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut heads = self
            .connection_limits
            .heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        heads.all = heads.all.saturating_sub(1);
        let Some(client) = self.client.map(network) else {
            return;
        };
        if let Some(of_client) = heads.of.get_mut(&client) {
            *of_client = of_client.saturating_sub(1);
            if *of_client == 0 {
                heads.of.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_share_and_all_together_have_theirs() {
        let connection_limits = Arc::new(ConnectionLimits::default());
        let limits = Limits {
            connections: 3,
            connections_per_client: 2,
            ..Limits::default()
        };
        let admit = |client: &str| connection_limits.admit(client.parse().unwrap(), &limits);
        let first = admit("2001:db8::1").unwrap();
        let _second = admit("2001:db8::2").unwrap();
        assert_eq!(
            admit("2001:db8::3").unwrap_err(),
            Limit::ConnectionsPerClient
        );
        let _other = admit("::ffff:192.0.2.1").unwrap();
        assert_eq!(admit("192.0.2.2").unwrap_err(), Limit::Connections);
        let client = "2001:db8::4".parse().unwrap();
        assert!(connection_limits.look(client, &limits).is_err());
        drop(first);
        for _ in 0..3 {
            assert!(connection_limits.look(client, &limits).is_ok());
        }
        let _third = admit("2001:db8::3").unwrap();
        assert_eq!(connection_limits.all(), 3);
    }

    #[test]
    fn a_client_that_has_gone_is_forgotten() {
        let connection_limits = Arc::new(ConnectionLimits::default());
        let limits = Limits::default();
        let place = connection_limits
            .admit("192.0.2.1".parse().unwrap(), &limits)
            .unwrap();
        drop(place);
        assert!(connection_limits.heads.lock().unwrap().of.is_empty());
        assert_eq!(connection_limits.all(), 0);
    }
}
