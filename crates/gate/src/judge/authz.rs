//! Judges requests that other proxies ask about: the same host, paths, origins, tokens and sessions
//! as for gate's own clients.
//!
//! `asking_proxies` says which proxies may ask, `description` how they describe a request, and
//! `reply` what they get. The path of a proxy's question determines the kind of description,
//! because only the proxy's configuration chooses that path. If gate accepted any description that
//! it found, a client could add a false one.

mod asking_proxies;
mod description;
mod reply;

use super::cors::OwnOrigin;
use super::guard::{Pass, Sessions};
use super::policy::Policy;
use super::request::{BadRequestError, Body, Inspected, Request, inspect};
use super::route::Route;
use super::{
    AccessDecision, Admitted, OwnAnswer, RequestContext, Verdict, access, access_by_session,
};
use crate::record::{Entry, Known, Reason};
pub(crate) use asking_proxies::AskingProxies;
use description::{Convention, Described};
pub(crate) use reply::ProxyReply;

/// The outcome for the request that was described.
enum AuthzOutcome {
    Allowed(ProxyReply),
    Denied(OwnAnswer),
    /// The store, or the body, must be read first.
    Open(Verdict),
}

/// Like `judge`, for a request that arrives at an address for proxies.
pub(crate) fn judge<S: Sessions>(
    policy: &Policy<S>,
    request: &Request<'_>,
    arrival: RequestContext<'_>,
    admitted: Option<&Admitted>,
    entry: &mut Entry,
) -> Result<Verdict, BadRequestError> {
    let inspected = inspect(request, policy.limits.body.0)?;
    let convention = Convention::from_request(request, inspected.path);
    let outcome = if !policy.askers.admit(arrival.client, request) {
        AuthzOutcome::denied(403, Reason::Asker)
    } else if let Some(convention) = convention {
        let described = Described::read(convention, request, &inspected, &arrival);
        consider(
            policy,
            convention,
            described.as_ref(),
            &arrival,
            admitted,
            entry,
        )
    } else {
        AuthzOutcome::denied(404, Reason::NoRoute)
    };
    // This entry keeps the facts that are already recorded.
    entry.set_request(request);
    // Whether this answer has a body depends on this request, not on the described one.
    entry.caller.is_head = request.method == "HEAD";
    let (own_answer, reply) = match outcome {
        AuthzOutcome::Open(verdict) => return Ok(verdict),
        AuthzOutcome::Denied(own_answer) => (own_answer, ProxyReply::default()),
        AuthzOutcome::Allowed(reply) => (OwnAnswer::new(200, Reason::Allowed), reply),
    };
    let whole = arrival.body.is_some() || inspected.body == Body::None;
    Ok(Verdict::Answer(OwnAnswer {
        stays: inspected.keep_alive && (whole || request.version.frames()),
        reply: Some(Box::new(ProxyReply {
            grpc: convention == Some(Convention::Grpc),
            ..reply
        })),
        ..own_answer
    }))
}

fn consider<S: Sessions>(
    policy: &Policy<S>,
    convention: Convention,
    described: Option<&Described<'_>>,
    arrival: &RequestContext<'_>,
    admitted: Option<&Admitted>,
    entry: &mut Entry,
) -> AuthzOutcome {
    let Some(described) = described else {
        return match (convention, arrival.body) {
            (Convention::Grpc, None) => AuthzOutcome::Open(Verdict::ReadBody(None)),
            _ => AuthzOutcome::denied(403, Reason::Undescribed),
        };
    };
    let outcome = described.with_request(|asked| {
        entry.set_request(asked);
        look(policy, asked, described, admitted)
    });
    if let AuthzOutcome::Allowed(ProxyReply {
        session: Some(session),
        ..
    }) = &outcome
    {
        entry.set_session(session);
    }
    outcome
}

impl AuthzOutcome {
    fn denied(status: u16, reason: Reason) -> Self {
        Self::Denied(OwnAnswer::new(status, reason))
    }
}

impl Entry {
    /// Records the session of a request that may pass.
    fn set_session(&mut self, session: &Pass) {
        self.known.get_or_insert(Known::Near);
        if let Some(log_details) = &mut self.log_details {
            log_details.session = Some(session.name().clone());
        }
    }
}

/// Judges the described request. A head that is refused is denied: the proxy has read it, and
/// decides what happens to the connection.
fn look<S: Sessions>(
    policy: &Policy<S>,
    asked: &Request<'_>,
    described: &Described<'_>,
    admitted: Option<&Admitted>,
) -> AuthzOutcome {
    let inspected = match inspect(asked, u64::MAX) {
        Ok(inspected) => inspected,
        Err(refusal) => return AuthzOutcome::denied(403, refusal.into()),
    };
    let route = match policy.routes.find(&inspected.host, inspected.path) {
        Ok(Some(route)) => route,
        Ok(None) => return AuthzOutcome::denied(403, Reason::NoRoute),
        Err(refusal) => return AuthzOutcome::denied(403, refusal.into()),
    };
    let own = OwnOrigin {
        secure: described.secure,
        host: inspected.host,
    };
    if policy.askers.refuses_identity()
        && !described.can_remove()
        && foreign(policy, route, described).next().is_some()
    {
        return AuthzOutcome::denied(403, Reason::IdentityField);
    }
    let upgrade = is_socket(asked);
    let access = match access(policy, route, asked, &inspected, upgrade, &own, admitted) {
        // A preflight that gate itself would answer needs a session here, because gate's reply goes
        // to the proxy and not to its client.
        AccessDecision::Preflight(_) => access_by_session(policy, route, asked, admitted),
        access => access,
    };
    match access {
        AccessDecision::Ask(question) => AuthzOutcome::Open(Verdict::Ask(question)),
        AccessDecision::Denied(status, reason) => AuthzOutcome::Denied(OwnAnswer {
            grant: route.cors.grant(asked),
            ..OwnAnswer::new(status, reason)
        }),
        // The proxy passes the whole request on, so it may contain nothing that gives access.
        AccessDecision::Granted { session, anonymous } if !(anonymous && gives_access(asked)) => {
            AuthzOutcome::Allowed(reply(policy, route, session, &inspected, described))
        }
        AccessDecision::Granted { .. } | AccessDecision::Preflight(_) => {
            AuthzOutcome::denied(403, Reason::Origin)
        }
    }
}

/// Fields that only a proxy may set, but that neither this proxy nor the route sets.
fn foreign<'d, S>(
    policy: &'d Policy<S>,
    route: &'d Route,
    described: &'d Described<'d>,
) -> impl Iterator<Item = &'d str> {
    described.identity_fields(|name| policy.is_trusted_field(name) || route.rewrite.keeps(name))
}

fn reply<S: Sessions>(
    policy: &Policy<S>,
    route: &Route,
    session: Option<Pass>,
    inspected: &Inspected<'_>,
    described: &Described<'_>,
) -> ProxyReply {
    let mut fields = Vec::new();
    let (client, secure) = (described.client, described.secure);
    route.rewrite.write(inspected, client, secure, &mut fields);
    fields.extend_from_slice(super::login_lines(session.as_ref()));
    let left = session.as_ref().map(|s| policy.authenticator.left(s));
    let foreign = foreign(policy, route, described);
    let removed = route.rewrite.removed().chain(foreign);
    let mut reply = ProxyReply {
        grpc: false,
        remember: policy.askers.remember(left),
        session,
        fields,
        removed: removed.map(str::to_owned).collect(),
        names_person: policy.login.is_some(),
    };
    reply.keep_own_fields();
    reply
}

/// `Upgrade` itself belongs to the client's connection with the proxy. RFC 6455 §4.1.
fn is_socket(asked: &Request<'_>) -> bool {
    has(asked, "sec-websocket-version") || has(asked, "sec-websocket-key")
}

fn gives_access(asked: &Request<'_>) -> bool {
    has(asked, "cookie") || has(asked, "authorization")
}

fn has(asked: &Request<'_>, name: &str) -> bool {
    asked.values(name).next().is_some()
}
