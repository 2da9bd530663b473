//! Path → answer. Each route is one function; `LIST` is what `/` shows.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};

use super::{filters, registry};
use crate::Stats;
use crate::body::{AnswerBody, PATTERN_SIZE};
use crate::plan::AnswerPlan;
use crate::request::OriginRequest;
use crate::site::OriginState;

const LIST: &str = "\
roundtrip origin: a server with a knob for every behaviour

/bytes/N                N bytes
/chunked/N              N bytes, their number not announced
/drip?bytes=N&every=MS  N bytes, a piece (&piece=N) each MS
/gzip?bytes=N           N bytes, compressed
/truncated/N            N bytes announced, half of them sent
/headers/N              a header section of N bytes more
/delay/MS               an answer after MS milliseconds
/status/N               an answer of status N
/redirect/N             N redirects (?status=301, 302, 303, 307, 308), then 200
/loop                   a redirect to itself
/secure                 a redirect to TLS
/hints                  103 Early Hints, then 200
/cookie                 counts your visits in a cookie
/auth                   200 for the right user and password, else 401
/echo                   the body of the request
/head                   the head of the request
/stats                  what this server saw, as JSON
/rdap/domain/NAME       a registry that knows every name; /rdap/help tells what first words of names do
/rdap-asked             how often each of its paths was asked, as JSON
";

const MAX_DELAY: u64 = 600_000;
const MAX_HEAD_BYTES: u64 = 1024 * 1024;
/// The number of pieces of `/drip`, unless the query states their size.
const DEFAULT_DRIPS: u64 = 10;

pub(super) fn plan(request: &OriginRequest, site: &OriginState) -> AnswerPlan {
    let path = request.path();
    let path = path.strip_prefix('/').unwrap_or(path);
    match path.split_once('/') {
        Some(("rdap", path)) => registry::plan(request, path, &site.asked, false),
        Some(("registrar", path)) => registry::plan(request, path, &site.asked, true),
        Some((route, number)) => numbered(request, route, number),
        None => plain(request, site, path),
    }
}

fn plain(request: &OriginRequest, site: &OriginState, route: &str) -> AnswerPlan {
    match route {
        "" => index(site),
        "*" if request.method == Method::OPTIONS => {
            AnswerPlan::new(StatusCode::NO_CONTENT, AnswerBody::Fill(0))
        }
        "drip" => drip(request),
        "gzip" => gzip(request),
        "loop" => location(StatusCode::FOUND, "/loop"),
        "secure" => secure(request, site),
        "hints" => AnswerPlan {
            early_hints: true,
            ..AnswerPlan::text(StatusCode::OK, "hinted\n")
        },
        "cookie" => cookie(request),
        "auth" => auth(request, site),
        "echo" => echo(request),
        "head" => AnswerPlan::text(StatusCode::OK, head(request)),
        "rdap-asked" => registry::asked(&site.asked),
        "stats" => json(&site.counters.snapshot()),
        _ => unknown(),
    }
}

fn numbered(request: &OriginRequest, route: &str, number: &str) -> AnswerPlan {
    let Ok(n) = number.parse::<u64>() else {
        return if is_numbered(route) {
            out_of_range()
        } else {
            unknown()
        };
    };
    match route {
        "bytes" => fill(n),
        "chunked" => AnswerPlan {
            unsized_body: true,
            ..fill(n)
        },
        "truncated" => AnswerPlan {
            cut: Some(n / 2),
            ..fill(n)
        },
        "headers" if n <= MAX_HEAD_BYTES => headers(n),
        "delay" if n <= MAX_DELAY => delay(n),
        "status" => status(n),
        "redirect" => redirect(request, n),
        _ if is_numbered(route) => out_of_range(),
        _ => unknown(),
    }
}

fn unknown() -> AnswerPlan {
    AnswerPlan::text(StatusCode::NOT_FOUND, "no such route; / lists them\n")
}

fn out_of_range() -> AnswerPlan {
    AnswerPlan::text(StatusCode::BAD_REQUEST, "that number is out of range\n")
}

/// Whether the list contains this route with a number after it.
fn is_numbered(route: &str) -> bool {
    let listed = |line: &str| {
        line.strip_prefix('/')
            .and_then(|rest| rest.strip_prefix(route))
            .is_some_and(|rest| rest.starts_with('/'))
    };
    !route.is_empty() && LIST.lines().any(listed)
}

fn index(site: &OriginState) -> AnswerPlan {
    match site.http.body_bytes {
        Some(n) => fill(n),
        None => AnswerPlan::text(StatusCode::OK, LIST),
    }
}

fn fill(n: u64) -> AnswerPlan {
    AnswerPlan::new(StatusCode::OK, AnswerBody::Fill(n)).with(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    )
}

fn headers(bytes: u64) -> AnswerPlan {
    let mut plan = AnswerPlan::text(StatusCode::OK, "padded\n");
    filters::pad(&mut plan.headers, bytes as usize);
    plan
}

fn delay(ms: u64) -> AnswerPlan {
    AnswerPlan {
        think: Duration::from_millis(ms),
        ..AnswerPlan::text(StatusCode::OK, "waited\n")
    }
}

/// The route of a status. Only final statuses are allowed: after an interim one, the client would
/// wait.
fn status(code: u64) -> AnswerPlan {
    let status = u16::try_from(code)
        .ok()
        .filter(|code| (200..=599).contains(code))
        .and_then(|code| StatusCode::from_u16(code).ok());
    match status {
        Some(status) => AnswerPlan::text(status, format!("{status}\n")),
        None => out_of_range(),
    }
}

fn redirect(request: &OriginRequest, left: u64) -> AnswerPlan {
    let Some(next) = left.checked_sub(1) else {
        return AnswerPlan::text(StatusCode::OK, "arrived\n");
    };
    let asked = request.number("status");
    match asked.filter(|code| matches!(code, 301 | 303 | 307 | 308)) {
        Some(code) => {
            let status = StatusCode::from_u16(code as u16).unwrap_or(StatusCode::FOUND);
            location(status, &format!("/redirect/{next}?status={code}"))
        }
        None => location(StatusCode::FOUND, &format!("/redirect/{next}")),
    }
}

fn secure(request: &OriginRequest, site: &OriginState) -> AnswerPlan {
    let host = request.host().unwrap_or("localhost");
    let url = format!("https://{host}:{}/", site.https_port);
    location(StatusCode::MOVED_PERMANENTLY, &url)
}

fn location(status: StatusCode, url: &str) -> AnswerPlan {
    match HeaderValue::from_str(url) {
        Ok(value) => AnswerPlan::text(status, "elsewhere\n").with(header::LOCATION, value),
        Err(_) => AnswerPlan::text(StatusCode::BAD_REQUEST, "that host cannot be written\n"),
    }
}

fn drip(request: &OriginRequest) -> AnswerPlan {
    let total = request.number("bytes").unwrap_or(1000);
    let piece = request
        .number("piece")
        .unwrap_or_else(|| total.div_ceil(DEFAULT_DRIPS))
        .clamp(1, PATTERN_SIZE as u64);
    let every = request.number("every").unwrap_or(100).min(MAX_DELAY);
    AnswerPlan {
        every: Duration::from_millis(every),
        piece: piece as usize,
        ..fill(total)
    }
}

fn gzip(request: &OriginRequest) -> AnswerPlan {
    let mut plan = fill(request.number("bytes").unwrap_or(1000));
    filters::compress(&mut plan);
    plan
}

fn cookie(request: &OriginRequest) -> AnswerPlan {
    let sent = request.headers.get_all(header::COOKIE).into_iter();
    let visits = sent
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .find_map(|pair| pair.trim().strip_prefix("visits=")?.parse::<u32>().ok())
        .unwrap_or(0)
        .saturating_add(1);
    let plan = AnswerPlan::text(StatusCode::OK, format!("visit {visits}\n"));
    match HeaderValue::try_from(format!("visits={visits}; Path=/; HttpOnly; SameSite=Lax")) {
        Ok(value) => plan.with(header::SET_COOKIE, value),
        Err(_) => plan,
    }
}

/// Basic authentication (RFC 7617).
fn auth(request: &OriginRequest, site: &OriginState) -> AnswerPlan {
    let shown = request
        .header(header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '));
    match shown {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("basic") && token.trim() == site.token =>
        {
            AnswerPlan::text(StatusCode::OK, "welcome\n")
        }
        _ => AnswerPlan::text(StatusCode::UNAUTHORIZED, "who are you?\n").with(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"origin\", charset=\"UTF-8\""),
        ),
    }
}

fn echo(request: &OriginRequest) -> AnswerPlan {
    let plan = AnswerPlan::new(StatusCode::OK, AnswerBody::Echo);
    match request.headers.get(header::CONTENT_TYPE) {
        Some(value) => plan.with(header::CONTENT_TYPE, value.clone()),
        None => plan,
    }
}

fn head(request: &OriginRequest) -> Bytes {
    let mut text = format!("{} {} {:?}\n", request.method, request.uri, request.version);
    for (name, value) in &request.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name}: {value}");
    }
    text.into()
}

fn json(stats: &Stats) -> AnswerPlan {
    let text = serde_json::to_vec_pretty(stats).unwrap_or_default();
    AnswerPlan::new(StatusCode::OK, AnswerBody::Held(text.into())).with(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    )
}
