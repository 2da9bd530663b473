//! Applied to every answer, whatever its path: padding, compression, pace, Alt-Svc.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::body::AnswerBody;
use crate::plan::AnswerPlan;
use crate::request::OriginRequest;
use crate::site::OriginState;

/// The largest body that is compressed, in bytes: compression happens in memory, before the first
/// byte.
const MAX_COMPRESSED: u64 = 1024 * 1024;
const PADDING_LINE: usize = 4096;

pub(super) fn apply(plan: &mut AnswerPlan, request: &OriginRequest, site: &OriginState) {
    let knobs = &site.http;
    plan.think += knobs.think;
    plan.early_hints |= knobs.early_hints;
    plan.unsized_body |= knobs.chunked;
    if plan.every.is_zero() && !knobs.body_every.is_zero() {
        plan.every = knobs.body_every;
        plan.piece = knobs.body_piece as usize;
    }
    if knobs.gzip && request.accepts_coding("gzip") {
        compress(plan);
    }
    if plan.is_bodiless() {
        plan.body = AnswerBody::Fill(0);
    }
    let server = HeaderValue::from_static("roundtrip-origin");
    plan.headers.insert(header::SERVER, server);
    if let Some(value) = site.alt_svc.as_ref().filter(|_| request.secure) {
        plan.headers.insert(header::ALT_SVC, value.clone());
    }
    pad(&mut plan.headers, knobs.header_bytes as usize);
}

/// Replaces the body by its gzip form, unless it is too large, empty, an echo or already encoded.
pub(super) fn compress(plan: &mut AnswerPlan) {
    let length = plan.body.len();
    let coded = plan.headers.contains_key(header::CONTENT_ENCODING);
    if length == 0 || length > MAX_COMPRESSED || coded || plan.cut.is_some() {
        return;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let whole = std::mem::replace(&mut plan.body, AnswerBody::Fill(0)).collect();
    // Writing to memory does not fail; if it did, the plain body would be right as well.
    let coded = encoder.write_all(&whole).and_then(|()| encoder.finish());
    plan.body = match coded {
        Ok(coded) => {
            let gzip = HeaderValue::from_static("gzip");
            plan.headers.insert(header::CONTENT_ENCODING, gzip);
            let vary = HeaderValue::from_static("accept-encoding");
            plan.headers.insert(header::VARY, vary);
            AnswerBody::Held(coded.into())
        }
        Err(_) => AnswerBody::Held(whole.into()),
    };
}

/// Pads the header section by about `bytes`, in lines of a size that servers and clients commonly
/// accept.
pub(super) fn pad(headers: &mut HeaderMap, bytes: usize) {
    let mut left = bytes;
    for _ in 0.. {
        let name = format!("x-padding-{}", headers.len());
        // The size in HTTP/1.1: name, colon, space, value, CRLF.
        let overhead = name.len() + 4;
        if left <= overhead {
            return;
        }
        let value = vec![b'x'; (left - overhead).min(PADDING_LINE)];
        left -= overhead + value.len();
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}
