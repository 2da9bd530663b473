//! The facts of an exchange besides its times, as short labelled sentences: one wording for
//! terminal and page. This is the one place where text from peers is cleaned.

mod connection;
mod security;

use roundtrip_model::{Exchange, HttpFacts, Primer};

use crate::numbers::{self, count, span_ms, trips};
use crate::terminal::clean;

/// One labelled fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub label: &'static str,
    pub value: String,
}

/// The facts of one exchange, in the order in which they were learnt.
pub fn facts(exchange: &Exchange) -> Vec<Fact> {
    let mut list = List::default();
    strategy(&mut list, exchange);
    connection::add(&mut list, exchange);
    security::add(&mut list, exchange);
    if let Some(http) = &exchange.http {
        if http.is_seen() {
            response(&mut list, http);
        } else {
            let sizes = [
                format!("request {}", numbers::bytes(http.request_bytes)),
                format!("answer {}", numbers::bytes(http.downloaded)),
            ];
            list.join("encrypted", ", ", sizes);
        }
    }
    if let Some(echo) = &exchange.echo {
        list.add(
            "echo",
            format!(
                "{} sent, {} received, in {}",
                numbers::bytes(echo.sent),
                numbers::bytes(echo.received),
                count(echo.exchanges.into(), "exchange", "exchanges")
            ),
        );
    }
    list.join(
        "client work",
        " · ",
        exchange
            .timeline
            .work()
            .iter()
            .map(|(task, took)| format!("{} {} ms", task.title(), span_ms(*took))),
    );
    list.facts
}

/// The time for which bytes were on their way, if it is long: it belongs to no finding.
pub(crate) fn carried(exchange: &Exchange) -> Option<String> {
    let ms = numbers::ms(exchange.carried_worth_reporting()?);
    let size = exchange
        .http
        .as_ref()
        .map_or(0, |http| http.uploaded + http.downloaded);
    let size = numbers::bytes(size);
    Some(format!(
        "{ms} ms: bytes on the path ({size} in total); no finding accounts for this time"
    ))
}

#[derive(Default)]
struct List {
    facts: Vec<Fact>,
}

impl List {
    fn add(&mut self, label: &'static str, value: String) {
        self.facts.push(Fact { label, value });
    }

    /// Adds the parts as one fact, unless there are none.
    fn join(
        &mut self,
        label: &'static str,
        between: &str,
        parts: impl IntoIterator<Item = String>,
    ) {
        let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        if !parts.is_empty() {
            self.add(label, parts.join(between));
        }
    }
}

fn strategy(list: &mut List, exchange: &Exchange) {
    let is_connected = exchange.tcp.is_some() || exchange.quic.is_some();
    if exchange.ok() || is_connected {
        let asked = if exchange.asked == exchange.used {
            String::new()
        } else {
            format!(" (asked for {})", exchange.asked)
        };
        list.add("strategy", format!("{}{asked}", exchange.used));
    }
    if exchange.ok() {
        let expected = trips(exchange.used.round_trips());
        let more = match exchange.extra_trips {
            0 => String::new(),
            n => format!(", and {n} more in the handshake"),
        };
        list.add("arithmetic", expected + &more);
    }
    match &exchange.primer {
        Some(primer) => list.add("before it", paid(primer)),
        None if exchange.primed => list.add("before it", "an unmeasured exchange".into()),
        None => {}
    }
}

/// `an unmeasured exchange: 275.5 ms, 3 round trips as h2+tls1.3`.
fn paid(primer: &Primer) -> String {
    format!(
        "an unmeasured exchange: {} ms, {} as {}",
        span_ms(primer.took),
        trips(primer.round_trips),
        primer.used
    )
}

fn response(list: &mut List, http: &HttpFacts) {
    list.join(
        "response",
        ", ",
        [
            format!(
                "HTTP/{} {} {}",
                clean(&http.version),
                http.status,
                clean(&http.reason)
            )
            .trim_end()
            .to_owned(),
            format!("header {}", numbers::bytes(http.header_bytes)),
            body(http),
            if http.keep_alive {
                "connection kept"
            } else {
                "connection closed"
            }
            .into(),
        ],
    );
    list.join("interim", ", ", http.interim.iter().map(u16::to_string));
    list.join("redirect", "", http.redirect.iter().map(|to| clean(to)));
    list.join("Alt-Svc", "", http.alt_svc.iter().map(|a| clean(a)));
    list.join(
        "Server-Timing",
        " · ",
        http.server_timing.iter().map(|(name, took, text)| {
            let took = took
                .map(|d| format!(" {} ms", span_ms(d)))
                .unwrap_or_default();
            let text = if text.is_empty() {
                String::new()
            } else {
                format!(" ({})", clean(text))
            };
            format!("{}{took}{text}", clean(name))
        }),
    );
    if http.proxy_status != 0 {
        list.add(
            "proxy",
            format!("answered CONNECT with {}", http.proxy_status),
        );
    }
}

fn body(http: &HttpFacts) -> String {
    if http.decoded != 0 && http.decoded != http.downloaded {
        format!(
            "body {} ({} decoded)",
            numbers::bytes(http.downloaded),
            numbers::bytes(http.decoded)
        )
    } else {
        format!("body {}", numbers::bytes(http.downloaded))
    }
}
