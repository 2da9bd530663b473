//! The next request after a redirect.

use bytes::Bytes;
use roundtrip_http::Request;
use roundtrip_model::{Exchange, Target};

use crate::{Options, ProbeError};

/// Returns the next request, if the response asks for one and the options allow it.
pub(crate) fn next(
    exchange: &Exchange,
    request: &Request,
    options: &Options,
) -> Result<Option<Request>, ProbeError> {
    let Some(http) = &exchange.http else {
        return Ok(None);
    };
    let Some(location) = http.redirect.as_deref().filter(|_| options.follow) else {
        return Ok(None);
    };
    let target = request
        .target
        .join(location)
        .map_err(ProbeError::BadRedirect)?;
    if exchange.hop >= options.max_redirects {
        return Err(ProbeError::TooManyRedirects {
            limit: options.max_redirects,
            last: target.redacted(),
        });
    }
    Ok(Some(follow(request, target, http.status, options)))
}

/// RFC 9110 §15.4: 303 turns every method but HEAD into GET, 301 and 302 turn POST into GET, 307
/// and 308 keep the method.
fn follow(request: &Request, target: Target, status: u16, options: &Options) -> Request {
    let mut next = request.clone();
    let was_post = request.method == "POST";
    if (status == 303 && request.method != "HEAD") || (matches!(status, 301 | 302) && was_post) {
        next.method = options
            .method
            .clone()
            .filter(|m| m != "POST")
            .unwrap_or_else(|| "GET".into());
        next.body = Bytes::new();
        next.headers
            .retain(|(n, _)| !n.to_ascii_lowercase().starts_with("content-"));
    }
    if !target.same_origin(&request.target) {
        // Secrets are sent only to the origin that they were meant for. RFC 9110 §15.4.
        next.headers.retain(|(n, _)| {
            !["authorization", "cookie", "host", "proxy-authorization"]
                .contains(&n.to_ascii_lowercase().as_str())
        });
    }
    next.target = target;
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundtrip_model::HttpFacts;

    fn request(method: &str) -> Request {
        Request {
            method: method.into(),
            target: Target::parse("https://a.example/x").unwrap(),
            headers: vec![
                ("Authorization".into(), "s".into()),
                ("Content-Type".into(), "t".into()),
                ("X".into(), "y".into()),
            ],
            body: Bytes::from_static(b"body"),
            absolute_form: false,
        }
    }

    fn answered(status: u16, location: &str, hop: u32) -> Exchange {
        Exchange {
            hop,
            http: Some(HttpFacts {
                status,
                redirect: Some(location.into()),
                ..HttpFacts::default()
            }),
            ..Exchange::default()
        }
    }

    #[test]
    fn methods_and_secrets_follow_the_rules() {
        let options = Options {
            follow: true,
            ..Options::default()
        };
        let hop = |method, status, location| {
            next(&answered(status, location, 0), &request(method), &options)
                .unwrap()
                .unwrap()
        };
        let seen = hop("POST", 302, "/y");
        assert_eq!(
            (seen.method.as_str(), seen.body.len(), seen.headers.len()),
            ("GET", 0, 2)
        );
        let kept = hop("POST", 307, "https://b.example/");
        assert_eq!((kept.method.as_str(), kept.body.len()), ("POST", 4));
        assert!(!kept.headers.iter().any(|(n, _)| n == "Authorization"));
        assert_eq!(hop("HEAD", 303, "/y").method, "HEAD");
    }

    #[test]
    fn loops_end_and_bad_locations_are_named() {
        let options = Options {
            follow: true,
            max_redirects: 3,
            ..Options::default()
        };
        assert!(matches!(
            next(&answered(302, "/", 3), &request("GET"), &options),
            Err(ProbeError::TooManyRedirects { .. })
        ));
        assert!(matches!(
            next(&answered(302, "gopher://x/", 0), &request("GET"), &options),
            Err(ProbeError::BadRedirect(_))
        ));
        let idle = Options::default();
        assert!(
            next(&answered(302, "/", 0), &request("GET"), &idle)
                .unwrap()
                .is_none()
        );
    }
}
