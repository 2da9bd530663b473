//! What ACME gives to the threads that serve, and to the operator: certificates, the answer to the
//! challenge under way, and the state of each name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use roundtrip_wire::calendar::rfc3339;
use rustls::sign::CertifiedKey;

use super::documents::PostedChallenge;
use crate::config::AcmeChallenge;

/// The path of HTTP-01 before the token. RFC 8555 §8.3.
const PATH: &str = "/.well-known/acme-challenge/";
/// The largest number of lines that wait to be reported to the operator; further ones are lost.
const MAX_NEWS: usize = 256;

/// The certificates, the challenge and the news. All threads may read them at once.
pub(crate) struct ActiveAcme {
    kind: AcmeChallenge,
    names: RwLock<BTreeMap<String, NameState>>,
    challenge: RwLock<Option<ActiveChallenge>>,
    news: Mutex<Vec<String>>,
    counts: AcmeCounts,
}

#[derive(Clone, Default)]
pub(super) struct NameState {
    pub(super) certificate: Option<Arc<CertifiedKey>>,
    pub(super) view: CertificateView,
}

/// The current state of one name. Times are in seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CertificateView {
    pub(crate) name: String,
    /// When the certificate expires, if there is one.
    pub(crate) ends: Option<i64>,
    /// When the next order is due; 0: at once.
    pub(crate) next: i64,
    /// Failed orders in a row, and why the last one failed.
    pub(crate) failures: u32,
    pub(crate) error: String,
}

impl CertificateView {
    /// The line for the operator.
    pub(super) fn line(&self, is_new: bool, now: i64) -> String {
        let name = &self.name;
        let date = |at: i64| {
            let seconds = u64::try_from(at).unwrap_or_default();
            rfc3339(seconds.saturating_mul(1000))
        };
        let (next, seconds) = (date(self.next), self.next.saturating_sub(now).max(0));
        match self.ends {
            Some(ends) if is_new || self.error.is_empty() => format!(
                "acme: {name} has a certificate until {}; it is renewed at {next}",
                date(ends)
            ),
            Some(ends) => format!(
                "acme: {name} keeps its certificate until {}, because no new one was obtained: {}; \
                 the next attempt is in {seconds} s",
                date(ends),
                self.error
            ),
            None => format!(
                "acme: {name} has no certificate: {}; the next attempt is in {seconds} s",
                self.error
            ),
        }
    }
}

struct ActiveChallenge {
    posted: PostedChallenge,
    /// The certificate that answers TLS-ALPN-01.
    certificate: Option<Arc<CertifiedKey>>,
}

/// Events of this replica.
#[derive(Default)]
pub(crate) struct AcmeCounts {
    pub(super) begun: AtomicU64,
    pub(super) issued: AtomicU64,
    pub(super) failed: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
}

impl std::fmt::Debug for ActiveAcme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ActiveAcme")
    }
}

impl ActiveAcme {
    pub(super) fn new(kind: AcmeChallenge, names: &[String]) -> Self {
        let state = |name: &String| {
            let mut state = NameState::default();
            state.view.name.clone_from(name);
            (name.clone(), state)
        };
        Self {
            kind,
            names: RwLock::new(names.iter().map(state).collect()),
            challenge: RwLock::default(),
            news: Mutex::default(),
            counts: AcmeCounts::default(),
        }
    }

    /// The certificate for the name that a client asks for; for a client that asks for none, the
    /// first.
    pub(crate) fn certificate(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        match name {
            Some(name) => names.get(&bare(name))?.certificate.clone(),
            None => names.values().find_map(|state| state.certificate.clone()),
        }
    }

    pub(crate) fn uses_alpn(&self) -> bool {
        self.kind == AcmeChallenge::TlsAlpn
    }

    /// The certificate that answers TLS-ALPN-01 for this name.
    pub(crate) fn challenge_certificate(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let challenge = self.challenge();
        let challenge = challenge.as_ref()?;
        let is_meant = name.is_some_and(|name| bare(name) == challenge.posted.name);
        let certificate = challenge.certificate.clone().filter(|_| is_meant);
        if certificate.is_some() {
            self.counts.answered.fetch_add(1, Ordering::Relaxed);
        }
        certificate
    }

    /// The answer to HTTP-01, if this is exactly the path of the token under way.
    pub(crate) fn http_answer(&self, path: &str) -> Option<String> {
        let token = path.strip_prefix(PATH)?;
        let challenge = self.challenge();
        let posted = &challenge.as_ref()?.posted;
        if self.kind != AcmeChallenge::Http || posted.token != token {
            return None;
        }
        self.counts.answered.fetch_add(1, Ordering::Relaxed);
        Some(posted.authorization.clone())
    }

    /// Counts a handshake that failed because its name has no certificate.
    pub(crate) fn count_refused(&self) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn views(&self) -> Vec<CertificateView> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.values().map(|state| state.view.clone()).collect()
    }

    /// The number of events of this replica, each with its label.
    pub(crate) fn events(&self) -> [(&'static str, u64); 5] {
        let counts = &self.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("order_begun", read(&counts.begun)),
            ("certificate_issued", read(&counts.issued)),
            ("order_failed", read(&counts.failed)),
            ("challenge_answered", read(&counts.answered)),
            ("handshake_without_certificate", read(&counts.refused)),
        ]
    }

    /// The lines since the last call.
    pub(crate) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news())
    }

    pub(super) fn counts(&self) -> &AcmeCounts {
        &self.counts
    }

    pub(super) fn tell(&self, line: String) {
        let mut news = self.news();
        if news.len() < MAX_NEWS {
            news.push(line);
        }
    }

    pub(super) fn state(&self, name: &str) -> Option<NameState> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(name).cloned()
    }

    pub(super) fn set_state(&self, state: NameState) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(state.view.name.clone(), state);
    }

    pub(super) fn answers(&self, posted: Option<&PostedChallenge>) -> bool {
        self.challenge().as_ref().map(|active| &active.posted) == posted
    }

    pub(super) fn set_challenge(
        &self,
        posted: Option<PostedChallenge>,
        certificate: Option<Arc<CertifiedKey>>,
    ) {
        let mut challenge = self
            .challenge
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *challenge = posted.map(|posted| ActiveChallenge {
            posted,
            certificate,
        });
    }

    fn challenge(&self) -> std::sync::RwLockReadGuard<'_, Option<ActiveChallenge>> {
        self.challenge
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn news(&self) -> MutexGuard<'_, Vec<String>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bare(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted() -> PostedChallenge {
        PostedChallenge {
            name: "a.example".into(),
            token: "tok".into(),
            authorization: "tok.print".into(),
            ends: i64::MAX,
        }
    }

    #[test]
    fn only_the_token_under_way_is_answered_and_only_for_http() {
        let active = ActiveAcme::new(AcmeChallenge::Http, &["a.example".into()]);
        let path = format!("{PATH}tok");
        assert_eq!(active.http_answer(&path), None);
        active.set_challenge(Some(posted()), None);
        assert_eq!(active.http_answer(&path).as_deref(), Some("tok.print"));
        for other in ["", "to", "tok/", "tok?a", "tok2", "%74ok"] {
            assert_eq!(
                active.http_answer(&format!("{PATH}{other}")),
                None,
                "{other}"
            );
        }
        active.set_challenge(None, None);
        assert_eq!(active.http_answer(&path), None);
        let active = ActiveAcme::new(AcmeChallenge::TlsAlpn, &[]);
        active.set_challenge(Some(posted()), None);
        assert_eq!(active.http_answer(&path), None);
    }

    #[test]
    fn lines_are_told_once_and_bounded() {
        let active = ActiveAcme::new(AcmeChallenge::Http, &[]);
        for _ in 0..2 * MAX_NEWS {
            active.tell("line".into());
        }
        assert_eq!(active.take_news().len(), MAX_NEWS);
        assert!(active.take_news().is_empty());
    }
}
