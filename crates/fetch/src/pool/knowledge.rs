//! Knowledge about an origin: its protocol, its alternative service, its addresses, its round-trip
//! time. It is learnt from each connection, handed out for storage, and taken back in a later run.

use std::net::IpAddr;
use std::time::Duration;

use roundtrip_model::{Attempt, AttemptOutcome, Origin};
use roundtrip_wire::alt_svc::{self, AltSvc};
use tokio::time::Instant;

/// The longest lifetime; a longer one is cut to this. RFC 7838 sets no bound; browsers keep a week.
const MAX_LIFE: Duration = Duration::from_hours(7 * 24);
/// The time for which QUIC is not tried after it failed; doubled each time, up to an hour.
const BROKEN: Duration = Duration::from_mins(5);
const MAX_BROKEN: Duration = Duration::from_hours(1);

/// The time for which an address that answered after others had failed is tried first. After that
/// time, the addresses are tried in their usual order, because the cause may be gone.
const PREFERRED: Duration = Duration::from_mins(10);

/// Knowledge about one origin to store. Durations count from the moment when this was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginKnowledge {
    pub origin: Origin,
    /// The protocol of TCP connections to the origin: "h2" or "http/1.1".
    pub alpn: Option<String>,
    pub alt_svc: Option<Alternative>,
    pub rtt: Option<Duration>,
    pub addresses: Vec<IpAddr>,
    /// The time for which the addresses can be used.
    pub ttl: Option<Duration>,
    /// The number of concurrent streams that the server allows.
    pub streams: Option<usize>,
    pub reached: Option<Reached>,
}

/// The address that answered after earlier ones in the list had not. RFC 8305 §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    pub address: IpAddr,
    /// The time for which the address is tried first.
    pub left: Duration,
}

/// HTTP/3 on the origin's own host. RFC 7838.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    pub port: u16,
    /// The time for which the alternative remains valid.
    pub left: Duration,
    /// Whether the alternative stays valid after a change of network.
    pub persist: bool,
}

/// What is known about an origin, in the form used while the program runs.
#[derive(Debug, Default)]
pub(super) struct OriginFacts {
    pub(super) alpn: Option<String>,
    pub(super) rtt: Option<Duration>,
    pub(super) streams: Option<usize>,
    alternative: Option<Announced>,
    broken: Option<Broken>,
    reached: Option<(IpAddr, Instant)>,
}

#[derive(Debug)]
struct Announced {
    port: u16,
    until: Instant,
    persist: bool,
}

#[derive(Debug)]
struct Broken {
    until: Instant,
    span: Duration,
}

impl OriginKnowledge {
    /// An origin about which nothing is known yet.
    pub fn new(origin: Origin) -> Self {
        Self {
            origin,
            alpn: None,
            alt_svc: None,
            rtt: None,
            addresses: Vec::new(),
            ttl: None,
            streams: None,
            reached: None,
        }
    }
}

impl OriginFacts {
    pub(super) fn recall(told: &OriginKnowledge) -> Self {
        let mut known = Self {
            alpn: told.alpn.clone(),
            rtt: told.rtt,
            streams: told.streams,
            reached: told.reached.map(|reached| {
                let left = reached.left.min(PREFERRED);
                (reached.address, Instant::now() + left)
            }),
            ..Self::default()
        };
        if let Some(alternative) = &told.alt_svc {
            let Alternative {
                port,
                left,
                persist,
            } = *alternative;
            known.announce(port, left, persist);
        }
        known
    }

    pub(super) fn tell(&self, origin: &Origin) -> OriginKnowledge {
        let now = Instant::now();
        // A later run does not lose time where QUIC does not pass.
        let alternative = self.alternative.as_ref();
        let alternative = alternative.filter(|a| a.until > now && !self.is_broken());
        OriginKnowledge {
            alpn: self.alpn.clone(),
            alt_svc: alternative.map(|a| Alternative {
                port: a.port,
                left: a.until - now,
                persist: a.persist,
            }),
            rtt: self.rtt,
            streams: self.streams,
            reached: self
                .reached
                .filter(|(_, until)| *until > now)
                .map(|(address, until)| Reached {
                    address,
                    left: until - now,
                }),
            ..OriginKnowledge::new(origin.clone())
        }
    }

    /// Parses the `Alt-Svc` of an answer, which replaces any earlier one. RFC 7838 §3.
    pub(super) fn hear(&mut self, value: &[u8], origin: &Origin) {
        self.alternative = None;
        let AltSvc::Alternatives(list) = alt_svc::parse(value) else {
            return;
        };
        // Alternatives at other hosts are ignored: each would need another name lookup. RFC 7838
        // §2.1.
        let here = |host: &str| host.is_empty() || host.eq_ignore_ascii_case(&origin.host);
        let found = list.iter().find(|a| a.protocol == "h3" && here(&a.host));
        if let Some(found) = found.filter(|_| origin.is_secure()) {
            let life = Duration::from_secs(found.max_age);
            self.announce(found.port, life, found.persist);
        }
    }

    fn announce(&mut self, port: u16, life: Duration, persist: bool) {
        let until = Instant::now() + life.min(MAX_LIFE);
        self.alternative = (!life.is_zero()).then_some(Announced {
            port,
            until,
            persist,
        });
    }

    /// The address to try first.
    pub(super) fn reached(&self) -> Option<IpAddr> {
        let reached = self.reached.filter(|(_, until)| *until > Instant::now());
        reached.map(|(address, _)| address)
    }

    /// Remembers the address that answered, if another was tried before it.
    pub(super) fn learn_address(&mut self, attempts: &[Attempt]) {
        let Some((first, later)) = attempts.split_first() else {
            return;
        };
        let won = |attempt: &&Attempt| attempt.outcome == AttemptOutcome::Won;
        let winner = later.iter().find(won).map(|attempt| attempt.peer.ip());
        if let Some(address) = winner.filter(|address| *address != first.peer.ip()) {
            self.reached = Some((address, Instant::now() + PREFERRED));
        }
    }

    /// The port at which HTTP/3 was announced, unless that has expired or failed.
    pub(super) fn h3_port(&self) -> Option<u16> {
        let now = Instant::now();
        let announced = self.alternative.as_ref().filter(|a| a.until > now);
        announced.filter(|_| !self.is_broken()).map(|a| a.port)
    }

    pub(super) fn is_broken(&self) -> bool {
        let broken = self.broken.as_ref();
        broken.is_some_and(|b| b.until > Instant::now())
    }

    /// Records that QUIC did not answer or failed.
    pub(super) fn quic_failed(&mut self) {
        let before = self.broken.as_ref().map(|b| b.span);
        let span = before.map_or(BROKEN, |span| (2 * span).min(MAX_BROKEN));
        let until = Instant::now() + span;
        self.broken = Some(Broken { until, span });
    }

    pub(super) fn quic_works(&mut self) {
        self.broken = None;
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_model::{Moment, Scheme};
    use tokio::time::advance;

    use super::*;

    fn origin(scheme: Scheme) -> Origin {
        Origin {
            scheme,
            host: "a.example".into(),
            port: 443,
        }
    }

    fn heard(values: &[&str]) -> OriginFacts {
        let mut known = OriginFacts::default();
        for value in values {
            known.hear(value.as_bytes(), &origin(Scheme::Https));
        }
        known
    }

    #[tokio::test(start_paused = true)]
    async fn an_alternative_is_valid_for_its_lifetime() {
        let known = heard(&["h3=\":8443\"; ma=60; persist=1"]);
        assert_eq!(known.h3_port(), Some(8443));
        let told = known.tell(&origin(Scheme::Https)).alt_svc.unwrap();
        assert!(told.persist && told.left == Duration::from_mins(1));
        advance(Duration::from_secs(61)).await;
        assert_eq!(known.h3_port(), None);
        assert_eq!(known.tell(&origin(Scheme::Https)).alt_svc, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_announcement_counts() {
        let first = "h3=\":443\"";
        assert_eq!(heard(&[first]).h3_port(), Some(443));
        for (last, port) in [
            ("clear", None),
            ("h3=\":443\"; ma=0", None),
            ("h2=\":443\"", None),
            ("h3=\"other.example:443\"", None),
            ("h3=\"A.EXAMPLE:444\"", Some(444)),
            ("nonsense", None),
        ] {
            assert_eq!(heard(&[first, last]).h3_port(), port, "{last}");
        }
        let mut clear = OriginFacts::default();
        clear.hear(first.as_bytes(), &origin(Scheme::Http));
        assert_eq!(clear.h3_port(), None);
        let for_ever = heard(&["h3=\":443\"; ma=99999999999999"]);
        advance(MAX_LIFE).await;
        assert_eq!(for_ever.h3_port(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn broken_quic_is_retried_at_growing_intervals() {
        let mut known = heard(&["h3=\":443\""]);
        known.quic_failed();
        assert_eq!(known.h3_port(), None);
        advance(BROKEN).await;
        assert_eq!(known.h3_port(), Some(443));
        known.quic_failed();
        advance(BROKEN).await;
        assert_eq!(known.h3_port(), None);
        advance(BROKEN).await;
        assert_eq!(known.h3_port(), Some(443));
        known.quic_works();
        known.quic_failed();
        advance(BROKEN).await;
        assert_eq!(known.h3_port(), Some(443));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_preferred_for_a_while_after_others_failed() {
        let attempt = |last: u8, outcome| Attempt {
            peer: ([192, 0, 2, last], 443).into(),
            over_quic: false,
            began: Moment::ZERO,
            ended: Moment::ZERO,
            outcome,
        };
        let (won, failed) = (
            AttemptOutcome::Won,
            AttemptOutcome::Failed("refused".into()),
        );
        let mut known = OriginFacts::default();
        known.learn_address(&[attempt(1, won.clone())]);
        known.learn_address(&[
            attempt(1, won.clone()),
            attempt(2, AttemptOutcome::Abandoned),
        ]);
        assert_eq!(known.reached(), None);
        known.learn_address(&[attempt(1, failed.clone()), attempt(2, won.clone())]);
        assert_eq!(known.reached(), Some([192, 0, 2, 2].into()));
        advance(Duration::from_secs(599)).await;
        // Its own success does not make the time longer: the others get another try.
        known.learn_address(&[attempt(2, won.clone())]);
        let told = known.tell(&origin(Scheme::Https));
        assert_eq!(told.reached.unwrap().left, Duration::from_secs(1));
        assert_eq!(OriginFacts::recall(&told).reached(), known.reached());
        advance(Duration::from_secs(1)).await;
        assert_eq!(known.reached(), None);
        known.learn_address(&[attempt(2, failed), attempt(1, won)]);
        assert_eq!(known.reached(), Some([192, 0, 2, 1].into()));
    }
}
