//! The data that is stored about one origin: the best way to reach it, its round-trip time, and
//! sessions and tokens for the next handshake.
//!
//! Sessions and tokens are opaque here; crate `tls` makes and reads them. Each is handed out once:
//! it is removed from the file under the file's lock, so that no two processes use the same ticket
//! (RFC 8446 §C.4) or token (RFC 9000 §8.1.3).

mod file;
mod knowledge;
mod pruning;

use std::iter;
use std::net::IpAddr;
use std::time::Duration;

use super::directory::Directory;
use super::{Authority, Memory, Stamp};

/// The largest number of sessions for each transport. Servers send two after a handshake, and more
/// than a few connections at once are impolite.
const MAX_SESSIONS: usize = 8;
const MAX_TOKENS: usize = 4;
/// The limit in bytes. A ticket with a certificate chain and a post-quantum key has a few
/// kilobytes.
const MAX_BLOB: usize = 32 << 10;
/// The longest lifetime of a ticket: seven days (RFC 8446 §4.6.1).
const MAX_SESSION: Duration = Duration::from_hours(168);
const MAX_FILE: u64 = 1 << 20;

/// The transport with which a session was made; it can be resumed only with the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    Tcp,
    Quic,
}

/// A session that shortens the next handshake.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    pub transport: Transport,
    pub expires: Stamp,
    /// The encoding by crate `tls`. It contains keys, so it is never shown.
    pub blob: Vec<u8>,
}

/// HTTP/3 on the origin's own host, as announced by its `Alt-Svc`. RFC 7838.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    pub port: u16,
    /// Whether the alternative stays valid after a change of network.
    pub persist: bool,
    pub expires: Stamp,
}

/// The addresses that a name server returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    pub list: Vec<IpAddr>,
    pub expires: Stamp,
}

/// The address that answered after earlier ones in the list had not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub address: IpAddr,
    pub expires: Stamp,
}

/// The content of an HTTPS record. RFC 9460.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    pub alpn: Vec<String>,
    pub port: Option<u16>,
    pub expires: Stamp,
}

/// What was taken from the file of an origin for this process alone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Taken {
    pub sessions: Vec<Session>,
    pub quic_token: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OriginState {
    /// The protocol that was negotiated last.
    pub alpn: Option<String>,
    pub alt_svc: Option<Alternative>,
    pub https_record: Option<Hints>,
    pub addresses: Option<Addresses>,
    pub rtt: Option<Duration>,
    /// The number of concurrent streams that the server allows.
    pub streams: Option<u32>,
    pub reached: Option<Reached>,
    /// Oldest first.
    pub(super) sessions: Vec<Session>,
    pub(super) quic_tokens: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("transport", &self.transport)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

impl OriginState {
    /// Parses the content of a file strictly, with every bound checked.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        file::decode(bytes)
    }

    pub fn encode(&self) -> Vec<u8> {
        file::encode(self)
    }

    pub fn sessions(&self, transport: Transport) -> usize {
        let of_it = |session: &&Session| session.transport == transport;
        self.sessions.iter().filter(of_it).count()
    }

    pub fn has_quic_token(&self) -> bool {
        !self.quic_tokens.is_empty()
    }

    /// Adds a session; if its transport has too many, the oldest is removed.
    pub fn keep_session(&mut self, session: Session, now: Stamp) {
        let expires = session.expires.min(now.plus(MAX_SESSION));
        if expires <= now || session.blob.len() > MAX_BLOB || session.blob.is_empty() {
            return;
        }
        let transport = session.transport;
        if self.sessions(transport) >= MAX_SESSIONS {
            let oldest = self.sessions.iter().position(|s| s.transport == transport);
            oldest.map(|oldest| self.sessions.remove(oldest));
        }
        self.sessions.push(Session { expires, ..session });
    }

    pub fn keep_quic_token(&mut self, token: Vec<u8>) {
        if token.is_empty() || token.len() > MAX_BLOB {
            return;
        }
        if self.quic_tokens.len() >= MAX_TOKENS {
            self.quic_tokens.remove(0);
        }
        self.quic_tokens.push(token);
    }

    /// Removes and returns the newest session.
    pub fn take_session(&mut self, transport: Transport) -> Option<Session> {
        let newest = self
            .sessions
            .iter()
            .rposition(|s| s.transport == transport)?;
        Some(self.sessions.remove(newest))
    }

    pub fn take_quic_token(&mut self) -> Option<Vec<u8>> {
        self.quic_tokens.pop()
    }

    /// Removes expired data. A lifetime beyond the possible maximum was written by a clock that was
    /// ahead.
    fn expire(&mut self, now: Stamp) {
        let latest = now.plus(MAX_SESSION);
        self.sessions
            .retain(|session| session.expires > now && session.expires <= latest);
        self.alt_svc.take_if(|known| known.expires <= now);
        self.addresses.take_if(|known| known.expires <= now);
        self.reached
            .take_if(|known| known.expires <= now || known.expires > latest);
        self.https_record.take_if(|known| known.expires <= now);
    }
}

impl Memory {
    /// The unexpired data about an origin. Take sessions and tokens with [`Memory::take`].
    pub fn origin(&self, origin: &Authority, now: Stamp) -> OriginState {
        let directory_and_name = self.origins().zip(origin.file_name());
        directory_and_name.map_or_else(OriginState::default, |(directory, name)| {
            self.read_origin(directory, &name, now)
        })
    }

    /// Changes the data about an origin, under a lock against other processes. Writes only if
    /// something changes.
    pub fn change_origin<T>(
        &self,
        origin: &Authority,
        now: Stamp,
        change: impl FnOnce(&mut OriginState) -> T,
    ) -> Option<T> {
        let directory = self.origins()?;
        let name = origin.file_name()?;
        if self.is_full() {
            return None;
        }
        // The lock lasts until the end of this scope.
        let _lock = match directory.lock(&super::limits::file_name(&name)) {
            Ok(lock) => lock,
            Err(error) => {
                self.cannot_lock(directory, origin, &error);
                return None;
            }
        };
        let mut state = self.read_origin(directory, &name, now);
        let is_new = state == OriginState::default();
        let before = state.encode();
        let result = change(&mut state);
        let after = state.encode();
        let is_kept = after == before || self.write(directory, &state_name(&name), &[&after]);
        if is_new {
            self.added_origin(directory);
        }
        is_kept.then_some(result)
    }

    /// Takes at most `tcp` sessions for TCP and `quic` for QUIC, with the latter also a token, in
    /// one change. What cannot be removed from the file is not returned, so no other process uses
    /// the same.
    pub fn take(&self, origin: &Authority, now: Stamp, tcp: usize, quic: usize) -> Taken {
        // Most origins have nothing to take, so they need no lock.
        let state = self.origin(origin, now);
        let has_any = tcp.min(state.sessions(Transport::Tcp)) > 0
            || quic > 0 && (state.sessions(Transport::Quic) > 0 || state.has_quic_token());
        if !has_any {
            return Taken::default();
        }
        let taken = self.change_origin(origin, now, |state| {
            let mut sessions = Vec::new();
            for (transport, most) in [(Transport::Tcp, tcp), (Transport::Quic, quic)] {
                sessions.extend(iter::from_fn(|| state.take_session(transport)).take(most));
            }
            Taken {
                sessions,
                quic_token: (quic > 0).then(|| state.take_quic_token()).flatten(),
            }
        });
        taken.unwrap_or_default()
    }

    fn read_origin(&self, directory: &Directory, name: &str, now: Stamp) -> OriginState {
        let read = self.read(directory, &state_name(name), MAX_FILE, OriginState::decode);
        let mut state = read.unwrap_or_default();
        state.expire(now);
        state
    }
}

fn state_name(name: &str) -> String {
    format!("{name}.state")
}
