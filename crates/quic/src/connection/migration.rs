//! Ways that change: a peer that moves or is moved by a NAT, and a client that moves itself. RFC 9000 §9.

use std::net::IpAddr;
use std::time::Duration;

use roundtrip_wire::quic::Side;

use super::Connection;
use super::paths::Path;
use crate::{Event, Time, Way};

impl Connection {
    /// A client goes on from another address; false where the peer forbids it, or has given no id to do so unseen.
    /// RFC 9000 §9.5.
    pub fn migrate(&mut self, now: Time, local: Option<IpAddr>) -> bool {
        let may = self.side == Side::Client
            && self.handshake.is_confirmed
            && self.config.migration
            && !self.handshake.peer_forbids_migration
            && self.remote_ids.renew(&mut self.control.retired);
        if !may {
            return false;
        }
        self.clock = now;
        // The server's address is known to be its own: no limit to what is sent there.
        let mut path = Path::new(self.paths.active.remote, local, true);
        path.challenge(now.after(self.patience()));
        self.paths.active = path;
        // What is no probe makes the server follow.
        self.control.ping = true;
        self.begin_anew();
        self.stats.migrations += 1;
        true
    }

    /// It came to an address that this client has left: what is in use now must not be seen there. RFC 9000 §9.5.
    pub(super) fn has_left(&self, way: &Way) -> bool {
        self.side == Side::Client
            && matches!((way.local, self.paths.active.local), (Some(came), Some(own)) if came != own)
    }

    /// The newest packet came from elsewhere: the peer has moved. RFC 9000 §9.3.
    pub(super) fn on_moved(&mut self, now: Time, way: &Way) {
        let is_return = self
            .paths
            .previous
            .as_ref()
            .is_some_and(|previous| previous.remote == way.remote && previous.validated);
        let is_elsewhere = way.remote.ip() != self.paths.active.remote.ip();
        let mut path = Path::new(way.remote, way.local, is_return);
        path.on_received(self.datagram_received);
        let deadline = now.after(self.patience());
        if !is_return {
            path.challenge(deadline);
        }
        let mut left = std::mem::replace(&mut self.paths.active, path);
        if left.validated {
            // If the peer never left, then it answers there. RFC 9000 §9.3.3.
            left.challenge(deadline);
            self.paths.previous = Some(left);
        }
        if is_return {
            self.paths.previous = None;
        }
        // A NAT that changes only the port changes nothing else of the path. RFC 9000 §9.4.
        if is_elsewhere {
            if self.remote_ids.has_spare() {
                self.remote_ids.renew(&mut self.control.retired);
            }
            self.begin_anew();
        }
        self.stats.migrations += 1;
        if is_return {
            self.tell(Event::PathChanged(way.remote));
        }
    }

    /// How long an answer from a path is waited for, of which nothing is known. RFC 9000 §8.2.4, RFC 9002 §6.2.2.
    fn patience(&self) -> Duration {
        3 * self.recovery.pto().max(3 * self.config.initial_rtt)
    }

    /// Nothing is known of the new path. RFC 9000 §9.4.
    fn begin_anew(&mut self) {
        let remote = self.paths.active.remote.ip();
        self.recovery.on_new_path(&self.config, remote);
    }

    pub(super) fn on_path_response(&mut self, data: [u8; 8]) {
        if self.paths.active.on_response(data) {
            self.paths.previous = None;
            self.recovery.set_blocked(false);
            self.tell(Event::PathChanged(self.paths.active.remote));
        } else if let Some(previous) = &mut self.paths.previous {
            // Who is still there shows it by its next packet; until then, it is not followed back.
            previous.on_response(data);
        }
    }

    /// A challenge got no answer. RFC 9000 §8.2.4 and §9.3.2.
    pub(super) fn on_path_timeout(&mut self, now: Time) {
        if self.paths.active.has_failed(now) {
            self.paths.active.give_up_challenge();
            if let Some(previous) = self.paths.previous.take() {
                let is_elsewhere = previous.remote.ip() != self.paths.active.remote.ip();
                self.paths.active = previous;
                self.paths.active.give_up_challenge();
                self.recovery.set_blocked(false);
                if is_elsewhere {
                    self.begin_anew();
                }
            }
        }
        if let Some(previous) = &mut self.paths.previous
            && previous.has_failed(now)
        {
            previous.give_up_challenge();
        }
    }
}
