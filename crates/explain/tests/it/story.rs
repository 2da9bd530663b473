//! Exchanges built step by step: each step advances the clock and records the same facts as a
//! prober.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_explain::findings;
use roundtrip_model::{
    Answer, Attempt, AttemptOutcome, ChainFacts, Event, Exchange, Finding, HttpFacts, Moment,
    NameFacts, NameWaits, QuicFacts, Task, TcpFacts, TlsFacts,
};

pub(crate) const R: f64 = 100.0;
pub(crate) const MSS: u64 = 1448;

pub(crate) fn v4() -> SocketAddr {
    ([192, 0, 2, 7], 443).into()
}

pub(crate) fn v6() -> SocketAddr {
    "[2001:db8::7]:443".parse().unwrap()
}

pub(crate) struct Story {
    pub(crate) e: Exchange,
    pub(crate) now: f64,
    pub(crate) r: f64,
}

impl Story {
    /// An empty exchange over a path with a round trip of `r` ms.
    pub(crate) fn over(r: f64) -> Self {
        let e = Exchange {
            url: "https://shop.example/".into(),
            rtt: Some(Duration::from_secs_f64(r / 1e3)),
            ..Exchange::default()
        };
        Self { e, now: 0.0, r }
    }

    pub(crate) fn new() -> Self {
        Self::over(R)
    }

    pub(crate) fn event(mut self, event: Event) -> Self {
        self.e.timeline.push(Moment::from_millis(self.now), event);
        self
    }

    pub(crate) fn pass(mut self, ms: f64) -> Self {
        self.now += ms;
        self
    }

    pub(crate) fn sent(self, bytes: u64) -> Self {
        self.event(Event::Sent { bytes })
    }

    pub(crate) fn received(self, bytes: u64) -> Self {
        self.event(Event::Received { bytes })
    }

    /// Sent data is acknowledged after a round trip, and answered `server` ms later.
    pub(crate) fn answered(self, server: f64, bytes: u64) -> Self {
        let r = self.r;
        if r == 0.0 {
            return self.pass(server).received(bytes);
        }
        self.pass(r).acknowledged(r).pass(server).received(bytes)
    }

    /// Data that left this long ago is acknowledged now.
    pub(crate) fn acknowledged(self, after: f64) -> Self {
        let after = Duration::from_secs_f64(after / 1e3);
        self.event(Event::Acknowledged { after, again: None })
    }

    pub(crate) fn worked(self, task: Task, ms: f64) -> Self {
        let took = Duration::from_secs_f64(ms / 1e3);
        self.pass(ms).event(Event::Worked { task, took })
    }

    pub(crate) fn looked_up(mut self, answer: Answer, ms: f64) -> Self {
        self.e.name = Some(NameFacts {
            host: "shop.example".into(),
            answer,
            addresses: vec![v4().ip()],
            aliases: Vec::new(),
            ttl: Some(60),
            resent: 0,
            truncated: false,
            https_record: None,
            waits: NameWaits::default(),
        });
        self.event(Event::LookupStarted)
            .pass(ms)
            .event(Event::LookupFinished)
    }

    pub(crate) fn attempt(&mut self, peer: SocketAddr, began: f64, outcome: AttemptOutcome) {
        let (began, ended) = (Moment::from_millis(began), Moment::from_millis(self.now));
        self.e.attempts.push(Attempt {
            peer,
            over_quic: false,
            began,
            ended,
            outcome,
        });
    }

    /// A TCP connection whose SYN-ACK comes after a round trip and `late` ms.
    pub(crate) fn connected(self, late: f64) -> Self {
        let (began, r) = (self.now, self.r);
        let mut story = self
            .event(Event::AttemptStarted { peer: v4() })
            .pass(r + late)
            .event(Event::Connected {
                peer: v4(),
                deferred: false,
            });
        story.attempt(v4(), began, AttemptOutcome::Won);
        let facts = story.e.tcp.get_or_insert(tcp());
        facts.handshake_rtt = Some(Duration::from_secs_f64((r + late) / 1e3));
        story
    }

    /// A connection whose SYN waits for the first data.
    pub(crate) fn deferred(self) -> Self {
        let began = self.now;
        let mut story = self
            .event(Event::AttemptStarted { peer: v4() })
            .event(Event::Connected {
                peer: v4(),
                deferred: true,
            });
        story.attempt(v4(), began, AttemptOutcome::Won);
        let facts = story.e.tcp.insert(tcp());
        (facts.fast_open.asked, facts.fast_open.cookie) = (true, true);
        story
    }

    /// The first flight of `sent` bytes leaves, and the SYN-ACK acknowledges `acked` of them after
    /// `wait` ms.
    pub(crate) fn syn_acked(mut self, sent: u64, acked: u64, wait: f64) -> Self {
        let facts = &mut self.e.tcp.as_mut().unwrap().fast_open;
        (facts.data_sent, facts.data_acked) = (sent, acked);
        facts.saved_round_trips = u32::from(sent == acked);
        self.sent(sent).pass(wait).event(Event::SynAcked {
            data_sent: sent,
            data_acked: acked,
        })
    }

    /// A whole TLS 1.3 handshake over TCP, without a ticket.
    pub(crate) fn tls13(self) -> Self {
        self.hello()
            .answered(0.3, 3_000)
            .shook_hands(tls("TLSv1.3", 3_000))
    }

    pub(crate) fn hello(self) -> Self {
        self.event(Event::HandshakeStarted)
            .worked(Task::GenerateKeys, 0.2)
            .sent(1_700)
    }

    pub(crate) fn shook_hands(mut self, facts: TlsFacts) -> Self {
        self.e.tls = Some(facts);
        self.worked(Task::Decrypt, 0.5)
            .sent(80)
            .event(Event::HandshakeFinished)
    }

    pub(crate) fn asked(self) -> Self {
        self.event(Event::RequestStarted)
            .sent(120)
            .event(Event::RequestSent)
    }

    /// The head of the answer, after a round trip and `think` ms.
    pub(crate) fn told(mut self, think: f64) -> Self {
        self.e.http.get_or_insert(HttpFacts {
            version: "1.1".into(),
            status: 200,
            ..HttpFacts::default()
        });
        self.answered(think, 800).event(Event::FirstByte)
    }

    pub(crate) fn end(self) -> Exchange {
        self.pass(0.1).event(Event::Finished).e
    }
}

pub(crate) fn tcp() -> TcpFacts {
    TcpFacts {
        mss: MSS as u32,
        ..TcpFacts::default()
    }
}

pub(crate) fn tls(version: &str, bytes: u64) -> TlsFacts {
    TlsFacts {
        version: version.into(),
        group: "X25519MLKEM768".into(),
        bytes_received: bytes,
        chain: Some(ChainFacts {
            bytes_on_wire: bytes.saturating_sub(700),
            ..ChainFacts::default()
        }),
        ..TlsFacts::default()
    }
}

/// A QUIC connection attempt has begun, and its first datagrams have left.
pub(crate) fn quic(r: f64) -> Story {
    let mut story = Story::over(r);
    story.e.quic = Some(QuicFacts::default());
    story
        .looked_up(Answer::Hosts, 0.1)
        .event(Event::AttemptStarted { peer: v4() })
        .event(Event::HandshakeStarted)
        .worked(Task::GenerateKeys, 0.3)
        .sent(1_200)
        .sent(1_200)
}

/// All steps to an open TLS 1.3 connection, without any finding.
pub(crate) fn secured() -> Story {
    Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.2)
        .tls13()
}

pub(crate) fn ids(e: &Exchange) -> Vec<&'static str> {
    findings(e).iter().map(|f| f.id).collect()
}

/// The first finding is `id`, has the injected cost, and is the only one.
pub(crate) fn assert_only(e: &Exchange, id: &str, ms: f64, round_trips: u32) -> Finding {
    let found = findings(e);
    assert_eq!(found.len(), 1, "{found:?} {:?}", e.phases());
    let first = found.into_iter().next().unwrap();
    assert_eq!(
        (first.id, first.round_trips),
        (id, round_trips),
        "{first:?}"
    );
    let off = (first.ms - ms).abs();
    assert!(
        off <= 1.0 || off <= 0.05 * ms,
        "{first:?} instead of {ms} ms"
    );
    assert!(!first.evidence.is_empty() && !first.remedy.is_empty());
    first
}

pub(crate) fn assert_silent(e: &Exchange) {
    assert_eq!(findings(e), [], "{:?}", e.phases());
}
