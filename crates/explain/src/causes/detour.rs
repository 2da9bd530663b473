//! Answers that only tell the client to ask again. The whole exchange was useless, except for a
//! connection that the next request can use.

use roundtrip_model::{PhaseName, Scheme, Setting, Target};

use crate::{Case, Cause, CauseFamily, Cost, Decidable, WaitPart};

pub(super) const FAMILY: CauseFamily = CauseFamily {
    title: "Detours",
    causes: &[
        Cause {
            id: "redirect-to-https",
            decidable: Decidable::Content,
            name: "The URL said http, and the server sent the client to https",
            shows: "a plain-text request was redirected to the same host over TLS",
            signature: to_https,
            cost: "2 round trips, and another name lookup",
            remedy: "write https in links and configurations, and tell browsers in advance: HSTS with preload, or an HTTPS record",
            settings: &[
                Setting::new(
                    "nginx",
                    "add_header Strict-Transport-Security 'max-age=63072000; includeSubDomains; preload' always;",
                ),
                Setting::new(
                    "HAProxy",
                    "http-response set-header Strict-Transport-Security \"max-age=63072000; includeSubDomains; preload\"",
                ),
                Setting::new(
                    "Apache",
                    "Header always set Strict-Transport-Security \"max-age=63072000; includeSubDomains; preload\"",
                ),
            ],
            source: "RFC 6797 §6.1 and §8.3; RFC 9460 §9.5",
        },
        Cause {
            id: "redirect",
            decidable: Decidable::Content,
            name: "The server redirected the client",
            shows: "a request that only reads was redirected",
            signature: elsewhere,
            cost: "1 round trip at the same origin, a new connection at another one",
            remedy: "link directly to the final URL, redirect there in one step, and let clients cache the redirect (301 or 308 with a lifetime)",
            settings: &[
                Setting::new("nginx", "return 308 https://host$request_uri; in one step"),
                Setting::new("HAProxy", "http-request redirect code 308 location URL"),
                Setting::new("Apache", "Redirect 308 /old https://host/new"),
            ],
            source: "RFC 9110 §15.4",
        },
        Cause {
            id: "auth-challenge",
            decidable: Decidable::Content,
            name: "The server asked for credentials, so the request had to be sent again",
            shows: "the status is 401 or 407 with a challenge",
            signature: challenge,
            cost: "1 round trip, 2 with NTLM or Negotiate",
            remedy: "send credentials with the first request if the server is known to require them; prefer tokens to schemes that need a challenge each time",
            settings: &[
                Setting::new(
                    "curl",
                    "--basic --user NAME or --oauth2-bearer TOKEN, without --anyauth",
                ),
                Setting::new("Apache (Negotiate)", "GssapiUseSessions On"),
            ],
            source: "RFC 9110 §11.3 and §11.7.1; RFC 7617 §2.2",
        },
        Cause {
            id: "cors-preflight",
            decidable: Decidable::Content,
            name: "A browser had to ask for permission first (CORS preflight)",
            shows: "an OPTIONS request was answered with Access-Control-Allow-Methods or -Headers",
            signature: preflight,
            cost: "1 round trip before each request whose permission is not cached",
            remedy: "let browsers cache the answer, serve from the same origin, or use requests that need no preflight",
            settings: &[
                Setting::new("nginx", "add_header Access-Control-Max-Age 7200;"),
                Setting::new(
                    "HAProxy",
                    "http-response set-header Access-Control-Max-Age 7200",
                ),
                Setting::new("Apache", "Header set Access-Control-Max-Age 7200"),
            ],
            source: "Fetch standard, CORS-preflight fetch",
        },
    ],
};

/// The whole cost, except for what the next request can use.
fn whole(case: &Case<'_>, next: Option<&Target>, evidence: String) -> Cost {
    let own = [PhaseName::Request, PhaseName::FirstByte, PhaseName::Body];
    let here = Target::parse(&case.exchange.url).ok();
    let same = here
        .zip(next)
        .is_none_or(|(here, next)| here.same_origin(next));
    let stays = same && case.exchange.http.as_ref().is_some_and(|h| h.keep_alive);
    let names = if stays {
        own.to_vec()
    } else {
        case.phase_names()
    };
    case.add_waits(Cost::new(evidence), &names, &WaitPart::ALL)
}

fn to_https(case: &Case<'_>) -> Option<Cost> {
    let next = location(case)?;
    let here = Target::parse(&case.exchange.url).ok()?;
    let upgrade = here.scheme == Scheme::Http
        && next.scheme == Scheme::Https
        && here.host_name() == next.host_name();
    upgrade.then(|| whole(case, Some(&next), told(case)))
}

fn elsewhere(case: &Case<'_>) -> Option<Cost> {
    let next = location(case);
    case.is_redirect()
        .then(|| whole(case, next.as_ref(), told(case)))
}

fn location(case: &Case<'_>) -> Option<Target> {
    let http = case.exchange.http.as_ref().filter(|_| case.is_redirect())?;
    let here = Target::parse(&case.exchange.url).ok()?;
    here.join(http.redirect.as_deref()?).ok()
}

fn told(case: &Case<'_>) -> String {
    let http = case.exchange.http.as_ref();
    let to = http.and_then(|h| h.redirect.as_deref()).unwrap_or_default();
    let to: String = to.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("the answer is {} to {to}", http.map_or(0, |h| h.status))
}

fn challenge(case: &Case<'_>) -> Option<Cost> {
    let http = case
        .exchange
        .http
        .as_ref()
        .filter(|_| case.is_challenge())?;
    let name = if http.status == 401 {
        "www-authenticate"
    } else {
        "proxy-authenticate"
    };
    let scheme = http.header(name).unwrap_or_default();
    let scheme: String = String::from_utf8_lossy(scheme)
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .take(20)
        .collect();
    let evidence = format!("the answer is {} and asks for {scheme}", http.status);
    Some(whole(case, None, evidence))
}

fn preflight(case: &Case<'_>) -> Option<Cost> {
    case.is_preflight().then(|| {
        let http = case.exchange.http.as_ref();
        let age = http.and_then(|h| h.header("access-control-max-age"));
        let age = match age {
            Some(age) => format!(
                "may be cached for {} s",
                String::from_utf8_lossy(age.get(..9).unwrap_or(age))
            ),
            None => "does not say how long it may be cached (browsers take 5 s)".to_owned(),
        };
        whole(case, None, format!("the answer to OPTIONS {age}"))
    })
}
