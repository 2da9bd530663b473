//! The next request after a redirect.

use bytes::Bytes;
use roundtrip_http::Request;
use roundtrip_model::{Exchange, Target, is_secret_name};

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
    // What was for the proxy of this hop is not for the next server.
    let proxy_fields = options.proxy_fields(&request.target);
    next.headers.retain(|field| !proxy_fields.contains(field));
    if !target.same_origin(&request.target) {
        // Secrets are sent only to the origin that they were meant for. RFC 9110 §15.4.
        next.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("host") && !is_secret_name(name));
    }
    next.headers.extend(options.proxy_fields(&target));
    next.absolute_form = options.is_for_proxy(&target);
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
                ("X-Api-Key".into(), "k".into()),
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
            ("GET", 0, 3)
        );
        let kept = hop("POST", 307, "https://b.example/");
        assert_eq!((kept.method.as_str(), kept.body.len()), ("POST", 4));
        let kept: Vec<_> = kept.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(kept, ["Content-Type", "X"]);
        assert_eq!(hop("HEAD", 303, "/y").method, "HEAD");
    }

    #[test]
    fn each_hop_says_to_the_proxy_what_its_scheme_requires() {
        let options = Options {
            follow: true,
            proxy: Some("http://u:p@proxy.example:1".parse().unwrap()),
            ..Options::default()
        };
        for (from, to) in [
            ("http://a/", "http://b/"),
            ("http://a/", "http://a/y"),
            ("https://a/", "http://b/"),
            ("http://a/", "https://b/"),
            ("https://a/", "https://b/"),
        ] {
            let first = options.request(&Target::parse(from).unwrap());
            let next = next(&answered(302, to, 0), &first, &options);
            let next = next.unwrap().unwrap();
            let fields = next.headers.iter();
            let credentials = fields.filter(|(n, _)| n == "Proxy-Authorization").count();
            let is_clear = to.starts_with("http:");
            assert_eq!(
                (next.absolute_form, credentials),
                (is_clear, usize::from(is_clear)),
                "{from} {to}"
            );
        }
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
        assert!(matches!(
            next(&answered(302, "tcp://x:1", 0), &request("GET"), &options),
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
