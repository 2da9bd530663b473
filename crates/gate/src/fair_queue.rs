//! A queue that is served in turn by client, so that a client with many requests delays only
//! itself.

mod lock;

use std::collections::VecDeque;
use std::net::IpAddr;

pub(crate) use lock::FairLock;

/// An entry of the queue. Dropping it tells its client that it will not be served.
pub(crate) trait Waiter {
    fn client(&self) -> Option<IpAddr>;

    /// Whether the client has stopped waiting.
    fn is_gone(&self) -> bool;
}

/// Waiters by client. The client whose turn it is comes first; every client here has a waiter.
#[derive(Debug)]
pub(crate) struct FairQueue<W> {
    clients: VecDeque<WaitingClient<W>>,
    waiters: usize,
}

#[derive(Debug)]
struct WaitingClient<W> {
    client: Option<IpAddr>,
    waiters: VecDeque<W>,
}

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self {
            clients: VecDeque::new(),
            waiters: 0,
        }
    }
}

impl<W: Waiter> FairQueue<W> {
    pub(crate) fn len(&self) -> usize {
        self.waiters
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters == 0
    }

    /// Whether a client still waits.
    pub(crate) fn is_waited_for(&self) -> bool {
        let mut waiters = self.clients.iter().flat_map(|client| &client.waiters);
        waiters.any(|waiter| !waiter.is_gone())
    }

    /// Adds a waiter. If `most` wait already, removes the latest waiter of the client that has the
    /// most; returns `false` if that is the new one.
    pub(crate) fn push(&mut self, waiter: W, most: usize) -> bool {
        if self.waiters >= most {
            self.forget_gone();
        }
        let client = waiter.client();
        if self.waiters >= most && !self.make_room(client) {
            return false;
        }
        self.waiters += 1;
        match self.clients.iter_mut().find(|c| c.client == client) {
            Some(known) => known.waiters.push_back(waiter),
            None => self.clients.push_back(WaitingClient {
                client,
                waiters: VecDeque::from([waiter]),
            }),
        }
        true
    }

    /// The first waiter of the client at this position in the order of turns.
    pub(crate) fn at(&mut self, position: usize) -> Option<&W> {
        while let Some(client) = self.clients.get_mut(position) {
            while client.waiters.front().is_some_and(Waiter::is_gone) {
                client.waiters.pop_front();
                self.waiters -= 1;
            }
            if !client.waiters.is_empty() {
                break;
            }
            self.clients.remove(position);
        }
        self.clients.get(position)?.waiters.front()
    }

    /// Removes the waiter at this position. The other clients then have their turns first.
    pub(crate) fn pop(&mut self, position: usize) -> Option<W> {
        let mut client = self.clients.remove(position)?;
        let waiter = client.waiters.pop_front();
        self.waiters -= usize::from(waiter.is_some());
        if !client.waiters.is_empty() {
            self.clients.push_back(client);
        }
        waiter
    }

    fn forget_gone(&mut self) {
        self.clients.retain_mut(|client| {
            client.waiters.retain(|waiter| !waiter.is_gone());
            !client.waiters.is_empty()
        });
        self.waiters = self.clients.iter().map(|client| client.waiters.len()).sum();
    }

    fn make_room(&mut self, newcomer: Option<IpAddr>) -> bool {
        let own = self.clients.iter().find(|c| c.client == newcomer);
        let own = own.map_or(0, |client| client.waiters.len());
        let most = self.clients.iter_mut().max_by_key(|c| c.waiters.len());
        match most {
            Some(most) if most.waiters.len() > own + 1 => {
                most.waiters.pop_back();
                self.waiters -= 1;
                true
            }
            _ => false,
        }
    }
}
