//! All settings, as plain values and as flags. `tls`, `tcp`, `quic`, `routes` and `serve` read
//! them.

mod fault;
mod http;
mod listen;
mod tls;
mod units;

pub use fault::{Fault, FaultKind, FaultPhase};
pub use http::{Expect, HttpKnobs};
pub use listen::{EchoKnobs, ListenKnobs, Quic, QuicEngine};
pub use tls::{Certificate, ClientCertificate, EarlyData, Group, Tickets, TlsKnobs, TlsVersions};

/// Every knob. `Knobs::default()` is a well-behaved server on free loopback ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
pub struct Knobs {
    #[command(flatten)]
    pub listen: ListenKnobs,
    #[command(flatten)]
    pub tls: TlsKnobs,
    #[command(flatten)]
    pub http: HttpKnobs,
    /// Misbehave at one point of each connection: KIND@PHASE. Kinds: reset (RST), close (FIN),
    /// stall, garbage. Phases: accept, hello (after the `ClientHello`), handshake (after half of
    /// the server's flight), request (after the request), head (in mid-headers), body (in mid-body)
    #[arg(long, value_name = "KIND@PHASE", help_heading = "Faults")]
    pub fault: Option<Fault>,
    /// Misbehave this many times, then behave well
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub fault_times: Option<u64>,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        knobs: Knobs,
    }

    fn parse(words: &str) -> Result<Knobs, clap::Error> {
        Line::try_parse_from(format!("origin {words}").split_whitespace()).map(|line| line.knobs)
    }

    #[test]
    fn no_flags_are_the_default() {
        assert_eq!(parse("").unwrap(), Knobs::default());
    }

    #[test]
    fn flags_reach_their_fields() {
        let knobs = parse(
            "--think 150ms --close-after 3 --groups secp384r1,x25519 --alpn none --early-data refused \
             --fault reset@body --fault-times 2 --streams 9 --bind 127.0.0.1 --bind ::1 --fast-open 16 --tls 1.2 --h3 off --quic-engine own --keep-alive 2s",
        )
        .unwrap();
        assert_eq!(knobs.http.think.as_millis(), 150);
        assert_eq!(knobs.http.keep_alive.as_secs(), 2);
        assert_eq!(knobs.http.close_after, Some(3));
        assert_eq!(knobs.tls.groups, [Group::Secp384r1, Group::X25519]);
        assert!(knobs.tls.protocols().is_empty());
        assert_eq!(knobs.tls.early_data, EarlyData::Refused);
        assert_eq!(knobs.listen.bind.len(), 2);
        assert_eq!(knobs.listen.fast_open, 16);
        assert_eq!(knobs.listen.h3, Quic::Off);
        assert_eq!(knobs.listen.quic_engine, QuicEngine::Own);
        assert_eq!(knobs.tls.versions, TlsVersions::Tls12);
        assert_eq!((knobs.fault_times, knobs.http.streams), (Some(2), 9));
        let fault = knobs.fault.unwrap();
        assert_eq!(
            (fault.kind, fault.phase),
            (FaultKind::Reset, FaultPhase::Body)
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--fault reset",
            "--fault melt@body",
            "--think soon",
            "--chain-bytes 9999999",
            "--groups rot13",
            "--header-bytes 99999999",
        ] {
            assert!(parse(line).is_err(), "{line} was taken");
        }
    }
}
