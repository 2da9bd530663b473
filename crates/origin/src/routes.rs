//! Request → `AnswerPlan`: a function of the request and the site alone, for all protocols. `serve`
//! carries it out.

mod filters;
mod paths;
mod registry;

use http::{Method, StatusCode, header};

use crate::Expect;
use crate::plan::AnswerPlan;
use crate::request::OriginRequest;
use crate::site::OriginState;

pub(crate) fn plan(request: &OriginRequest, site: &OriginState) -> AnswerPlan {
    let mut plan = refusal(request, site).unwrap_or_else(|| paths::plan(request, site));
    filters::apply(&mut plan, request, site);
    plan
}

/// Answers that depend neither on the path nor on the request's body.
fn refusal(request: &OriginRequest, site: &OriginState) -> Option<AnswerPlan> {
    if request.early && site.too_early {
        // RFC 8470, section 5.2.
        return Some(AnswerPlan::refusal(
            StatusCode::TOO_EARLY,
            "not before the handshake ends\n",
        ));
    }
    if request.method == Method::CONNECT || request.method == Method::TRACE {
        return Some(AnswerPlan::refusal(
            StatusCode::NOT_IMPLEMENTED,
            "neither a proxy nor a mirror\n",
        ));
    }
    let expected = request.headers.get(header::EXPECT)?;
    let known = expected.as_bytes().eq_ignore_ascii_case(b"100-continue");
    // RFC 9110, section 10.1.1.
    (!known || site.http.expect == Expect::Refuse).then(|| {
        AnswerPlan::refusal(
            StatusCode::EXPECTATION_FAILED,
            "that expectation is not met\n",
        )
    })
}

#[cfg(test)]
mod tests;
