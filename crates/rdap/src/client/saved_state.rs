//! Stores data of connections for the next run: stored sessions and tokens are loaded when an
//! origin is first asked, and new ones are stored at the end.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_http::Tokens;
use roundtrip_model::{Origin, Scheme, Target};
use roundtrip_tls::{Client, StoredSession};
use tokio::time::{Instant, sleep};

use roundtrip_fetch::memory::origin::{Session, Transport};
use roundtrip_fetch::memory::{Authority, Memory, Stamp};
use roundtrip_fetch::pool::Pool;

/// The number of sessions loaded if one connection carries everything; other processes may take the
/// rest. Servers issue new ones on each connection.
const SESSIONS: usize = 1;
/// The number of sessions loaded if HTTP/1.1 needs several connections at once.
const SESSIONS_H1: usize = 6;
/// An additional wait for new sessions that are on their way.
const EXTRA_WAIT: Duration = Duration::from_millis(200);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// What is left for the next run, for each origin.
#[derive(Debug, Clone, Copy)]
pub struct Reserve {
    pub tickets: usize,
    /// Whether an address token of QUIC is needed as well, if the server gives any.
    pub token: bool,
}

pub(super) struct SavedState {
    memory: Arc<Memory>,
    tls: Arc<Client>,
    tokens: Tokens,
    prepared: RefCell<HashSet<Authority>>,
    /// The origins whose sessions were loaded.
    taken: RefCell<Vec<(Authority, Transport)>>,
    /// The origins whose QUIC token was loaded.
    shown: RefCell<HashSet<Authority>>,
}

impl SavedState {
    pub(super) fn new(memory: Arc<Memory>, tls: Arc<Client>, tokens: Tokens) -> Self {
        Self {
            memory,
            tls,
            tokens,
            prepared: RefCell::default(),
            taken: RefCell::default(),
            shown: RefCell::default(),
        }
    }

    /// Called before an origin is asked for the first time: loads its stored data, and one session
    /// or more.
    pub(super) fn load(&self, target: &Target, pool: &Pool, now: Stamp) {
        let origin = Authority::from(target);
        let secure = target.scheme == Scheme::Https;
        if !self.memory.is_somewhere()
            || !secure
            || !self.prepared.borrow_mut().insert(origin.clone())
        {
            return;
        }
        let state = self.memory.origin(&origin, now);
        // HTTP/3 can be forced, or known from the name's HTTPS record, without any Alt-Svc.
        let quic = state.alt_svc.is_some() || state.sessions(Transport::Quic) > 0;
        let taken = match state.alpn.as_deref() {
            Some("http/1.1") => SESSIONS_H1,
            _ => SESSIONS,
        };
        pool.recall(&state.knowledge(&target.origin(), now));
        let quic = if quic { SESSIONS } else { 0 };
        let taken = self.memory.take(&origin, now, taken, quic);
        for session in taken.sessions {
            self.revive(&origin, &session);
        }
        if let Some(token) = taken.quic_token {
            self.tokens.insert(origin.host(), token.into());
            self.shown.borrow_mut().insert(origin);
        }
    }

    fn revive(&self, origin: &Authority, session: &Session) {
        let awaited = (origin.clone(), session.transport);
        if !self.taken.borrow().contains(&awaited) {
            self.taken.borrow_mut().push(awaited);
        }
        // A session that can no longer be decoded is skipped.
        if let Ok(stored) = StoredSession::decode(&session.blob) {
            let quic = session.transport == Transport::Quic;
            let _ = self
                .tls
                .revive(quic, origin.host(), &stored, SystemTime::now());
        }
    }

    /// The sessions that are on their way: with early data, the answer arrives before the server
    /// issues a new session; and a session of HTTP/3 can be on its way beside the answers. Only
    /// sessions that later runs need are counted: those with fewer than `reserve` stored. A token
    /// arrives with the sessions.
    fn awaited(&self, pool: &Pool, now: Stamp, reserve: Reserve) -> Vec<(Authority, Transport)> {
        let named = |origin: &Origin| Authority::new(&origin.host, origin.port);
        let open = pool.open_connections().into_iter();
        let open = open.map(|(origin, quic)| (named(&origin), transport(quic)));
        // Where none was used, the server issued new ones before it answered.
        let mut awaited: Vec<_> = open.filter(|of| self.taken.borrow().contains(of)).collect();
        let sought = pool.sought();
        awaited.extend(sought.iter().map(|o| (named(o), Transport::Quic)));
        awaited.retain(|(origin, transport)| {
            let state = self.memory.origin(origin, now);
            let gives_tokens = || self.shown.borrow().contains(origin);
            let lacks_token = *transport == Transport::Quic && !state.has_quic_token();
            state.sessions(*transport) < reserve.tickets
                || reserve.token && lacks_token && gives_tokens()
        });
        awaited
    }

    /// Whether sessions are on their way that later runs need: fewer than `reserve` are stored.
    pub(super) fn is_awaiting(&self, pool: &Pool, now: Stamp, reserve: Reserve) -> bool {
        self.memory.is_somewhere() && !self.awaited(pool, now, reserve).is_empty()
    }

    /// Waits for the sessions that are on their way: for two round trips and a little more, but not
    /// longer than `most`.
    pub(super) async fn settle(&self, pool: &Pool, now: Stamp, reserve: Reserve, most: Duration) {
        let mut awaited = self.awaited(pool, now, reserve);
        let slowest = pool.learnt().iter().filter_map(|l| l.rtt).max();
        let limit = EXTRA_WAIT + 2 * slowest.unwrap_or_default();
        let deadline = Instant::now() + limit.min(most);
        while !awaited.is_empty() && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
            pool.open_connections();
            awaited.retain(|(origin, transport)| {
                let quic = *transport == Transport::Quic;
                let kept = self.tls.take_sessions(quic, origin.host());
                if kept.is_empty() {
                    return true;
                }
                let tokens = if quic {
                    self.tokens.take(origin.host())
                } else {
                    Vec::new()
                };
                self.memory.change_origin(origin, now, |state| {
                    for stored in &kept {
                        state.keep_session(session(*transport, stored), now);
                    }
                    for token in &tokens {
                        state.keep_quic_token(token.to_vec());
                    }
                });
                false
            });
        }
    }

    /// Called at the end: stores data for the next run.
    pub(super) fn save(&self, pool: &Pool, now: Stamp) {
        if !self.memory.is_somewhere() {
            return;
        }
        for learnt in pool.learnt().into_iter().filter(|l| l.origin.is_secure()) {
            let origin = Authority::new(&learnt.origin.host, learnt.origin.port);
            let host = origin.host();
            let tcp = self.tls.take_sessions(false, host);
            let quic = self.tls.take_sessions(true, host);
            let tokens = self.tokens.take(host);
            self.memory.change_origin(&origin, now, |state| {
                state.learn(&learnt, now);
                for (transport, kept) in [(Transport::Tcp, &tcp), (Transport::Quic, &quic)] {
                    for stored in kept {
                        state.keep_session(session(transport, stored), now);
                    }
                }
                for token in &tokens {
                    state.keep_quic_token(token.to_vec());
                }
            });
        }
    }
}

fn transport(quic: bool) -> Transport {
    if quic {
        Transport::Quic
    } else {
        Transport::Tcp
    }
}

fn session(transport: Transport, stored: &StoredSession) -> Session {
    Session {
        transport,
        expires: Stamp::from_time(stored.expires()),
        blob: stored.encode(),
    }
}
