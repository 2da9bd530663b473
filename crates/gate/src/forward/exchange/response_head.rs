//! Writes an answer's head for the client: adds gate's own fields, and removes those that they
//! replace, and cookies that only gate may set.

use super::{Sink, websocket};
use crate::forward::h1::{Response, ResponseBody, ResponseError};
use crate::judge::ForwardedRequest;
use crate::judge::login::LoginRules;
use crate::judge::request::Field;

/// Gives the head of an interim answer to the sink.
pub(super) fn interim(
    login: Option<&LoginRules>,
    response: &Response<'_>,
    body: ResponseBody,
    to: &mut impl Sink,
) {
    if !response.fields.iter().any(|field| is_own(login, field)) {
        return to.head(response, body, &[]);
    }
    let fields = response.fields.iter().filter(|field| !is_own(login, field));
    let fields: Vec<Field<'_>> = fields.copied().collect();
    to.head(&response.with(response.status, &fields), body, &[]);
}

/// Whether the field sets one of gate's own cookies.
fn is_own(login: Option<&LoginRules>, field: &Field<'_>) -> bool {
    login.is_some_and(|login| login.sets_own_cookie(field))
}

/// Gives a final head to the sink.
pub(super) fn head(
    asked: &ForwardedRequest,
    login: Option<&LoginRules>,
    response: &Response<'_>,
    body: ResponseBody,
    more: &[Field<'_>],
    to: &mut impl Sink,
) -> Result<(), ResponseError> {
    let opens = match &asked.upgrade {
        Some(upgrade) => websocket::switches(upgrade, response)? && upgrade.over_stream,
        None => false,
    };
    let sets_own = || response.fields.iter().any(|field| is_own(login, field));
    if !opens && asked.grant.is_none() && !sets_own() {
        to.head(response, body, more);
        return Ok(());
    }
    let grant = asked.grant.as_deref();
    let passes = |field: &&Field<'_>| {
        // RFC 8441 §5: this field answers the key that gate made, so the client does not need it.
        !(opens && field.name.eq_ignore_ascii_case("sec-websocket-accept"))
            && grant.is_none_or(|grant| grant.passes(field.name))
            && !is_own(login, field)
    };
    let fields: Vec<Field<'_>> = response.fields.iter().filter(passes).copied().collect();
    let beside = grant
        .into_iter()
        .flat_map(crate::judge::CorsHeaders::fields);
    let more: Vec<Field<'_>> = more.iter().copied().chain(beside).collect();
    let status = if opens { 200 } else { response.status };
    to.head(&response.with(status, &fields), body, &more);
    Ok(())
}
