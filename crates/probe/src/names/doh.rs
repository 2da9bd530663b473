//! DNS over HTTPS: queries travel as POST requests on a separate connection. RFC 8484.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_http::{BoundedBody, Request, Sink};
use roundtrip_model::{
    Answer, Event, Exchange, Memory, Moment, NameFacts, Strategy, Target, excerpt,
};
use roundtrip_net::{ResolveError, Wanted, add_answer};
use roundtrip_wire::dns::{Kind, Message, Name, Query, Rcode};

use crate::{Options, ProbeError};

/// The longest answer that is read; DNS messages cannot be longer.
const MAX_ANSWER_LENGTH: usize = 64 * 1024;

/// Sends questions as requests. The module that runs exchanges implements it, so this one does not
/// depend on it.
pub(crate) trait Requester {
    /// Sends a request and reads its answer into `sink`, on the connection of the previous request
    /// if that is still open.
    async fn request(&mut self, request: &Request, sink: &mut dyn Sink) -> Exchange;

    /// Closes the connection.
    async fn retire(&mut self);
}

/// Returns the options for asking the server. The system's resolver looks up the server's name.
pub(super) fn options(options: &Options) -> Options {
    Options {
        strategy: Strategy {
            memory: Memory::Cold,
            ..Strategy::default()
        },
        roots: options.roots.clone(),
        overrides: options.overrides.clone(),
        connect_timeout: options.connect_timeout,
        max_time: options.connect_timeout,
        ..Options::default()
    }
}

/// Queries `server` for the addresses of `host`, and for its HTTPS record if that is wanted.
pub(super) async fn look_up<R: Requester>(
    mut requester: R,
    server: &Target,
    host: &str,
    wanted: Wanted,
) -> Result<NameFacts, ProbeError> {
    let name: Name = host.parse().map_err(|source| ResolveError::Name {
        name: excerpt(host, 80),
        source,
    })?;
    let mut found = NameFacts::new(host, Answer::Doh(server.redacted()), Vec::new());
    let mut missing = false;
    let service = wanted.https.is_some_and(|(port, _)| port == 443);
    for (kind, on) in [
        (Kind::AAAA, wanted.v6),
        (Kind::A, wanted.v4),
        (Kind::HTTPS, service),
    ] {
        if !on {
            continue;
        }
        let (message, opening) = question(&mut requester, server, &name, kind).await?;
        found.waits.opening += opening;
        missing |= message.rcode == Rcode::NO_SUCH_NAME;
        add_answer(&mut found, &name, &message);
        if let Ok(services) = message.https_for(&name) {
            let usable = services.iter().find(|s| !s.is_alias());
            found.https_record = found.https_record.or(usable.map(|s| (*s).into()));
        }
    }
    requester.retire().await;
    if found.addresses.is_empty() {
        let (name, servers) = (host.to_owned(), Vec::new());
        let error = if missing {
            ResolveError::NoSuchName { name, servers }
        } else {
            ResolveError::NoAddress { name, servers }
        };
        return Err(error.into());
    }
    Ok(found)
}

async fn question<R: Requester>(
    requester: &mut R,
    server: &Target,
    name: &Name,
    kind: Kind,
) -> Result<(Message, Duration), ProbeError> {
    // The ID is 0, so that caches treat equal queries as equal. RFC 8484 §4.1.
    let query = Query::new(0, name.clone(), kind);
    let failed = |why: String| ProbeError::Doh {
        server: server.redacted(),
        why,
    };
    let body = query.encode().map_err(|e| failed(e.to_string()))?;
    let request = Request {
        method: "POST".into(),
        target: server.clone(),
        headers: vec![
            ("Accept".into(), "application/dns-message".into()),
            ("Content-Type".into(), "application/dns-message".into()),
        ],
        body: Bytes::from(body),
        absolute_form: false,
    };
    let mut answer = BoundedBody::new(MAX_ANSWER_LENGTH);
    let exchange = requester.request(&request, &mut answer).await;
    let asked = exchange.timeline.first(|e| *e == Event::RequestStarted);
    let opening = asked.map_or(Duration::ZERO, |at| at.since(Moment::ZERO));
    if let Some(failure) = exchange.failure {
        return Err(failed(failure.message));
    }
    let status = exchange.http.map_or(0, |h| h.status);
    if status != 200 {
        return Err(failed(format!("it answered with status {status}")));
    }
    let message = Message::parse(answer.bytes()).map_err(|e| failed(e.to_string()))?;
    Ok((message, opening))
}
