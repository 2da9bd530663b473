//! Sessions of TLS 1.3 by server, in the order in which they were received, each with its keepsake where there is one.

use std::collections::VecDeque;
use std::fmt;
use std::time::SystemTime;

use rustls::client::Tls13ClientSessionValue;
use rustls::pki_types::ServerName;

use crate::keepsake::Keepsake;

/// The server that was met first is forgotten first.
pub(super) const MOST_SERVERS: usize = 64;
/// Of one server; the oldest is forgotten first.
const MOST_SESSIONS: usize = 8;

#[derive(Default)]
pub(super) struct Shelf {
    servers: VecDeque<(ServerName<'static>, VecDeque<Session>)>,
    next: u64,
}

struct Session {
    number: u64,
    value: Tls13ClientSessionValue,
    keepsake: Option<Keepsake>,
}

impl Shelf {
    /// The newest. Its number stands for it from now on.
    pub(super) fn insert(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
    ) -> u64 {
        let place = usize::MAX;
        self.put(name, value, None, place)
    }

    pub(super) fn complete(&mut self, name: &ServerName<'_>, number: u64, keepsake: Keepsake) {
        let sessions = self.sessions(name);
        if let Some(session) = sessions.and_then(|s| s.iter_mut().find(|s| s.number == number)) {
            session.keepsake = Some(keepsake);
        }
    }

    /// In its place by age; instead of itself, if it is here already.
    pub(super) fn plant(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        keepsake: Keepsake,
    ) {
        let mut place = 0;
        if let Some(sessions) = self.sessions(&name) {
            let kept = |s: &Session| s.keepsake.as_ref().map(|k| k.ticket.body().to_vec());
            sessions.retain(|s| kept(s).as_deref() != Some(keepsake.ticket.body()));
            let older = |s: &Session| match &s.keepsake {
                Some(other) => other.received <= keepsake.received,
                None => false,
            };
            place = sessions.iter().take_while(|s| older(s)).count();
        }
        self.put(name, value, Some(keepsake), place);
    }

    /// The newest that has not expired, for use.
    pub(super) fn take(
        &mut self,
        name: &ServerName<'_>,
        now: SystemTime,
    ) -> Option<Tls13ClientSessionValue> {
        let sessions = self.sessions(name)?;
        while let Some(session) = sessions.pop_back() {
            let keepsake = session.keepsake.as_ref();
            if keepsake.is_none_or(|k| k.check_time(now).is_ok()) {
                return Some(session.value);
            }
        }
        None
    }

    pub(super) fn take_keepsakes(&mut self, name: &ServerName<'_>) -> Vec<Keepsake> {
        let Some(sessions) = self.sessions(name) else {
            return Vec::new();
        };
        let (kept, rest): (VecDeque<_>, _) = sessions.drain(..).partition(|s| s.keepsake.is_some());
        *sessions = rest;
        kept.into_iter().filter_map(|s| s.keepsake).collect()
    }

    fn put(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        keepsake: Option<Keepsake>,
        place: usize,
    ) -> u64 {
        self.next += 1;
        let session = Session {
            number: self.next,
            value,
            keepsake,
        };
        match self.sessions(&name) {
            Some(sessions) => {
                sessions.insert(place.min(sessions.len()), session);
                if sessions.len() > MOST_SESSIONS {
                    sessions.pop_front();
                }
            }
            None => {
                if self.servers.len() >= MOST_SERVERS {
                    self.servers.pop_front();
                }
                self.servers.push_back((name, VecDeque::from([session])));
            }
        }
        self.next
    }

    fn sessions(&mut self, name: &ServerName<'_>) -> Option<&mut VecDeque<Session>> {
        let mut servers = self.servers.iter_mut();
        servers.find(|(n, _)| n == name).map(|(_, s)| s)
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("servers", &self.servers.len())
            .finish_non_exhaustive()
    }
}
