//! Decides what to do with a request head, and writes the head for the backend, in the same way for
//! every protocol.
//!
//! A front calls [`judge_arrival`] with the current [`Policy`]. `authz` judges questions of
//! proxies, and `judge` everything else, in these steps and without I/O:
//!
//! 1. `request::inspect` refuses heads that can be read in two ways.
//! 2. `route` finds the route; it considers every way in which a backend may read the path
//!    (`request::readings`).
//! 3. A request in early data that is not clearly safe has to wait ([`Verdict::Wait`]), or its body
//!    must be read first ([`Verdict::ReadBody`], `jmap`).
//! 4. `cors` answers preflights, and refuses requests that a page of another origin may not make.
//! 5. `authenticator` asks the `guard` for token and session. If the store must be asked
//!    ([`Verdict::Ask`]), the front calls `Authenticator::authorize` and judges the head again.
//!    The login service answers pages without either and gate's own paths ([`Verdict::Login`]).
//!    A CA that validates a name (`acme`) is answered before any route is looked up.
//! 6. `request::compose` writes the head for the backend.

pub(crate) mod acme;
pub(crate) mod authenticator;
pub(crate) mod authz;
pub(crate) mod configured;
pub(crate) mod cors;
pub mod credentials;
mod entry;
pub mod guard;
pub(crate) mod jmap;
pub mod keyring;
pub(crate) mod login;
pub(crate) mod openid;
pub(crate) mod original_client;
mod own_path;
pub(crate) mod policy;
mod reasons;
pub(crate) mod request;
mod reuse;
pub(crate) mod route;
pub(crate) mod session_counts;
pub mod sessions;
pub(crate) mod websocket;

use std::net::IpAddr;
use std::rc::Rc;

use crate::judge::authenticator::AuthDecision;
use crate::judge::guard::{AuthError, Pass, SessionQuery, Sessions};
use crate::judge::request::{
    BadRequestError, Body, Forwarding, Inspected, Request, Version, compose, inspect,
    overrides_method,
};
use crate::judge::route::Route;
use crate::record::{Entry, Reason, RequestId, TracePosition};
pub(crate) use authz::ProxyReply;
use cors::{CorsDecision, OwnOrigin};
pub(crate) use cors::{CorsHeaders, CorsPolicy};
use login::{ActiveLogin, LoginRules};
pub(crate) use login::{LoginPage, LoginReply, LoginRequest, MAX_FORM};
use own_path::{judge_own_path, login_verdict};
use policy::Policy;
use reuse::ConnectionReuse;
pub(crate) use websocket::Upgrade;

/// The parts of a request that are needed after its head was written for the backend.
#[derive(Debug)]
pub(crate) struct ForwardedRequest {
    pub(crate) version: Version,
    pub(crate) body: Body,
    pub(crate) keep_alive: bool,
    pub(crate) is_head: bool,
    /// Whether the request may be sent twice. RFC 9110 §9.2.2.
    pub(crate) idempotent: bool,
    pub(crate) reuse: ConnectionReuse,
    /// The protocol that the request asks for, if the route allows upgrades.
    pub(crate) upgrade: Option<Upgrade>,
    /// The backend gets the head before the body has arrived, because it may answer early.
    pub(crate) eager: bool,
    /// The request's body is read whole before the backend gets anything.
    pub(crate) buffered: bool,
    /// Gate itself answers `Expect: 100-continue`.
    pub(crate) says_continue: bool,
    /// The CORS fields of the answer.
    pub(crate) grant: Option<Rc<CorsHeaders>>,
    /// The client accepts trailers. RFC 9110 §10.1.4.
    pub(crate) takes_trailers: bool,
    /// Whether the client's trailers may be passed on, because `Connection` names none of them.
    pub(crate) sends_trailers: bool,
    /// The position of `Early-Data` in the head; it is removed if the request is sent again after
    /// the handshake.
    pub(crate) early: Option<std::ops::Range<usize>>,
    /// Whether the request came over TLS or QUIC.
    pub(crate) secure: bool,
    /// The client for whose share the request counts; `None` if a trusted proxy does not name its
    /// client.
    pub(crate) client: Option<IpAddr>,
    /// The request's session, if there is a guard.
    pub(crate) session: Option<Pass>,
    /// The request has a session, but no `Authorization`, by which shared caches in front of gate
    /// would know that the answer is for one user. RFC 9111 §3.5.
    pub(crate) private: bool,
    pub(crate) route: Rc<Route>,
}

/// Where a request came from, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    pub(crate) client: IpAddr,
    /// Whether the request came over TLS or QUIC.
    pub(crate) secure: bool,
    /// Whether the request arrived before the handshake was complete, so that it may be a replay.
    pub(crate) early: bool,
    /// The request's whole body, if the judge asked for it.
    pub(crate) body: Option<&'a [u8]>,
    /// The request's ID.
    pub(crate) id: RequestId,
    /// The request's place in a trace, if spans are sent.
    pub(crate) trace: Option<&'a TracePosition>,
    /// Whether the request came from a proxy that asks about another client's request.
    pub(crate) asks: bool,
}

/// The `Retry-After` value in seconds, for conditions that may soon end.
const RETRY_AFTER: u32 = 1;

/// What the store answered for a request.
pub(crate) type Admitted = Result<Pass, AuthError>;

/// What to do with a request.
pub(crate) enum Verdict {
    Forward(ForwardedRequest),
    /// The store must be asked for the session; then the head is judged again.
    Ask(SessionQuery),
    /// The request changes something and may be a replay, so it has to wait for the end of the
    /// handshake. RFC 8470 §3.
    Wait,
    /// The request's body, of at most [`jmap::MAX_BODY`] bytes, decides whether it changes
    /// something; it is judged again with the body. The memory counts for this client.
    ReadBody(Option<IpAddr>),
    /// The login service answers the request, perhaps after reading its body.
    Login(Box<LoginRequest>),
    Answer(OwnAnswer),
}

/// One of gate's own answers; `forward::own_answer` writes it.
#[derive(Debug, Clone)]
pub(crate) struct OwnAnswer {
    pub(crate) status: u16,
    /// Whether the connection may continue. Not after an unread body, if the protocol has no
    /// frames.
    pub(crate) stays: bool,
    pub(crate) reason: Reason,
    /// The seconds after which to try again, for a 503.
    pub(crate) retry_after: u32,
    /// The CORS fields of the answer.
    pub(crate) grant: Option<Rc<CorsHeaders>>,
    /// Further data for a proxy that asks.
    pub(crate) reply: Option<Box<ProxyReply>>,
    /// What the login service adds to the answer.
    pub(crate) login: Option<Box<LoginReply>>,
}

impl OwnAnswer {
    /// An answer after which the connection ends.
    pub(crate) fn new(status: u16, reason: Reason) -> Self {
        Self {
            status,
            stays: false,
            reason,
            retry_after: RETRY_AFTER,
            grant: None,
            reply: None,
            login: None,
        }
    }

    pub(crate) fn for_login(reply: LoginReply, stays: bool) -> Self {
        let (status, reason) = (reply.status, reply.reason);
        Self {
            stays,
            login: Some(Box::new(reply)),
            ..Self::new(status, reason)
        }
    }

    /// The answer to a client that has too many requests in progress. RFC 6585 §4.
    pub(crate) fn too_many_logins(asked: &LoginRequest) -> Self {
        Self {
            stays: asked.stays_unread(),
            ..Self::new(429, Reason::TooMany)
        }
    }

    /// The client, or its session, has too many exchanges in progress. RFC 6585 §4.
    pub(crate) fn too_many(asked: &ForwardedRequest) -> Self {
        Self {
            stays: asked.keep_alive && (asked.body == Body::None || asked.version.frames()),
            grant: asked.grant.clone(),
            ..Self::new(429, Reason::TooMany)
        }
    }
}

/// Judges a client's request, or a proxy's question, and records it in `entry`.
pub(crate) fn judge_arrival<S: Sessions>(
    policy: &Policy<S>,
    request: &Request<'_>,
    arrival: RequestContext<'_>,
    admitted: Option<&Admitted>,
    out: &mut Vec<u8>,
    entry: &mut Entry,
) -> Result<Verdict, BadRequestError> {
    if arrival.asks {
        return authz::judge(policy, request, arrival, admitted, entry);
    }
    entry.set_request(request);
    let arrival = RequestContext {
        id: entry.caller.id,
        trace: entry.trace.as_ref(),
        ..arrival
    };
    // The entry is written only before and after.
    judge(policy, request, arrival, admitted, out)
}

/// `admitted` is what the store answered for this request. The head for the backend is written into
/// `out`.
fn judge<S: Sessions>(
    policy: &Policy<S>,
    request: &Request<'_>,
    arrival: RequestContext<'_>,
    admitted: Option<&Admitted>,
    out: &mut Vec<u8>,
) -> Result<Verdict, BadRequestError> {
    let inspected = inspect(request, policy.limits.body.0)?;
    let answer = |status, reason, grant| {
        Verdict::Answer(OwnAnswer {
            stays: inspected.keep_alive
                && (inspected.body == Body::None || request.version.frames()),
            grant,
            ..OwnAnswer::new(status, reason)
        })
    };
    if let Some(verdict) = judge_own_path(policy, request, &inspected, &arrival) {
        return Ok(verdict);
    }
    let Some(route) = policy.routes.find(&inspected.host, inspected.path)? else {
        return Ok(answer(404, Reason::NoRoute, None));
    };
    let buffered =
        route.buffer_request > 0 && inspected.body != Body::None && arrival.body.is_none();
    if buffered && matches!(inspected.body, Body::Length(length) if length > route.buffer_request) {
        return Err(BadRequestError::BodyTooLarge);
    }
    if let Some(body) = arrival.body
        && inspected.body != Body::Length(body.len() as u64)
    {
        // The surplus would be taken for the next request.
        return Err(BadRequestError::Length);
    }
    if let Some(verdict) = judge_early(policy, route, request, &inspected, &arrival) {
        return Ok(verdict);
    }
    let upgrade = route.upgrades && inspected.upgrade.is_some();
    if request
        .protocol
        .is_some_and(|p| p != websocket::PROTOCOL || !upgrade)
    {
        return Err(BadRequestError::Protocol);
    }
    let trusted_fields = policy.trusted_fields(arrival.client);
    let grant = route.cors.grant(request);
    let own = OwnOrigin::new(request, &inspected, arrival.secure, trusted_fields);
    let access = access(policy, route, request, &inspected, upgrade, &own, admitted);
    let (session, anonymous) = match access {
        AccessDecision::Granted { session, anonymous } => (session, anonymous),
        AccessDecision::Ask(question) => return Ok(Verdict::Ask(question)),
        AccessDecision::Denied(status, reason) => {
            let may = route.login && status == 401;
            let login = policy.login.as_ref().filter(|_| may);
            let said = login.and_then(|l| l.turn_away(request, &inspected, &own, reason));
            let said = said.map(|said| login_verdict(policy, said, request, &inspected, &arrival));
            return Ok(said.unwrap_or_else(|| answer(status, reason, grant)));
        }
        AccessDecision::Preflight(told) => {
            return Ok(answer(204, Reason::Preflight, Some(Rc::new(told))));
        }
    };
    let protocol = inspected.upgrade.filter(|_| upgrade);
    let upgrade = protocol.map(|to| Upgrade::new(request, to).ok_or(BadRequestError::Protocol));
    let (upgrade, key) = upgrade.transpose()?.unzip();
    let key = key.flatten();
    let forwarding = Forwarding {
        client: arrival.client,
        secure: arrival.secure,
        early: arrival.early,
        authorization: session.as_ref().map(|pass| pass.authorization()),
        identity: login_lines(session.as_ref()),
        own_cookie: policy.login.as_ref().map(LoginRules::cookie),
        trusted_fields,
        anonymous,
        socket_key: key.as_deref(),
        buffered,
        rewrite: &route.rewrite,
        id: arrival.id.as_bytes(),
        trace: arrival.trace,
    };
    out.clear();
    let early = compose(request, &inspected, &forwarding, route.upgrades, out);
    if let Some(body) = arrival.body {
        // The body is sent with the head, and sent again with it.
        out.extend_from_slice(body);
    }
    Ok(Verdict::Forward(ForwardedRequest {
        version: request.version,
        body: arrival.body.map_or(inspected.body, |_| Body::None),
        keep_alive: inspected.keep_alive,
        is_head: request.method == "HEAD",
        idempotent: is_idempotent(request),
        reuse: ConnectionReuse::new(request, inspected.body, session.as_ref()),
        upgrade,
        grant,
        eager: !buffered && is_eager(route, request, &inspected),
        buffered,
        says_continue: buffered && inspected.expects_continue,
        takes_trailers: inspected.takes_trailers,
        // A body with a length has none. RFC 9112 §7.1.2.
        sends_trailers: !buffered && inspected.names_no_field(),
        early,
        secure: arrival.secure,
        client: original_client::original_client(policy, request, arrival.client),
        private: session.is_some() && request.values("authorization").next().is_none(),
        session,
        route: route.clone(),
    }))
}

/// What a request in early data has to wait for; `None` if the request is clearly safe.
fn judge_early<S: Sessions>(
    policy: &Policy<S>,
    route: &Route,
    request: &Request<'_>,
    inspected: &Inspected<'_>,
    arrival: &RequestContext<'_>,
) -> Option<Verdict> {
    if !arrival.early || is_safe(request, inspected) {
        return None;
    }
    match arrival.body {
        None if is_to_be_looked_at(route, request, inspected) => {
            let client = original_client::original_client(policy, request, arrival.client);
            Some(Verdict::ReadBody(client))
        }
        Some(body) if jmap::only_reads(body) => None,
        _ => Some(Verdict::Wait),
    }
}

/// The fields that say who is logged in.
fn login_lines(session: Option<&Pass>) -> &[u8] {
    let login = session.and_then(|session| session.login());
    login.map_or(b"", ActiveLogin::lines)
}

/// What a request may do because of its origin and its session.
enum AccessDecision {
    Granted {
        session: Option<Pass>,
        /// A browser's preflight, admitted without credentials.
        anonymous: bool,
    },
    Ask(SessionQuery),
    /// The request is denied with this status.
    Denied(u16, Reason),
    /// A preflight that gate answers.
    Preflight(CorsHeaders),
}

fn access<S: Sessions>(
    policy: &Policy<S>,
    route: &Route,
    request: &Request<'_>,
    inspected: &Inspected<'_>,
    upgrade: bool,
    own: &OwnOrigin<'_>,
    admitted: Option<&Admitted>,
) -> AccessDecision {
    let by_cookie = || route.auth && policy.authenticator.goes_by_cookie(request, route.login);
    match route.cors.look(request, inspected, upgrade, own, by_cookie) {
        CorsDecision::Answered(told) => AccessDecision::Preflight(told),
        CorsDecision::Refused => AccessDecision::Denied(403, Reason::Origin),
        CorsDecision::Anonymous => AccessDecision::Granted {
            session: None,
            anonymous: true,
        },
        CorsDecision::Usual => access_by_session(policy, route, request, admitted),
    }
}

fn access_by_session<S: Sessions>(
    policy: &Policy<S>,
    route: &Route,
    request: &Request<'_>,
    admitted: Option<&Admitted>,
) -> AccessDecision {
    let decision = match admitted {
        _ if !route.auth => AuthDecision::Pass(None),
        None => policy.authenticator.decide(request, route.login),
        Some(Ok(session)) => AuthDecision::Pass(Some(session.clone())),
        Some(Err(denial)) => AuthDecision::Deny(*denial),
    };
    match decision {
        AuthDecision::Pass(session) if !meets(session.as_ref(), route) => {
            AccessDecision::Denied(403, Reason::Claims)
        }
        AuthDecision::Pass(session) => AccessDecision::Granted {
            session,
            anonymous: false,
        },
        AuthDecision::Ask(question) => AccessDecision::Ask(question),
        AuthDecision::Deny(denial) => AccessDecision::Denied(denial.status(), denial.into()),
    }
}

/// Whether the session has the claims that the route requires.
fn meets(session: Option<&Pass>, route: &Route) -> bool {
    route.require.is_empty() || session.is_some_and(|session| session.meets(&route.require))
}

/// Whether the backend may answer before the body is complete.
fn is_eager(route: &Route, request: &Request<'_>, inspected: &Inspected<'_>) -> bool {
    let is_stream = route.streams && inspected.body.is_chunked();
    is_stream || inspected.expects_continue || (inspected.body != Body::None && is_grpc(request))
}

/// Whether this is a gRPC request, whose body may be a two-way stream.
fn is_grpc(request: &Request<'_>) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    let mut fields = request.fields.iter();
    fields.any(|field| {
        field.name.eq_ignore_ascii_case("content-type")
            && field
                .value
                .get(..GRPC.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(GRPC))
    })
}

/// Whether the request changes nothing, however often it is sent. RFC 9110 §9.2.1, RFC 8470 §4.
/// Nothing is known about what follows an upgrade.
fn is_safe(request: &Request<'_>, inspected: &Inspected<'_>) -> bool {
    inspected.body == Body::None
        && request.protocol.is_none()
        && inspected.upgrade.is_none()
        && matches!(request.method, "GET" | "HEAD" | "OPTIONS")
        && !has_other_method(request)
}

/// A JMAP request may consist of reads, which only its body shows.
fn is_to_be_looked_at(route: &Route, request: &Request<'_>, inspected: &Inspected<'_>) -> bool {
    let mut fields = request.fields.iter();
    let is_json = fields.any(|field| {
        field.name.eq_ignore_ascii_case("content-type")
            && is_json(field.value.to_ascii_lowercase().as_slice())
    });
    let is_small = matches!(inspected.body, Body::Length(length) if length <= jmap::MAX_BODY);
    route.safe_jmap
        && request.method == "POST"
        && !has_other_method(request)
        && is_json
        && is_small
        && !inspected.expects_continue
}

fn is_json(kind: &[u8]) -> bool {
    matches!(
        kind.trim_ascii(),
        b"application/json"
            | b"application/json;charset=utf-8"
            | b"application/json; charset=utf-8"
    )
}

/// RFC 9110 §9.2.2. Unknown methods are not idempotent.
fn is_idempotent(request: &Request<'_>) -> bool {
    matches!(
        request.method,
        "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "PROPFIND" | "REPORT" | "SEARCH"
    ) && !has_other_method(request)
}

/// Whether a field names another method, which the backend may use instead.
fn has_other_method(request: &Request<'_>) -> bool {
    request.fields.iter().any(|f| overrides_method(f.name))
}
