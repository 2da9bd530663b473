//! The facts about a request and its answer in clear text, and the URL.

use roundtrip_model::{Exchange, HttpFacts};
use roundtrip_wire::server_timing;

use super::ExchangeBuilder;
use crate::application::TracedRequest;
use crate::http1::Http1Message;
use crate::tcp::Content;

impl ExchangeBuilder<'_> {
    pub(super) fn url(&self, request: Option<&Http1Message>) -> String {
        let server = self.flow.server;
        let of_hello = self
            .tls
            .and_then(|seen| seen.client.as_ref()?.server_name.clone());
        let name = of_hello.or_else(|| self.context.name.map(str::to_owned));
        let (scheme, usual) = match &self.flow.content {
            Content::Tls(_) => ("https", 443),
            Content::Http1(_) | Content::Http2(_) => ("http", 80),
            Content::Unknown if server.port() == 443 => ("https", 443),
            Content::Unknown if server.port() == 80 => ("http", 80),
            _ => ("tcp", 0),
        };
        if let Some(request) = request {
            if request.target.contains("://") || request.method == "CONNECT" {
                return request.target.clone();
            }
            if let Some(host) = request.field("host") {
                let host = String::from_utf8_lossy(host);
                return format!("{scheme}://{host}{}", request.target);
            }
        }
        let target = request.map_or("/", |request| request.target.as_str());
        let target = if scheme == "tcp" { "" } else { target };
        match name {
            Some(name) if server.port() == usual => format!("{scheme}://{name}{target}"),
            Some(name) => format!("{scheme}://{name}:{}{target}", server.port()),
            None if server.port() == usual && server.is_ipv4() => {
                format!("{scheme}://{}{target}", server.ip())
            }
            None => format!("{scheme}://{server}{target}"),
        }
    }

    pub(super) fn http(&self, exchange: &mut Exchange, asked: &TracedRequest) {
        let Some(request) = &asked.request else {
            // Encrypted: only the sizes are known.
            if asked.first_byte.is_some() && self.tls.is_some() {
                // A head is in the first record; the rest may be a body.
                exchange.http = Some(HttpFacts {
                    request_bytes: asked.first_bytes,
                    uploaded: asked.request_bytes - asked.first_bytes,
                    downloaded: asked.response_bytes,
                    decoded: asked.response_bytes,
                    keep_alive: true,
                    ..HttpFacts::default()
                });
            }
            return;
        };
        let mut facts = http_facts(asked, request);
        if request.field("expect").is_some() {
            let head_left = self.view.left(request.head_end);
            let body_left = self.view.left(request.head_end + 1);
            facts.continue_wait = head_left
                .zip(body_left)
                .filter(|_| facts.uploaded > 0)
                .map(|(head, body)| std::time::Duration::from_nanos(body.saturating_sub(head)));
        }
        if asked.response.is_some() {
            exchange.http = Some(facts);
        } else {
            exchange.unanswered = Some(facts);
        }
    }
}

/// The facts of a request that could be read, and of its answer, if there is one.
pub(crate) fn http_facts(asked: &TracedRequest, request: &Http1Message) -> HttpFacts {
    let head = request.head_bytes;
    let mut facts = HttpFacts {
        method: request.method.clone(),
        version: request.version.into(),
        interim: asked.interim.clone(),
        request_bytes: head,
        uploaded: asked.request_bytes.saturating_sub(head),
        ..HttpFacts::default()
    };
    let Some(response) = &asked.response else {
        return facts;
    };
    facts.version = response.version.into();
    facts.status = response.status;
    facts.reason.clone_from(&response.reason);
    facts.headers.clone_from(&response.fields);
    facts.header_bytes = response.head_bytes;
    facts.downloaded = asked.response_bytes.saturating_sub(facts.header_bytes);
    facts.decoded = facts.downloaded;
    facts.keep_alive = response.keeps_alive() && request.keeps_alive();
    let text = |name: &str| {
        let value = response.field(name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    facts.redirect = text("location").filter(|_| (300..400).contains(&response.status));
    facts.alt_svc = text("alt-svc");
    if let Some(value) = response.field("server-timing") {
        let metrics = server_timing::parse(value).into_iter();
        facts.server_timing = metrics
            .map(|m| (m.name.clone(), m.duration(), m.description.clone()))
            .collect();
    }
    facts
}
