//! Requests that gate answers itself: those of a CA that validates a name, and those for logins.

use super::cors::OwnOrigin;
use super::login::{LoginAnswer, LoginRequest};
use super::original_client::original_client;
use super::policy::Policy;
use super::request::{Body, Inspected, Request};
use super::{LoginPage, LoginReply, OwnAnswer, RequestContext, Verdict};
use crate::record::Reason;

/// What to do with a request for one of gate's own paths; `None` if the path is not one of them.
pub(super) fn judge_own_path<S>(
    policy: &Policy<S>,
    request: &Request<'_>,
    inspected: &Inspected<'_>,
    arrival: &RequestContext<'_>,
) -> Option<Verdict> {
    if let Some(answer) = policy
        .acme
        .as_ref()
        .and_then(|a| a.http_answer(inspected.path))
        && matches!(request.method, "GET" | "HEAD")
    {
        let page = LoginPage::Challenge { answer };
        let reply = LoginReply::page(200, Reason::AcmeChallenge, page);
        let answer = LoginAnswer::Now(reply);
        return Some(login_verdict(policy, answer, request, inspected, arrival));
    }
    let login = policy.login.as_ref()?;
    if !login.own(inspected.path) {
        return None;
    }
    if arrival.early {
        return Some(Verdict::Wait);
    }
    let trusted_fields = policy.trusted_fields(arrival.client);
    let own = OwnOrigin::new(request, inspected, arrival.secure, trusted_fields);
    let said = login.answer(request, inspected, &own);
    Some(login_verdict(policy, said, request, inspected, arrival))
}

/// The answer to a request that gate answers itself because of logins.
pub(super) fn login_verdict<S>(
    policy: &Policy<S>,
    said: LoginAnswer,
    request: &Request<'_>,
    inspected: &Inspected<'_>,
    arrival: &RequestContext<'_>,
) -> Verdict {
    match said {
        LoginAnswer::Later(asked) => Verdict::Login(Box::new(LoginRequest {
            client: original_client(policy, request, arrival.client),
            ..asked
        })),
        LoginAnswer::Now(reply) => {
            let is_read = inspected.body == Body::None || request.version.frames();
            Verdict::Answer(OwnAnswer::for_login(reply, inspected.keep_alive && is_read))
        }
    }
}
