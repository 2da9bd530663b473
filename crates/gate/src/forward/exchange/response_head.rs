//! Writes an answer's head for the client: adds gate's own fields, and removes those that they
//! replace.

use super::{Sink, websocket};
use crate::forward::h1::{Response, ResponseBody, ResponseError};
use crate::judge::ForwardedRequest;
use crate::judge::request::Field;

/// Gives a final head to the sink.
pub(super) fn head(
    asked: &ForwardedRequest,
    response: &Response<'_>,
    body: ResponseBody,
    more: &[Field<'_>],
    to: &mut impl Sink,
) -> Result<(), ResponseError> {
    let opens = match &asked.socket {
        Some(opening) => websocket::opens(opening, response)?,
        None => false,
    };
    if !opens && asked.grant.is_none() {
        to.head(response, body, more);
        return Ok(());
    }
    let grant = asked.grant.as_deref();
    let passes = |field: &&Field<'_>| {
        // RFC 8441 §5: it answers the key that gate made, not the client.
        !(opens && field.name.eq_ignore_ascii_case("sec-websocket-accept"))
            && grant.is_none_or(|grant| grant.passes(field.name))
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
