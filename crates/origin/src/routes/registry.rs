//! `/rdap/…`: a registry that knows every name, address and number, and misbehaves on request.
//!
//! The first word of a name selects what an RDAP client (RFC 9082, RFC 9083) has to cope with, as
//! in `missing-1.example` or `busy.example`; `/rdap/help` lists the words. `/rdap-asked` shows how
//! often each path was requested, so that tests can check that nothing was requested twice.

mod objects;

use std::time::{Duration, SystemTime};

use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::body::AnswerBody;
use crate::date::at;
use crate::plan::AnswerPlan;
use crate::request::OriginRequest;
use crate::stats::PathCounts;

/// First words of names, and how they are answered.
const WORDS: [(&str, &str); 22] = [
    ("missing", "404: not registered"),
    ("bad", "400"),
    ("refused", "403"),
    ("unable", "501"),
    ("down", "503"),
    (
        "busy",
        "429 twice, with Retry-After in seconds; then the answer",
    ),
    ("busydate", "the same, with Retry-After as a date"),
    ("busymute", "the same, without Retry-After"),
    ("moved", "302 to an answer"),
    ("loop", "302 to itself"),
    ("cut", "half of the JSON, with the length of the whole"),
    ("died", "half of the JSON, then the end of the stream"),
    ("html", "a page instead of JSON"),
    ("huge", "50 MB"),
    ("slow", "an answer that drips for minutes"),
    ("fresh", "an answer that stays fresh for an hour"),
    ("thick", "an answer without a registrar to ask"),
    ("nowhere", "a registrar whose server cannot be reached"),
    ("unknown", "a registrar that answers 404"),
    ("page", "a registrar link to a page"),
    ("clear", "a registrar link to http:"),
    ("circle", "a registrar that names itself"),
];

const MAX_LABEL: usize = 255;
const REFUSALS: u32 = 2;
const HUGE: u64 = 50_000_000;

/// The counts of all paths, as JSON.
pub(super) fn asked(asked: &PathCounts) -> AnswerPlan {
    AnswerPlan::text(StatusCode::OK, asked.to_json().to_string())
}

/// The answer to `/rdap/PATH` (the registry) or `/registrar/PATH`.
pub(super) fn plan(
    request: &OriginRequest,
    path: &str,
    asked: &PathCounts,
    registrar: bool,
) -> AnswerPlan {
    let before = asked.count(request.path());
    let (kind, name) = path.split_once('/').unwrap_or((path, ""));
    if name.len() > MAX_LABEL {
        return error(StatusCode::BAD_REQUEST, "that name is too long");
    }
    let host = host(request);
    let object = match (kind, name) {
        ("help", "") => objects::help(&WORDS),
        ("domain", name) if !name.is_empty() => match word(name) {
            word if registrar => return registrars(word, name, &host, request),
            word => match trouble(word, name, before, &host) {
                Some(plan) => return plan,
                None => objects::domain(name, related(word, name, &host).as_ref()),
            },
        },
        ("nameserver", name) if !name.is_empty() => objects::nameserver(name),
        ("entity", handle) if !handle.is_empty() => objects::entity(handle),
        ("autnum", number) => match number.parse() {
            Ok(number) => objects::autnum(number),
            Err(_) => return error(StatusCode::BAD_REQUEST, "that is not a number"),
        },
        ("ip", network) => match objects::network(network) {
            Some(object) => object,
            None => return error(StatusCode::BAD_REQUEST, "that is not an address"),
        },
        ("domains", "") => match request.pairs().find(|(key, _)| *key == "name") {
            Some((_, pattern)) => objects::domains(pattern, request.number("cursor"), &host),
            None => return error(StatusCode::BAD_REQUEST, "search by name"),
        },
        _ => return error(StatusCode::NOT_FOUND, "no such path"),
    };
    answer(&object, request, word(name) == "fresh")
}

/// The first word of the name, if it is one of [`WORDS`].
fn word(name: &str) -> &'static str {
    let first = name.split(['.', '-']).next().unwrap_or_default();
    let known = WORDS.iter().find(|(word, _)| *word == first);
    known.map_or("", |(word, _)| word)
}

fn trouble(word: &str, name: &str, before: u32, host: &str) -> Option<AnswerPlan> {
    Some(match word {
        "missing" => error(StatusCode::NOT_FOUND, "not registered"),
        "bad" => error(StatusCode::BAD_REQUEST, "that query is not understood"),
        "refused" => error(StatusCode::FORBIDDEN, "not for you"),
        "unable" => error(StatusCode::NOT_IMPLEMENTED, "not supported here"),
        "down" => error(StatusCode::SERVICE_UNAVAILABLE, "back soon"),
        "busy" | "busydate" | "busymute" if before < REFUSALS => busy(word),
        "moved" => location(&format!("/rdap/domain/to-{name}")),
        "loop" => location(&format!("/rdap/domain/{name}")),
        "cut" | "died" => halved(word, name, host),
        "html" => page(),
        "huge" => typed(AnswerPlan::new(StatusCode::OK, AnswerBody::Fill(HUGE))),
        "slow" => AnswerPlan {
            every: Duration::from_secs(1),
            piece: 1,
            ..typed(AnswerPlan::new(StatusCode::OK, AnswerBody::Fill(600)))
        },
        _ => return None,
    })
}

fn busy(word: &str) -> AnswerPlan {
    let plan = error(StatusCode::TOO_MANY_REQUESTS, "too many queries");
    let later = SystemTime::now() + Duration::from_secs(1);
    let value = match word {
        "busy" => HeaderValue::from_static("1"),
        "busydate" => at(later),
        _ => return plan,
    };
    plan.with(header::RETRY_AFTER, value)
}

fn halved(word: &str, name: &str, host: &str) -> AnswerPlan {
    let text = objects::domain(name, related(word, name, host).as_ref()).to_string();
    let half = text.len() / 2;
    let body = match word {
        "cut" => text.get(..half).unwrap_or_default().to_owned(),
        _ => text,
    };
    AnswerPlan {
        cut: (word == "died").then_some(half as u64),
        ..typed(AnswerPlan::new(
            StatusCode::OK,
            AnswerBody::Held(body.into()),
        ))
    }
}

/// The link to the registrar's server that the registry gives.
fn related(word: &str, name: &str, host: &str) -> Option<(String, &'static str)> {
    const RDAP: &str = "application/rdap+json";
    let there = format!("{host}/registrar/domain/{name}");
    match word {
        "thick" => None,
        // TEST-NET-1 (RFC 5737) is routed nowhere; the discard port of a loopback address refuses.
        "nowhere" => Some((format!("https://127.0.0.1:9/domain/{name}"), RDAP)),
        "page" => Some((format!("https://{there}"), "text/html")),
        "clear" => Some((format!("http://{there}"), RDAP)),
        _ => Some((format!("https://{there}"), RDAP)),
    }
}

fn registrars(word: &str, name: &str, host: &str, request: &OriginRequest) -> AnswerPlan {
    let own = format!("https://{host}/registrar/domain/{name}");
    match word {
        "unknown" => error(StatusCode::NOT_FOUND, "not one of ours"),
        "circle" => answer(
            &objects::registrars_domain(name, Some(&own)),
            request,
            false,
        ),
        _ => answer(&objects::registrars_domain(name, None), request, false),
    }
}

/// The authority that the client requested, with its port.
fn host(request: &OriginRequest) -> String {
    match request.uri.authority() {
        Some(authority) => authority.to_string(),
        None => request
            .header(header::HOST)
            .unwrap_or("localhost")
            .to_owned(),
    }
}

fn answer(object: &Value, request: &OriginRequest, fresh: bool) -> AnswerPlan {
    let text = object.to_string();
    let tag = format!("\"{:016x}\"", hash(text.as_bytes()));
    let known = request.header(header::IF_NONE_MATCH).unwrap_or_default();
    // RFC 9110, section 13.1.2.
    let plan = if known.split(',').any(|known| known.trim() == tag) {
        AnswerPlan::new(StatusCode::NOT_MODIFIED, AnswerBody::Fill(0))
    } else {
        typed(AnswerPlan::new(
            StatusCode::OK,
            AnswerBody::Held(text.into()),
        ))
    };
    let plan = match HeaderValue::try_from(tag) {
        Ok(tag) => plan.with(header::ETAG, tag),
        Err(_) => plan,
    };
    let lasts = if fresh { "max-age=3600" } else { "no-cache" };
    plan.with(header::CACHE_CONTROL, HeaderValue::from_static(lasts))
}

/// FNV-1a: the same text has the same tag in every run.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// An error with its reason (RFC 9083, section 6).
fn error(status: StatusCode, why: &str) -> AnswerPlan {
    let body = objects::error(status.as_u16(), why).to_string();
    typed(AnswerPlan::new(status, AnswerBody::Held(body.into())))
}

/// Sets the media type of RDAP (RFC 7480, sections 4.2 and 5.6).
fn typed(plan: AnswerPlan) -> AnswerPlan {
    plan.with(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/rdap+json"),
    )
    .with(
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        HeaderValue::from_static("*"),
    )
}

fn page() -> AnswerPlan {
    let text = "<!DOCTYPE html><title>Maintenance</title><p>Not now.</p>\n";
    AnswerPlan::new(StatusCode::OK, AnswerBody::Held(text.into())).with(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    )
}

fn location(to: &str) -> AnswerPlan {
    match HeaderValue::try_from(to) {
        Ok(to) => AnswerPlan::text(StatusCode::FOUND, "elsewhere\n").with(header::LOCATION, to),
        Err(_) => error(StatusCode::BAD_REQUEST, "that name cannot be written"),
    }
}
