//! The offer of one connection, from the strategy, the scheme, and the knowledge about the origin.
//! Pure functions.

use roundtrip_http::StreamProtocol;
use roundtrip_model::{Http, Memory, NameFacts, Origin, Security, Strategy};
use roundtrip_tls::Offer;

use super::PoolErrorKind;
use super::knowledge::OriginFacts;

/// How to try one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) tcp: Option<StreamProtocol>,
    /// The offer for QUIC, and its port.
    pub(super) quic: Option<(Offer, u16)>,
    pub(super) fast_open: bool,
    /// Whether only the protocol of the last connection is offered.
    pub(super) presumes: bool,
}

impl Plan {
    /// `early` means that a request that may be replayed waits for the connection.
    pub(super) fn new(
        strategy: Strategy,
        origin: &Origin,
        known: &OriginFacts,
        found: &NameFacts,
        early: bool,
    ) -> Result<Self, PoolErrorKind> {
        check(strategy, origin)?;
        let early = early && strategy.memory == Memory::EarlyData;
        let secure = origin.is_secure();
        let offer = |alpn: Vec<&'static str>, quic: bool| Offer {
            tls12: !quic && strategy.security != Security::Tls13,
            tls13: quic || strategy.security != Security::Tls12,
            post_quantum: strategy.post_quantum,
            early_data: early,
            resume: strategy.memory != Memory::Cold,
            alpn,
            quic,
        };
        let alpn = tcp_alpn(strategy.http);
        // Early data must use the protocol of the ticket's connection, so only that one is offered.
        let spoken = known.alpn.as_deref().filter(|_| early && secure);
        let once_spoken = alpn.iter().copied().find(|p| Some(*p) == spoken);
        let presumes = once_spoken.is_some() && alpn.len() > 1;
        let early_data = early && secure && (once_spoken.is_some() || alpn.len() == 1);
        let protocol = StreamProtocol {
            tls: secure.then(|| offer(once_spoken.map_or(alpn, |p| vec![p]), false)),
            early_data,
            prior_knowledge: !secure && strategy.http == Http::H2,
            insists: (strategy.http == Http::H2).then_some("h2"),
        };
        let h3_port = match strategy.http {
            Http::H3 => Some(known.h3_port().unwrap_or(origin.port)),
            Http::Auto if may_choose_h3(strategy, origin) => {
                announced_port(strategy, origin, known, found)
            }
            _ => None,
        };
        Ok(Self {
            tcp: (strategy.http != Http::H3).then_some(protocol),
            quic: h3_port.map(|port| (offer(vec!["h3"], true), port)),
            fast_open: strategy.fast_open,
            presumes,
        })
    }
}

/// Whether a connection to the origin carries one request at a time, as far as is known.
pub(super) fn is_solo(strategy: Strategy, origin: &Origin, known: &OriginFacts) -> bool {
    match strategy.http {
        Http::H1 => true,
        Http::H2 | Http::H3 | Http::Echo => false,
        Http::Auto => !origin.is_secure() || known.alpn.as_deref() == Some("http/1.1"),
    }
}

fn check(strategy: Strategy, origin: &Origin) -> Result<(), PoolErrorKind> {
    let refuse = |why| {
        let strategy = strategy.to_string();
        Err(PoolErrorKind::Strategy { strategy, why })
    };
    match (origin.is_secure(), strategy.security, strategy.http) {
        (_, _, Http::Echo) => refuse("it does not carry HTTP"),
        (true, Security::Clear, _) => refuse("the URL says https; write http:// for clear text"),
        (false, Security::Tls12 | Security::Tls13, _) => {
            refuse("the URL says http; write https:// for TLS")
        }
        (false, _, Http::H3) => refuse("HTTP/3 needs https://"),
        _ => Ok(()),
    }
}

fn may_choose_h3(strategy: Strategy, origin: &Origin) -> bool {
    origin.is_secure() && !strategy.fast_open && strategy.security == Security::Auto
}

/// The port at which HTTP/3 is announced: by the origin's `Alt-Svc`, which is ignored if nothing is
/// kept between requests, or by its HTTPS record. RFC 7838, RFC 9460.
fn announced_port(
    strategy: Strategy,
    origin: &Origin,
    known: &OriginFacts,
    found: &NameFacts,
) -> Option<u16> {
    let record = found.https_record.as_ref();
    let record = record.filter(|r| r.alpn.iter().any(|p| p == "h3"));
    let recorded = record.filter(|_| !known.is_broken());
    known
        .h3_port()
        .filter(|_| strategy.reuse)
        .or_else(|| recorded.map(|r| r.port.unwrap_or(origin.port)))
}

fn tcp_alpn(http: Http) -> Vec<&'static str> {
    match http {
        Http::H1 => vec!["http/1.1"],
        Http::H2 => vec!["h2"],
        Http::Auto | Http::H3 | Http::Echo => vec!["h2", "http/1.1"],
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_model::{Answer, HttpsRecord, Scheme, Target};

    use super::*;

    fn plan(
        strategy: &str,
        url: &str,
        known: &OriginFacts,
        early: bool,
    ) -> Result<Plan, PoolErrorKind> {
        let origin = Target::parse(url).unwrap().origin();
        let found = NameFacts::new(&origin.host, Answer::Literal, Vec::new());
        Plan::new(strategy.parse().unwrap(), &origin, known, &found, early)
    }

    fn speaks(alpn: &str) -> OriginFacts {
        let mut known = OriginFacts::default();
        known.alpn = Some(alpn.into());
        known
    }

    #[test]
    fn early_data_uses_the_protocol_of_the_ticket() {
        let offered = |known: &OriginFacts, early| {
            let protocol = plan("auto+0rtt", "https://a/", known, early).unwrap().tcp;
            let protocol = protocol.unwrap();
            let offer = protocol.tls.unwrap();
            assert_eq!(offer.early_data, early);
            (offer.alpn, protocol.early_data)
        };
        let both = vec!["h2", "http/1.1"];
        assert_eq!(
            offered(&OriginFacts::default(), true),
            (both.clone(), false)
        );
        assert_eq!(offered(&speaks("h2"), true), (vec!["h2"], true));
        assert_eq!(offered(&speaks("http/1.1"), true), (vec!["http/1.1"], true));
        assert_eq!(offered(&speaks("h2"), false), (both.clone(), false));
        assert_eq!(offered(&speaks("smtp"), true), (both, false));
        let forced = plan("h1+0rtt", "https://a/", &OriginFacts::default(), true).unwrap();
        assert!(forced.tcp.unwrap().early_data && !forced.presumes);
    }

    #[test]
    fn a_cold_strategy_offers_no_ticket() {
        let cold = plan("auto", "https://a/", &speaks("h2"), true).unwrap();
        let offer = cold.tcp.unwrap().tls.unwrap();
        assert!(!offer.resume && !offer.early_data && offer.alpn.len() == 2);
    }

    #[test]
    fn http3_is_used_if_forced_or_announced() {
        let nothing = OriginFacts::default();
        let quic = |p: Plan| p.quic.map(|(_, port)| port);
        let auto = plan("auto", "https://a/", &nothing, true).unwrap();
        assert!(quic(auto).is_none());
        let forced = plan("h3", "https://a:444/", &nothing, true).unwrap();
        assert!(forced.tcp.is_none() && quic(forced) == Some(444));
        let origin = Target::parse("https://a/").unwrap().origin();
        let mut known = OriginFacts::default();
        known.hear(b"h3=\":8443\"", &origin);
        assert_eq!(
            quic(plan("auto+reuse", "https://a/", &known, true).unwrap()),
            Some(8443)
        );
        let forgetful = plan("auto", "https://a/", &known, true).unwrap();
        assert!(quic(forgetful).is_none());
        let tfo = plan("auto+tfo", "https://a/", &known, true).unwrap();
        assert!(tfo.fast_open && quic(tfo).is_none());
        let mut found = NameFacts::new("a", Answer::Literal, Vec::new());
        found.https_record = Some(HttpsRecord {
            alpn: vec!["h3".into()],
            ..HttpsRecord::default()
        });
        let by_name = |known: &OriginFacts| {
            let strategy = "auto".parse().unwrap();
            quic(Plan::new(strategy, &origin, known, &found, true).unwrap())
        };
        assert_eq!(by_name(&nothing), Some(443));
        known.quic_failed();
        assert_eq!(by_name(&known), None);
    }

    #[test]
    fn contradictions_are_refused() {
        for (strategy, url) in [
            ("h1+tls1.3", "http://a/"),
            ("h1+clear", "https://a/"),
            ("h3", "http://a/"),
            ("tcp", "https://a/"),
        ] {
            let refused = plan(strategy, url, &OriginFacts::default(), true);
            assert!(
                matches!(refused, Err(PoolErrorKind::Strategy { .. })),
                "{strategy} {url}"
            );
        }
    }

    #[test]
    fn clear_text_has_neither_tickets_nor_alpn() {
        let clear = plan(
            "auto+0rtt+reuse",
            "http://a/",
            &OriginFacts::default(),
            true,
        )
        .unwrap();
        assert_eq!(clear.tcp, Some(StreamProtocol::default()));
        let origin = Origin {
            scheme: Scheme::Http,
            host: "a".into(),
            port: 80,
        };
        let solo = |word: &str| is_solo(word.parse().unwrap(), &origin, &OriginFacts::default());
        assert!(solo("auto") && !solo("h2"));
    }
}
