//! One transfer as curl sees it: all hops of a run as one, with curl's rules for sums and for
//! values of the last hop.

use std::net::SocketAddr;

use roundtrip_model::{Event, Exchange, Failure, HttpFacts, Moment, PhaseName, Target, TlsFacts};

use crate::run::Run;

/// The input of a template. [`TemplateInput::new`] fills in the values from the hops; the caller
/// sets the others.
#[derive(Debug, Clone)]
pub struct TemplateInput<'a> {
    pub hops: &'a [Exchange],
    /// The URL as typed, and its position among the URLs, from 0.
    pub url: &'a str,
    pub url_number: u32,
    /// The file that the body was written to, if any.
    pub output_file: Option<&'a str>,
    /// The method of the first request.
    pub method: &'a str,
    pub referer: Option<&'a str>,
    pub exit_code: u8,
    pub error: Option<&'a str>,
    pub connection_id: u64,
    pub id: u64,
    pub proxy_used: bool,
}

impl<'a> TemplateInput<'a> {
    pub fn new(hops: &'a [Exchange], url: &'a str) -> Self {
        let failure = Run { hops }.failure();
        Self {
            hops,
            url,
            url_number: 0,
            output_file: None,
            method: "GET",
            referer: None,
            exit_code: failure.map_or(0, roundtrip_model::Failure::curl_code),
            error: failure.map(|f| f.message.as_str()),
            connection_id: 0,
            id: 0,
            proxy_used: false,
        }
    }

    pub(super) fn run(&self) -> Run<'a> {
        Run { hops: self.hops }
    }

    pub(super) fn last(&self) -> Option<&'a Exchange> {
        self.hops.last()
    }

    pub(super) fn http(&self) -> Option<&'a HttpFacts> {
        self.last()?.http.as_ref()
    }

    /// The last request, whether answered or not.
    pub(super) fn asked(&self) -> Option<&'a HttpFacts> {
        self.last().and_then(request)
    }

    pub(super) fn tls(&self) -> Option<&'a TlsFacts> {
        self.last()?.tls.as_ref()
    }

    pub(super) fn headers(&self) -> &'a [(String, Vec<u8>)] {
        self.http().map_or(&[], |h| h.headers.as_slice())
    }

    /// A header as text; bytes that are not text are escaped.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.http()?.header(name).map(crate::terminal::lossy)
    }

    pub(super) fn effective_url(&self) -> String {
        match self.last() {
            Some(last) if !last.url.is_empty() => last.url.clone(),
            _ => Target::parse(self.url).map_or_else(|_| self.url.to_owned(), |t| t.to_string()),
        }
    }

    /// The target of a redirect that was not followed.
    pub(super) fn redirect_url(&self) -> Option<String> {
        let to = self.http()?.redirect.as_deref()?;
        let base = Target::parse(&self.effective_url()).ok()?;
        Some(base.join(to).map_or_else(
            |_| to.to_owned(),
            |t| t.without_userinfo().url().to_string(),
        ))
    }

    pub(super) fn local(&self) -> Option<SocketAddr> {
        let last = self.last()?;
        last.tcp
            .as_ref()
            .and_then(|t| t.local)
            .or_else(|| last.quic.as_ref()?.local)
    }

    pub(super) fn remote(&self) -> Option<SocketAddr> {
        let last = self.last()?;
        last.tcp
            .as_ref()
            .and_then(|t| t.peer)
            .or_else(|| last.quic.as_ref()?.peer)
    }

    /// The number of connections that this transfer opened.
    pub(super) fn connects(&self) -> u64 {
        let opened =
            |e: &&Exchange| !e.reused && at(e, |v| matches!(v, Event::Connected { .. })).is_some();
        self.hops.iter().filter(opened).count() as u64
    }

    pub(super) fn sum(&self, size: impl Fn(&HttpFacts) -> u64) -> u64 {
        self.hops
            .iter()
            .filter_map(|e| e.http.as_ref())
            .map(size)
            .sum()
    }

    /// The size of requests: headers, and each body that is small enough for curl to send it
    /// together with its header.
    pub(super) fn request_size(&self) -> u64 {
        const SENT_ALONG: u64 = 64 * 1024;
        // HTTP/2 and HTTP/3 have separate frames for a body.
        let along = |h: &HttpFacts| {
            let text = !matches!(h.version.as_str(), "2" | "3");
            if text && h.uploaded < SENT_ALONG {
                h.uploaded
            } else {
                0
            }
        };
        let asked = self.hops.iter().filter_map(request);
        asked.map(|h| h.request_bytes + along(h)).sum()
    }

    /// The average speed in bytes per second, rounded down.
    pub(super) fn speed(&self, size: u64) -> u64 {
        let micros = self.total_micros().max(1);
        u64::try_from(u128::from(size) * 1_000_000 / u128::from(micros)).unwrap_or(u64::MAX)
    }

    pub(super) fn total_micros(&self) -> u64 {
        self.hops.iter().map(|e| e.timeline.end().0 / 1000).sum()
    }

    /// The start of the last hop; zero if there was no redirect.
    pub(super) fn redirect_micros(&self) -> u64 {
        let before = self.hops.len().saturating_sub(1);
        self.hops
            .iter()
            .take(before)
            .map(|e| e.timeline.end().0 / 1000)
            .sum()
    }

    /// The time of one step as curl counts it: each hop from its own start, and all hops added up.
    /// A step that happened takes at least a microsecond, because zero means that it did not
    /// happen.
    pub(super) fn step_micros(&self, step: impl Fn(&Exchange) -> Option<Moment>) -> u64 {
        self.hops
            .iter()
            .filter_map(step)
            .map(|m| (m.0 / 1000).max(1))
            .sum()
    }
}

fn request(exchange: &Exchange) -> Option<&HttpFacts> {
    exchange.http.as_ref().or(exchange.unanswered.as_ref())
}

pub(super) fn at(exchange: &Exchange, is: impl Fn(&Event) -> bool) -> Option<Moment> {
    exchange.timeline.first(is)
}

/// The time when the name was known: after the lookup or, without one, at the start of the next
/// step.
pub(super) fn looked_up(exchange: &Exchange) -> Option<Moment> {
    let unknown = |f: &Failure| f.phase == PhaseName::Name;
    if exchange.failure.as_ref().is_some_and(unknown) {
        return None;
    }
    at(exchange, |e| *e == Event::LookupFinished).or_else(|| {
        if at(exchange, |e| *e == Event::LookupStarted).is_some() {
            return None;
        }
        at(exchange, |e| {
            matches!(
                e,
                Event::AttemptStarted { .. } | Event::HandshakeStarted | Event::RequestStarted
            )
        })
    })
}

pub(super) fn connected(exchange: &Exchange) -> Option<Moment> {
    let opened = at(exchange, |e| matches!(e, Event::Connected { .. }))?;
    (!exchange.reused).then_some(opened)
}
