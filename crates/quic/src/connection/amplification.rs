//! Counts the bytes from and to each address that is not validated: at most three times the
//! received bytes may be sent. RFC 9000 §8.

use std::net::SocketAddr;

/// The limit for an unvalidated address: this many times the bytes that came from it. RFC 9000
/// §8.1.
const AMPLIFICATION: u64 = 3;
/// How many addresses are remembered. A forgotten address loses its remaining credit, so the sum
/// stays within the bound.
const MAX_ADDRESSES: usize = 8;

#[derive(Debug, Clone, Copy)]
struct AddressCredit {
    remote: SocketAddr,
    received: u64,
    sent: u64,
}

/// The unvalidated addresses of one connection. Every datagram to or from one of them is counted
/// here, whatever it contains.
#[derive(Debug, Default)]
pub(super) struct Amplification {
    /// The credit of each address; the one that sent most recently is last.
    accounts: Vec<AddressCredit>,
}

impl Amplification {
    pub(super) fn on_received(&mut self, remote: SocketAddr, bytes: usize) {
        let found = self.accounts.iter().position(|a| a.remote == remote);
        let mut account = match found {
            Some(at) => self.accounts.remove(at),
            None => AddressCredit {
                remote,
                received: 0,
                sent: 0,
            },
        };
        account.received = account.received.saturating_add(bytes as u64);
        if self.accounts.len() >= MAX_ADDRESSES {
            self.accounts.remove(0);
        }
        self.accounts.push(account);
    }

    pub(super) fn on_sent(&mut self, remote: SocketAddr, bytes: usize) {
        if let Some(account) = self.accounts.iter_mut().find(|a| a.remote == remote) {
            account.sent = account.sent.saturating_add(bytes as u64);
        }
    }

    /// How many bytes may still be sent there.
    pub(super) fn credit(&self, remote: SocketAddr) -> usize {
        let account = self.accounts.iter().find(|a| a.remote == remote);
        let credit = account.map_or(0, |account| {
            let most = account.received.saturating_mul(AMPLIFICATION);
            most.saturating_sub(account.sent)
        });
        usize::try_from(credit).unwrap_or(usize::MAX)
    }

    /// The address is validated.
    pub(super) fn forget(&mut self, remote: SocketAddr) {
        self.accounts.retain(|account| account.remote != remote);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([203, 0, 113, 1], port))
    }

    #[test]
    fn no_address_gets_more_than_three_times_what_it_gave_however_many_there_are() {
        let mut amplification = Amplification::default();
        let mut sums = [[0_usize; 2]; 20];
        for round in 0..2000_usize {
            let which = round * round % 20;
            let remote = address(which as u16);
            amplification.on_received(remote, 50);
            sums[which][0] += 50;
            let other = round * 7 % 20;
            let credit = amplification.credit(address(other as u16)).min(100);
            amplification.on_sent(address(other as u16), credit);
            sums[other][1] += credit;
            assert!(sums[other][1] <= 3 * sums[other][0]);
        }
        assert!(amplification.accounts.len() <= MAX_ADDRESSES);
        assert!(sums.iter().any(|[_, sent]| *sent > 0));
    }
}
