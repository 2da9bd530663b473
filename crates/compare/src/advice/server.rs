//! The settings of servers that identify themselves, and a sentence for all others.

use crate::way::Remedy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Make {
    Nginx,
    Apache,
    Caddy,
    HaProxy,
    Other,
}

impl Make {
    /// Recognises the software by the Server header. HAProxy does not send one by default, but can
    /// be configured to.
    pub(super) fn from_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let makes = [
            ("nginx", Self::Nginx),
            ("openresty", Self::Nginx),
            ("apache", Self::Apache),
            ("caddy", Self::Caddy),
            ("haproxy", Self::HaProxy),
        ];
        let known = makes.iter().find(|(word, _)| name.starts_with(word));
        known.map_or(Self::Other, |(_, make)| *make)
    }
}

pub(super) fn setting(remedy: Remedy, make: Make) -> Option<&'static str> {
    match make {
        Make::Nginx => nginx(remedy),
        Make::Apache => apache(remedy),
        Make::Caddy => caddy(remedy),
        Make::HaProxy => haproxy(remedy),
        Make::Other => any(remedy),
    }
}

/// ngx_http_ssl_module, ngx_http_v2_module, ngx_http_v3_module, ngx_http_core_module.
fn nginx(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection | Remedy::AtOnce => {
            "nginx: keepalive_timeout (75s unless set), longer than the pauses between requests"
        }
        Remedy::Tls13 => "nginx: ssl_protocols TLSv1.2 TLSv1.3;",
        Remedy::Resumption => {
            "nginx: ssl_session_cache shared:TLS:10m; and ssl_session_tickets on;"
        }
        Remedy::EarlyData => {
            "nginx: ssl_early_data on; and proxy_set_header Early-Data $ssl_early_data; so that the application can answer 425"
        }
        Remedy::FastOpen | Remedy::FastOpenClassical => {
            "nginx: listen 443 ssl fastopen=256; and sysctl net.ipv4.tcp_fastopen=3"
        }
        Remedy::FastOpenEarly => {
            "nginx: listen 443 ssl fastopen=256; ssl_early_data on; and sysctl net.ipv4.tcp_fastopen=3"
        }
        Remedy::Http2 => "nginx: http2 on; (before 1.25.1: listen 443 ssl http2)",
        Remedy::Http3 => {
            "nginx: listen 443 quic reuseport; and add_header Alt-Svc 'h3=\":443\"; ma=86400' always; UDP open"
        }
        Remedy::Http3Early => {
            "nginx: listen 443 quic reuseport; ssl_early_data on; a TLS library with early data over QUIC; UDP open"
        }
        other => return any(other),
    })
}

/// core, mod_ssl, mod_http2 of 2.4.
fn apache(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection | Remedy::AtOnce => {
            "Apache: KeepAlive On and KeepAliveTimeout (5 unless set), longer than the pauses between requests"
        }
        Remedy::Tls13 => "Apache: SSLProtocol all -SSLv3 -TLSv1 -TLSv1.1",
        Remedy::Resumption => "Apache: SSLSessionTickets On and SSLSessionCache shmcb:…",
        Remedy::EarlyData | Remedy::FastOpenEarly => {
            "Apache: mod_ssl has no early data; a proxy in front can (HAProxy, nginx)"
        }
        Remedy::FastOpen | Remedy::FastOpenClassical => {
            "Apache 2.4 has no setting; sysctl net.ipv4.tcp_fastopen=0x403 turns it on for every listener"
        }
        Remedy::Http2 => "Apache: Protocols h2 http/1.1 (mod_http2)",
        Remedy::Http3 | Remedy::Http3Early => {
            "Apache has no HTTP/3; a proxy in front can (Caddy, HAProxy, nginx)"
        }
        other => return any(other),
    })
}

/// The global option `servers`.
fn caddy(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection | Remedy::AtOnce => {
            "Caddy: servers { timeouts { idle … } } (5m unless set), longer than the pauses between requests"
        }
        Remedy::Tls13 => "Caddy: tls { protocols tls1.2 tls1.3 }, the default",
        Remedy::EarlyData | Remedy::FastOpenEarly => {
            "Caddy: Go's TLS serves no early data over TCP; HAProxy and nginx do"
        }
        Remedy::FastOpen | Remedy::FastOpenClassical => {
            "Caddy has no setting; sysctl net.ipv4.tcp_fastopen=0x403 turns it on for every listener"
        }
        Remedy::Http2 | Remedy::Http3 => {
            "Caddy: servers { protocols h1 h2 h3 }, the default; UDP open"
        }
        other => return any(other),
    })
}

/// HAProxy's configuration manual, chapter 5.1.
fn haproxy(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection | Remedy::AtOnce => {
            "HAProxy: timeout http-keep-alive, longer than the pauses between requests"
        }
        Remedy::Tls13 => "HAProxy: bind … ssl-min-ver TLSv1.2, and no ssl-max-ver below TLSv1.3",
        Remedy::Resumption => "HAProxy: bind … without no-tls-tickets",
        Remedy::EarlyData => "HAProxy: bind … allow-0rtt",
        Remedy::FastOpen | Remedy::FastOpenClassical => {
            "HAProxy: bind … tfo, and sysctl net.ipv4.tcp_fastopen=3"
        }
        Remedy::FastOpenEarly => {
            "HAProxy: bind … tfo allow-0rtt, and sysctl net.ipv4.tcp_fastopen=3"
        }
        Remedy::Http2 => "HAProxy: bind … alpn h2,http/1.1",
        Remedy::Http3 => {
            "HAProxy: bind quic4@:443 ssl crt … alpn h3, and an alt-svc header; UDP open"
        }
        other => return any(other),
    })
}

fn any(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::KeepConnection | Remedy::AtOnce => {
            "hold idle connections longer than the pauses between requests"
        }
        Remedy::Tls13 => "allow TLS 1.3",
        Remedy::Resumption => {
            "give session tickets, with the same keys on all servers behind the name"
        }
        Remedy::EarlyData => {
            "allow early data, and answer 425 where a replay would do harm (RFC 8470)"
        }
        Remedy::FastOpen | Remedy::FastOpenClassical => {
            "TCP_FASTOPEN on the listener, and sysctl net.ipv4.tcp_fastopen=3"
        }
        Remedy::FastOpenEarly => {
            "TCP_FASTOPEN on the listener, sysctl net.ipv4.tcp_fastopen=3, and early data"
        }
        Remedy::Http1 | Remedy::Http2 => "offer the protocol in ALPN",
        Remedy::Http3 => "serve HTTP/3, announce it by Alt-Svc, and open UDP",
        Remedy::Http3Early => "serve HTTP/3 with early data, and open UDP",
        Remedy::IPv6 | Remedy::IPv4 => "the same path and capacity over both families",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_what_they_call_themselves() {
        assert_eq!(Make::from_name("nginx/1.26.3"), Make::Nginx);
        assert_eq!(Make::from_name("Apache/2.4.65 (Debian)"), Make::Apache);
        assert_eq!(Make::from_name("not nginx"), Make::Other);
        let of = |make| setting(Remedy::FastOpen, make).unwrap_or_default();
        assert!(of(Make::Nginx).contains("fastopen=256"));
        assert!(of(Make::Other).contains("TCP_FASTOPEN"));
    }
}
