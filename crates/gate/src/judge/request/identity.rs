//! Fields with which proxies tell backends who sent a request, from where, and for what. Only a
//! proxy may set them, so they are removed from clients' requests.

/// Prefixes in lower case. A name that ends in `-` is a prefix; others are whole names.
pub(crate) const FIELDS: [&str; 66] = [
    // Who sent it: fields of proxies that authenticate, and CGI variables.
    "remote-",
    "x-remote-",
    "x-auth-request-",
    "x-authenticated-",
    "x-authentik-",
    "x-webauth-",
    "x-pomerium-",
    "x-vouch-",
    "x-oidc-",
    "oidc-",
    "x-goog-authenticated-user-",
    "x-goog-iap-",
    "x-amzn-oidc-",
    "x-ms-client-principal",
    "x-ms-client-principal-",
    "x-ms-token-",
    "x-consumer-",
    "x-credential-",
    "x-jwt-",
    "x-user",
    "x-user-",
    "x-userid",
    "x-username",
    "x-email",
    "x-group",
    "x-groups",
    "x-role",
    "x-roles",
    "cf-access-",
    "tailscale-",
    "impersonate-",
    "shib-",
    "ssl-client-",
    "x-ssl-",
    "x-arr-",
    "client-cert",
    "client-cert-",
    // From where.
    "forwarded",
    "x-forwarded",
    "x-forwarded-",
    "x-forward-",
    "x-real-",
    "x-client-",
    "client-ip",
    "true-client-",
    "x-cluster-client-",
    "x-originating-",
    "x-proxyuser-",
    "x-azure-",
    "x-appengine-",
    "x-envoy-",
    "cf-connecting-",
    "fastly-client-",
    "fly-client-",
    "do-connecting-",
    // For what, and how: another path, host or scheme than the request's own.
    "x-original-",
    "x-rewrite-",
    "x-override-",
    "x-host",
    "x-http-host-",
    "x-http-destinationurl",
    "x-scheme",
    "x-url-scheme",
    "front-end-https",
    "x-nginx-proxy",
    // CGI makes HTTP_PROXY of it, which programs take for their own proxy.
    "proxy",
];

/// Whether it says who sent the request, from where, or for what. Programs behind CGI or WSGI
/// cannot tell `_` from `-`.
pub(crate) fn is_identity(name: &str) -> bool {
    // Most fields are none of these.
    let first = name.as_bytes().first().map(u8::to_ascii_lowercase);
    if !matches!(
        first,
        Some(b'x' | b'r' | b'f' | b'p' | b'c' | b't' | b'i' | b's' | b'o' | b'd')
    ) {
        return false;
    }
    let begins_alike = |known: &&&str| known.as_bytes().first().copied() == first;
    FIELDS.iter().filter(begins_alike).any(|known| {
        if known.ends_with('-') {
            let start = name.get(..known.len());
            start.is_some_and(|start| is_read_as(start, known))
        } else {
            is_read_as(name, known)
        }
    })
}

/// Whether it names a method, which frameworks then use instead of the request line's.
pub(crate) fn overrides_method(name: &str) -> bool {
    match name.len() {
        13 => is_read_as(name, "x-http-method"),
        17 => is_read_as(name, "x-method-override"),
        22 => is_read_as(name, "x-http-method-override"),
        _ => false,
    }
}

/// RFC 3875 §4.1.18.
pub(super) fn is_read_as(name: &str, other: &str) -> bool {
    let same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-');
    name.len() == other.len() && name.bytes().zip(other.bytes()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_not_the_clients_to_say() {
        for name in [
            "X-Real-IP",
            "X-Client-IP",
            "True-Client-IP",
            "CF-Connecting-IP",
            "X-Original-URL",
            "X-Rewrite-URL",
            "Remote-User",
            "X-Remote-User",
            "X-Auth-Request-User",
            "Proxy",
            "X-Forwarded-User",
            "x_forwarded_for",
            "REMOTE_USER",
            "OIDC_CLAIM_email",
            "X-WEBAUTH-USER",
            "Impersonate-User",
            "Client-Cert",
            "X-Forwarded",
            "x-user",
            "Front-End-Https",
        ] {
            assert!(is_identity(name), "{name}");
        }
        for name in [
            "Host",
            "Cookie",
            "X-Requested-With",
            "X-Request-ID",
            "X-CSRF-Token",
            "X-Auth-Token",
            "Referer",
            "Proxy-Connection",
            "Content-Type",
            "Range",
            "X-Api-Key",
            "Traceparent",
            "Sec-Fetch-Site",
            "Origin",
            "From",
            "X-Userland",
            "Clients",
        ] {
            assert!(!is_identity(name), "{name}");
        }
    }

    #[test]
    fn beginnings_are_looked_at_for_what_is_in_the_table() {
        for known in FIELDS {
            assert!(is_identity(known), "{known}");
            assert_eq!(known, known.to_ascii_lowercase());
        }
    }

    #[test]
    fn the_guide_has_them_all() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gate.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        for known in FIELDS {
            let family = if known.ends_with('-') { "*" } else { "" };
            assert!(guide.contains(&format!("`{known}{family}`")), "{known}");
        }
    }

    #[test]
    fn a_method_may_be_said_elsewhere() {
        for name in [
            "X-HTTP-Method-Override",
            "x_http_method",
            "X-Method-Override",
        ] {
            assert!(overrides_method(name));
        }
        assert!(!overrides_method("X-HTTP-Methods"));
    }
}
