//! Decides which request the login service answers next. Anyone can send them, each can take as
//! long as the provider does, and none may delay those of other clients.

use std::collections::HashMap;
use std::net::IpAddr;

use tokio::sync::oneshot;

use crate::fair_queue::{FairQueue, Waiter};
use crate::judge::login::{LoginReply, LoginRequest};

/// The number of requests that are answered at once, in total and for one client. Each may cost the
/// provider a request.
const MAX_AT_ONCE: usize = 256;
const MAX_PER_CLIENT: usize = 16;
/// The largest number of waiting requests; beyond that, the client with the most of them is told to
/// try again later.
const MAX_WAITING: usize = 1024;

pub(super) struct PendingLogin {
    pub(super) asked: LoginRequest,
    pub(super) body: Vec<u8>,
    pub(super) reply: oneshot::Sender<LoginReply>,
}

impl Waiter for PendingLogin {
    fn client(&self) -> Option<IpAddr> {
        self.asked.client
    }

    fn is_gone(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Decides the order of requests. Call [`Self::next`] after each [`Self::push`] and each
/// [`Self::ended`], until it is `None`.
#[derive(Default)]
pub(super) struct LoginTurns {
    waiting: FairQueue<PendingLogin>,
    /// Requests that are being answered, by client.
    running: HashMap<Option<IpAddr>, usize>,
    total: usize,
}

impl LoginTurns {
    pub(super) fn push(&mut self, pending: PendingLogin) {
        // If there is no room, the request is dropped, which its client is told.
        let _ = self.waiting.push(pending, MAX_WAITING);
    }

    /// The next one to answer.
    pub(super) fn next(&mut self) -> Option<PendingLogin> {
        if self.total >= MAX_AT_ONCE {
            return None;
        }
        let mut position = 0;
        loop {
            let client = self.waiting.at(position)?.client();
            let running = self.running.entry(client).or_default();
            // A trusted proxy that names no client speaks for many clients.
            if client.is_none() || *running < MAX_PER_CLIENT {
                *running += 1;
                self.total += 1;
                return self.waiting.pop(position);
            }
            position += 1;
        }
    }

    /// A request of this client was answered.
    pub(super) fn ended(&mut self, client: Option<IpAddr>) {
        self.total = self.total.saturating_sub(1);
        if let Some(running) = self.running.get_mut(&client) {
            *running = running.saturating_sub(1);
            if *running == 0 {
                self.running.remove(&client);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::login::LoginOrder;
    use crate::judge::request::Body;

    fn pending(client: Option<u8>) -> (PendingLogin, oneshot::Receiver<LoginReply>) {
        let (reply, replied) = oneshot::channel();
        let asked = LoginRequest {
            order: LoginOrder::LogOut { session: None },
            client: client.map(|n| IpAddr::from([192, 0, 2, n])),
            body: Body::None,
            stays: true,
            frames: true,
        };
        let body = Vec::new();
        (PendingLogin { asked, body, reply }, replied)
    }

    #[test]
    fn one_client_delays_no_other() {
        let mut turns = LoginTurns::default();
        let mut replies = Vec::new();
        for _ in 0..2 * MAX_WAITING {
            let (flood, reply) = pending(Some(1));
            turns.push(flood);
            replies.push(reply);
        }
        let first: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(first.len(), MAX_PER_CLIENT);
        let (other, mut heard) = pending(Some(2));
        turns.push(other);
        assert_eq!(turns.next().unwrap().client(), Some([192, 0, 2, 2].into()));
        assert!(turns.next().is_none());
        // Only requests of the client that floods were refused.
        let refused = replies.iter_mut().filter_map(|r| r.try_recv().err());
        let refused = refused.filter(|e| *e == oneshot::error::TryRecvError::Closed);
        assert_eq!(refused.count(), MAX_WAITING);
        assert!(heard.try_recv().is_err());
        turns.ended(Some([192, 0, 2, 1].into()));
        assert_eq!(turns.next().unwrap().client(), Some([192, 0, 2, 1].into()));
        assert!(turns.next().is_none());
    }

    #[test]
    fn all_together_are_bounded() {
        let mut turns = LoginTurns::default();
        let mut replies = Vec::new();
        for n in 0..=u8::MAX {
            for _ in 0..4 {
                let (one, reply) = pending((n > 0).then_some(n));
                turns.push(one);
                replies.push(reply);
            }
        }
        let mut running: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(running.len(), MAX_AT_ONCE);
        drop(replies);
        for one in running.drain(..) {
            turns.ended(one.client());
        }
        assert!(turns.next().is_none(), "all have gone");
        assert!(turns.is_empty() && turns.running.is_empty());
    }
}
