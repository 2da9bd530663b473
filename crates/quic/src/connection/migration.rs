//! Moves to another path: of a peer, on its own or through a NAT, and of a client. RFC 9000 §9.

use std::net::IpAddr;
use std::time::Duration;

use roundtrip_wire::quic::Side;

use super::Connection;
use super::receiving::Datagram;
use crate::{Event, Time};

impl Connection {
    /// Continues from another address, as a client. Returns false if the server forbids it, or has
    /// given no spare id that would keep the move unlinkable. RFC 9000 §9.5.
    pub fn migrate(&mut self, now: Time, local: Option<IpAddr>) -> bool {
        let may = self.handshake.side() == Side::Client
            && self.handshake.is_confirmed()
            && self.config.migration
            && !self.handshake.peer_forbids_migration()
            && self.remote_ids.renew();
        if !may {
            return false;
        }
        self.clock = now;
        let deadline = now.after(self.validation_timeout());
        self.paths.migrate(local, deadline);
        // The server follows any packet that does not only probe the path.
        self.control.ping();
        self.begin_on_path(None);
        self.stats.migrations += 1;
        true
    }

    /// The newest packet, which was addressed to our id `destination`, came from elsewhere: the
    /// peer has moved. RFC 9000 §9.3.
    pub(super) fn on_moved(&mut self, datagram: &Datagram<'_>, destination: &[u8]) {
        let Datagram { now, way } = *datagram;
        if !self.paths.may_move(now, way) {
            return;
        }
        let left = self.paths.remote().ip();
        let deadline = now.after(self.validation_timeout());
        let settled = now.after(self.recovery.pto());
        let moved = self.paths.on_moved(way, deadline, settled);
        // A peer that moves on purpose takes another id, and must not be recognized by ours. RFC
        // 9000 §9.5.
        let took_another = self.local_ids.is_another(destination);
        if moved.is_elsewhere || took_another {
            // Without a spare id, the one in use stays.
            self.remote_ids.renew();
        }
        // A NAT that changes only the port changes nothing else about the path. RFC 9000 §9.4.
        if moved.is_elsewhere {
            self.begin_on_path(Some(left));
        }
        self.stats.migrations += 1;
        if moved.is_return {
            self.events.push(Event::PathChanged(way.remote));
        }
    }

    /// How long to wait for an answer from an unknown path. RFC 9000 §8.2.4, RFC 9002 §6.2.2.
    fn validation_timeout(&self) -> Duration {
        3 * self.recovery.pto().max(3 * self.config.initial_rtt)
    }

    /// Nothing is known about the new path, unless it leads to the address used before `left`. RFC
    /// 9000 §9.4.
    fn begin_on_path(&mut self, left: Option<IpAddr>) {
        let remote = self.paths.remote().ip();
        self.recovery
            .on_new_path(&self.config, self.clock, left, remote);
    }

    pub(super) fn on_path_response(&mut self, data: [u8; 8]) {
        let again = self.clock.after(self.validation_timeout());
        if self.paths.on_response(data, again) {
            self.recovery.set_blocked(false);
            self.events.push(Event::PathChanged(self.paths.remote()));
        }
    }

    /// A challenge got no answer. RFC 9000 §8.2.4 and §9.3.2.
    pub(super) fn on_path_timeout(&mut self, now: Time) {
        let left = self.paths.remote().ip();
        if let Some(moved) = self.paths.on_timeout(now) {
            self.recovery.set_blocked(false);
            if moved.is_elsewhere {
                self.begin_on_path(Some(left));
            }
        }
    }
}
