//! Limits for pipelines: `ttfb > 300ms`, `round_trips > 3`, `tls < 1.3`. The run fails if any of
//! these conditions holds.

use std::fmt;
use std::str::FromStr;

use crate::{Bound, ComparisonOperator, Event, Exchange, Moment, PhaseName, excerpt};

/// A condition that must not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    quantity: Quantity,
    comparison: ComparisonOperator,
    bound: f64,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Total,
    FirstByte,
    Phase(PhaseName),
    Rtt,
    Client,
    Server,
    Network,
    Unknown,
    RoundTrips,
    TlsVersion,
    HttpVersion,
    Status,
    Retransmits,
    DaysLeft,
    Size,
}

const QUANTITIES: [(&str, Quantity); 21] = [
    ("total", Quantity::Total),
    ("ttfb", Quantity::FirstByte),
    ("name", Quantity::Phase(PhaseName::Name)),
    ("tcp", Quantity::Phase(PhaseName::Tcp)),
    ("handshake", Quantity::Phase(PhaseName::Tls)),
    ("quic", Quantity::Phase(PhaseName::Quic)),
    ("request", Quantity::Phase(PhaseName::Request)),
    ("wait", Quantity::Phase(PhaseName::FirstByte)),
    ("body", Quantity::Phase(PhaseName::Body)),
    ("setup", Quantity::Phase(PhaseName::Setup)),
    ("rtt", Quantity::Rtt),
    ("client", Quantity::Client),
    ("server", Quantity::Server),
    ("network", Quantity::Network),
    ("unknown", Quantity::Unknown),
    ("round_trips", Quantity::RoundTrips),
    ("tls", Quantity::TlsVersion),
    ("http", Quantity::HttpVersion),
    ("status", Quantity::Status),
    ("retransmits", Quantity::Retransmits),
    ("days_left", Quantity::DaysLeft),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error(
        "'{0}' is not a limit; write QUANTITY COMPARISON VALUE, as in 'ttfb > 300ms' or 'tls < 1.3'"
    )]
    Shape(String),
    #[error("'{0}' is not a quantity that can be limited; known: {known}", known = known())]
    Quantity(String),
    #[error(
        "'{0}' is not a value for this quantity; times take us, ms or s, sizes a number of bytes"
    )]
    Value(String),
}

fn known() -> String {
    let mut names: Vec<&str> = QUANTITIES.iter().map(|(n, _)| *n).collect();
    names.push("size");
    names.join(" ")
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let short = || excerpt(text, 60);
        let (left, comparison, right) =
            ComparisonOperator::split(text).ok_or_else(|| LimitError::Shape(short()))?;
        let quantity = if left == "size" {
            Quantity::Size
        } else {
            QUANTITIES
                .iter()
                .find(|(n, _)| *n == left)
                .map(|(_, q)| *q)
                .ok_or_else(|| LimitError::Quantity(short()))?
        };
        let bound = quantity
            .read(right)
            .ok_or_else(|| LimitError::Value(excerpt(right, 40)))?;
        Ok(Self {
            quantity,
            comparison,
            bound,
            text: text.trim().to_owned(),
        })
    }
}

impl Limit {
    /// The measured value, if the exchange violates this limit. A quantity that was not measured
    /// violates no limit.
    pub fn broken_by(&self, exchange: &Exchange) -> Option<f64> {
        let value = self.quantity.of(exchange)?;
        self.comparison.holds(value, self.bound).then_some(value)
    }

    /// Says that the exchange violates this limit, with the measured value.
    pub fn complaint(&self, value: f64, exchange: &Exchange) -> String {
        let value = if self.quantity.is_time() {
            format!("{value:.3} ms")
        } else {
            format!("{value}")
        };
        format!("limit missed: {self} ({value}, {})", exchange.url)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Quantity {
    fn is_time(self) -> bool {
        matches!(
            self,
            Self::Total
                | Self::FirstByte
                | Self::Phase(_)
                | Self::Rtt
                | Self::Client
                | Self::Server
                | Self::Network
                | Self::Unknown
        )
    }

    /// Parses a bound; times become milliseconds.
    fn read(self, text: &str) -> Option<f64> {
        match Bound::read(text)? {
            Bound::Plain(value) => Some(value),
            Bound::Ms(value) if self.is_time() => Some(value),
            Bound::Ms(_) | Bound::Share(_) => None,
        }
    }

    fn of(self, exchange: &Exchange) -> Option<f64> {
        let http = exchange.http.as_ref();
        match self {
            Self::Total => Some(exchange.total().as_secs_f64() * 1e3),
            Self::FirstByte => exchange
                .timeline
                .first(|e| *e == Event::FirstByte)
                .map(Moment::as_millis),
            Self::Phase(name) => exchange
                .phases()
                .iter()
                .find(|p| p.name == name)
                .map(crate::Phase::ms),
            Self::Rtt => exchange.rtt.map(|r| r.as_secs_f64() * 1e3),
            Self::Client => Some(exchange.phases().iter().map(|p| p.waited.client).sum()),
            Self::Server => Some(exchange.phases().iter().map(|p| p.waited.server).sum()),
            Self::Network => Some(exchange.phases().iter().map(|p| p.waited.network).sum()),
            Self::Unknown => Some(exchange.phases().iter().map(|p| p.waited.unknown).sum()),
            Self::RoundTrips => Some(f64::from(exchange.round_trips())),
            // Clear text counts as older than every TLS version.
            Self::TlsVersion => match &exchange.tls {
                Some(tls) => tls
                    .version
                    .trim_start_matches("TLS")
                    .trim_start_matches('v')
                    .parse()
                    .ok(),
                None => http.map(|_| 0.0),
            },
            Self::HttpVersion => http.and_then(|h| h.version.parse().ok()),
            Self::Status => http.map(|h| f64::from(h.status)),
            Self::Retransmits => exchange.tcp.as_ref().map(|t| f64::from(t.retransmits)),
            Self::DaysLeft => {
                let chain = exchange.tls.as_ref()?.chain.as_ref()?;
                chain
                    .certificates
                    .iter()
                    .map(|c| c.days_left as f64)
                    .reduce(f64::min)
            }
            Self::Size => http.map(|h| h.downloaded as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HttpFacts, TlsFacts};

    fn exchange() -> Exchange {
        let mut e = Exchange {
            http: Some(HttpFacts {
                status: 200,
                version: "1.1".into(),
                ..HttpFacts::default()
            }),
            tls: Some(TlsFacts {
                version: "TLSv1.2".into(),
                ..TlsFacts::default()
            }),
            ..Exchange::default()
        };
        e.timeline
            .push(Moment::from_millis(1.0), Event::RequestSent);
        e.timeline
            .push(Moment::from_millis(350.0), Event::FirstByte);
        e.timeline.push(Moment::from_millis(360.0), Event::Finished);
        e
    }

    #[test]
    fn limits_hold_and_break() {
        let e = exchange();
        for broken in [
            "ttfb > 300ms",
            "ttfb>=0.3s",
            "tls < 1.3",
            "status != 404",
            "total > 300",
            "status==200",
        ] {
            assert!(
                broken.parse::<Limit>().unwrap().broken_by(&e).is_some(),
                "{broken}"
            );
        }
        for kept in [
            "ttfb > 1s",
            "tls < 1.2",
            "round_trips > 3",
            "http > 1.1",
            "rtt > 1us",
        ] {
            assert!(
                kept.parse::<Limit>().unwrap().broken_by(&e).is_none(),
                "{kept}"
            );
        }
    }

    #[test]
    fn a_wait_without_a_witness_is_not_the_server_s() {
        let mut e = exchange();
        e.rtt = Some(std::time::Duration::from_millis(50));
        e.undecided = vec![(PhaseName::FirstByte, 200.0)];
        let broken = |text: &str| text.parse::<Limit>().unwrap().broken_by(&e).is_some();
        assert!(broken("unknown >= 200ms") && !broken("unknown > 200ms"));
        assert!(broken("server > 90ms") && !broken("server > 110ms"));
    }

    #[test]
    fn bad_limits_are_named() {
        assert!(matches!("ttfb".parse::<Limit>(), Err(LimitError::Shape(_))));
        assert!(matches!(
            "speed > 3".parse::<Limit>(),
            Err(LimitError::Quantity(_))
        ));
        assert!(matches!(
            "status > 200ms".parse::<Limit>(),
            Err(LimitError::Value(_))
        ));
        assert!(matches!(
            "ttfb > soon".parse::<Limit>(),
            Err(LimitError::Value(_))
        ));
        assert!(matches!(
            "ttfb > NaN".parse::<Limit>(),
            Err(LimitError::Value(_))
        ));
    }
}
