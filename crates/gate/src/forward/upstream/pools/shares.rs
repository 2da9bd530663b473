//! Counts how many connections each client holds for as long as it likes. No client gets more than
//! is left: a client alone gets half, and the more clients there are, the less each gets. So a
//! client that holds none nearly always finds one.

use std::collections::HashMap;
use std::net::IpAddr;

/// A client that is alone gets seven of eight.
const GENEROUS: usize = 7;

#[derive(Debug, Default)]
pub(super) struct Shares {
    held: HashMap<IpAddr, usize>,
    total: usize,
}

impl Shares {
    /// Whether this client may hold one more, if all clients together may hold `most`. An unknown
    /// client may hold all of them.
    pub(super) fn admits(&self, client: Option<IpAddr>, most: usize) -> bool {
        let held = client.and_then(|client| self.held.get(&client));
        held.copied().unwrap_or(0) < most.saturating_sub(self.total)
    }

    /// Whether this client may hold one more of something that every request needs: it may unless
    /// it holds `GENEROUS` times what is left. The caller checks whether any is left.
    pub(super) fn leaves_some(&self, client: Option<IpAddr>, most: usize) -> bool {
        let enough = GENEROUS * most.saturating_sub(self.total);
        // Usually there is no need to look.
        if enough == 0 || self.total < enough {
            return true;
        }
        let held = client.and_then(|client| self.held.get(&client));
        held.copied().unwrap_or(0) < enough
    }

    pub(super) fn take(&mut self, client: Option<IpAddr>) {
        self.total += 1;
        if let Some(client) = client {
            *self.held.entry(client).or_default() += 1;
        }
    }

    pub(super) fn give_back(&mut self, client: Option<IpAddr>) {
        self.total = self.total.saturating_sub(1);
        let Some(client) = client else { return };
        if let Some(held) = self.held.get_mut(&client) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    /// Each client takes what it gets, until no client gets any more.
    fn held(clients: u8, most: usize) -> Vec<usize> {
        let mut shares = Shares::default();
        let mut held = vec![0; usize::from(clients)];
        loop {
            let before = shares.total;
            for n in 0..clients {
                if shares.admits(Some(client(n)), most) {
                    shares.take(Some(client(n)));
                    held[usize::from(n)] += 1;
                }
            }
            assert!(shares.total <= most);
            if shares.total == before {
                return held;
            }
        }
    }

    #[test]
    fn the_more_clients_the_less_each_gets() {
        assert_eq!(held(1, 16), [8]);
        assert_eq!(held(1, 1), [1]);
        assert_eq!(held(1, 0), [0]);
        assert_eq!(held(3, 16), [4, 4, 4]);
        assert_eq!(held(20, 4).iter().sum::<usize>(), 4);
    }

    #[test]
    fn a_newcomer_finds_one_whatever_another_holds() {
        for most in 2..100 {
            let mut shares = Shares::default();
            while shares.admits(Some(client(1)), most) {
                shares.take(Some(client(1)));
            }
            assert!(shares.admits(Some(client(2)), most), "{most}");
        }
    }

    #[test]
    fn one_client_gets_nearly_all_of_what_every_request_needs() {
        for (most, expected) in [(1, 1), (7, 7), (8, 7), (256, 224)] {
            let mut shares = Shares::default();
            let mut held = 0;
            while held < most && shares.leaves_some(Some(client(1)), most) {
                shares.take(Some(client(1)));
                held += 1;
            }
            assert_eq!(held, expected);
            assert!(shares.leaves_some(Some(client(2)), most));
        }
    }

    #[test]
    fn a_returned_connection_is_free() {
        let mut shares = Shares::default();
        for client in [Some(client(1)), Some(client(1)), None] {
            shares.take(client);
        }
        assert!(!shares.admits(Some(client(1)), 5));
        assert!(shares.admits(None, 4) && !shares.admits(None, 3));
        for client in [Some(client(1)), Some(client(1)), None, None] {
            shares.give_back(client);
        }
        assert!(shares.held.is_empty() && shares.admits(Some(client(1)), 1));
    }
}
