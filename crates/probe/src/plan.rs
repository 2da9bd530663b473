//! Which versions and protocols to offer, based on a strategy, the target's scheme and the
//! announcements for its name. Pure.

use roundtrip_model::{Http, HttpsRecord, Memory, Scheme, Security, Strategy, Target};
use roundtrip_tls::Offer;

use crate::ProbeError;

/// The versions and protocols to try for one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionPlan {
    /// The offer of TLS over TCP, if the plan has TLS.
    pub(crate) tls: Option<Offer>,
    /// TCP may be tried.
    pub(crate) tcp: bool,
    pub(crate) quic: Option<Offer>,
    pub(crate) early_data: bool,
    pub(crate) fast_open: bool,
    /// Whether the server is known to speak HTTP/2 without TLS. RFC 9113 §3.3.
    pub(crate) prior_knowledge: bool,
    /// The protocol that the user insists on.
    pub(crate) insists: Option<&'static str>,
    pub(crate) via_proxy: bool,
}

/// Announcements and earlier exchanges that show which protocols a target speaks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Announced<'a> {
    pub(crate) https_record: Option<&'a HttpsRecord>,
    pub(crate) alt_svc_h3: bool,
    /// The protocol of the exchange that obtained a ticket, a cookie or a connection, which are
    /// valid only for that protocol.
    pub(crate) spoken: Option<Http>,
}

impl Announced<'_> {
    fn is_h3(&self) -> bool {
        let in_record = |r: &HttpsRecord| r.alpn.iter().any(|p| p == "h3");
        self.alt_svc_h3 || self.https_record.is_some_and(in_record)
    }

    /// Whether HTTP/3 would be tried if the first exchange had not used another protocol.
    pub(crate) fn is_h3_left_out(&self, strategy: Strategy, proxied: bool) -> bool {
        let is_free = strategy == Strategy::default() && !proxied;
        is_free && self.is_h3() && self.spoken.is_some_and(|http| http != Http::H3)
    }
}

impl ConnectionPlan {
    pub(crate) fn new(
        strategy: Strategy,
        target: &Target,
        announced: Announced<'_>,
        proxied: bool,
        safe_method: bool,
    ) -> Result<Self, ProbeError> {
        let refuse = |why| Err(ProbeError::Strategy { strategy, why });
        let secure = match (target.scheme, strategy.security) {
            (Scheme::Https, Security::Clear) => {
                return refuse("the URL says https; write http:// for clear text");
            }
            (Scheme::Http, Security::Tls12 | Security::Tls13) => {
                return refuse("the URL says http; write https:// for TLS");
            }
            (Scheme::Http, _) if strategy.memory != Memory::Cold => {
                return refuse("resumption needs https://");
            }
            (scheme, _) => scheme == Scheme::Https,
        };
        match (target.scheme, strategy.http) {
            (Scheme::Tcp, Http::Auto | Http::Echo) => {}
            (Scheme::Tcp, _) => return refuse("a tcp:// URL carries no HTTP"),
            (_, Http::Echo) => return refuse("the echo needs a tcp:// URL"),
            (Scheme::Http, Http::H3) => return refuse("HTTP/3 needs https://"),
            (_, Http::H3) if proxied => return refuse("HTTP/3 does not go through an HTTP proxy"),
            _ => {}
        }
        let early_data = strategy.memory == Memory::EarlyData && safe_method;
        let offer = |alpn: Vec<&'static str>, quic: bool| Offer {
            tls12: !quic && strategy.security != Security::Tls13,
            tls13: quic || strategy.security != Security::Tls12,
            post_quantum: strategy.post_quantum,
            early_data,
            resume: strategy.memory != Memory::Cold,
            alpn,
            quic,
        };
        let http = match strategy.http {
            Http::Auto => announced.spoken.unwrap_or(Http::Auto),
            asked => asked,
        };
        let may_h3 = http == Http::Auto
            && secure
            && !proxied
            && !strategy.fast_open
            && strategy.security == Security::Auto
            && announced.is_h3();
        Ok(Self {
            tls: secure.then(|| offer(tcp_alpn(http, strategy.http), false)),
            tcp: http != Http::H3,
            quic: (http == Http::H3 || may_h3).then(|| offer(vec!["h3"], true)),
            early_data,
            fast_open: strategy.fast_open,
            prior_knowledge: !secure && strategy.http == Http::H2,
            insists: (strategy.http == Http::H2).then_some("h2"),
            via_proxy: proxied,
        })
    }
}

/// The ALPN protocols for TCP. A strategy that leaves the choice to the server offers both.
fn tcp_alpn(http: Http, asked: Http) -> Vec<&'static str> {
    match (http, asked) {
        (Http::H1, _) => vec!["http/1.1"],
        (_, Http::H2) => vec!["h2"],
        _ => vec!["h2", "http/1.1"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(strategy: &str, url: &str, alt_svc_h3: bool) -> Result<ConnectionPlan, ProbeError> {
        let announced = Announced {
            alt_svc_h3,
            ..Announced::default()
        };
        ConnectionPlan::new(
            strategy.parse().unwrap(),
            &Target::parse(url).unwrap(),
            announced,
            false,
            true,
        )
    }

    #[test]
    fn a_modern_client_takes_h3_only_where_it_is_announced() {
        assert!(plan("auto", "https://a/", false).unwrap().quic.is_none());
        let both = plan("auto", "https://a/", true).unwrap();
        assert!(both.tcp && both.quic.is_some());
        let only = plan("h3", "https://a/", false).unwrap();
        assert!(!only.tcp && only.quic.is_some());
        assert!(plan("auto", "http://a/", true).unwrap().quic.is_none());
        assert!(
            plan("auto+tls1.2", "https://a/", true)
                .unwrap()
                .quic
                .is_none()
        );
    }

    #[test]
    fn the_protocol_that_left_a_ticket_is_used_again() {
        let plan = |spoken| {
            let announced = Announced {
                alt_svc_h3: true,
                spoken,
                ..Announced::default()
            };
            let (strategy, target) = ("auto+0rtt", Target::parse("https://a/").unwrap());
            ConnectionPlan::new(strategy.parse().unwrap(), &target, announced, false, true).unwrap()
        };
        let h2 = plan(Some(Http::H2));
        assert!(h2.tcp && h2.quic.is_none() && h2.insists.is_none());
        assert_eq!(plan(Some(Http::H1)).tls.unwrap().alpn, ["http/1.1"]);
        let h3 = plan(Some(Http::H3));
        assert!(!h3.tcp && h3.quic.is_some());
        assert!(plan(None).tcp && plan(None).quic.is_some());
    }

    #[test]
    fn contradictions_are_refused() {
        for (strategy, url) in [
            ("h1+tls1.3", "http://a/"),
            ("h1+clear", "https://a/"),
            ("h3", "http://a/"),
            ("auto+resume", "http://a/"),
            ("tcp", "http://a/"),
            ("h1", "tcp://a:1"),
        ] {
            assert!(plan(strategy, url, false).is_err(), "{strategy} {url}");
        }
    }

    #[test]
    fn early_data_is_for_safe_methods() {
        let strategy: Strategy = "h1+tls1.3+0rtt".parse().unwrap();
        let target = Target::parse("https://a/").unwrap();
        let unsafe_method =
            ConnectionPlan::new(strategy, &target, Announced::default(), false, false).unwrap();
        assert!(!unsafe_method.early_data && !unsafe_method.tls.unwrap().early_data);
    }
}
