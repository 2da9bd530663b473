//! Fields with which proxies tell backends who sent a request, from where, and for what. Only a
//! proxy may set them, so they are removed from clients' requests.

/// The names that begin with this letter, in lower case. Names that end in `-` are prefixes. Most
/// fields of most clients begin with a letter that has few or none.
fn known(first: u8) -> &'static [&'static str] {
    match first {
        b'a' => &["ali-cdn-", "auth-type", "auth-user", "auth-user-"],
        b'c' => &[
            "cas-",
            "cdn-",
            "cf-access-",
            "cf-cert-",
            "cf-client-",
            "cf-connecting-",
            "cf-ipcountry",
            "cf-pseudo-",
            "cf-visitor",
            "cf-worker",
            "client-cert",
            "client-cert-",
            "client-ip",
            "clientip",
            "cloudfront-",
            "cluster-client-",
        ],
        b'd' => &[
            "daphne-root-path",
            "do-connecting-",
            "document-root",
            "document-uri",
        ],
        b'f' => &[
            "fastly-client-",
            "fastly-ssl",
            "fly-client-",
            "fly-forwarded-",
            "forwarded",
            "forwarded-",
            "front-end-https",
        ],
        b'h' => &["http-", "https"],
        b'i' => &["impersonate-", "incap-client-", "iv-"],
        b'k' => &["kubeflow-"],
        b'm' => &["mellon-", "ms-aspnetcore-"],
        b'n' => &["ngrok-auth-"],
        b'o' => &["oam-", "oidc-"],
        // CGI turns `Proxy` into HTTP_PROXY, which programs use as their own proxy.
        b'p' => &["path-info", "path-translated", "proxy", "proxy-"],
        b'r' => &["remote-", "request-method", "request-uri"],
        b's' => &[
            "script-",
            "server-addr",
            "server-name",
            "server-port",
            "server-protocol",
            "server-software",
            "shib-",
            "sm-",
            "ssl-",
        ],
        b't' => &["tailscale-", "teleport-", "true-client-"],
        b'w' => &["webauth-", "wl-proxy-", "wsgi-"],
        b'g' => &["gap-auth", "gap-signature", "gateway-interface"],
        b'q' => &["query-string"],
        b'u' => &["uwsgi-"],
        b'z' => &["z-forwarded-for"],
        b'x' => &X,
        b'$' => &[
            "$wsat", "$wscc", "$wscs", "$wsis", "$wspr", "$wsra", "$wsrh", "$wsru", "$wssc",
            "$wssi", "$wssn", "$wssp",
        ],
        _ => &[],
    }
}

const X: [&str; 101] = [
    "x-accel-",
    "x-akamai-",
    "x-amzn-mtls-",
    "x-amzn-oidc-",
    "x-anonymous-consumer",
    "x-apigateway-api-",
    "x-appengine-",
    "x-arr-",
    "x-auth-",
    "x-authelia-",
    "x-authenticated",
    "x-authenticated-",
    "x-authentication-",
    "x-authentik-",
    "x-authz-",
    "x-azure-",
    "x-backend-host",
    "x-cert-",
    "x-claim-",
    "x-claims",
    "x-client-",
    "x-clientcert",
    "x-clientip",
    "x-cluster-client-",
    "x-consumer-",
    "x-credential-",
    "x-custom-ip-",
    "x-email",
    "x-endpoint-api-",
    "x-envoy-",
    "x-forward-",
    "x-forwarded",
    "x-forwarded-",
    "x-forwarder-for",
    "x-goog-authenticated-user-",
    "x-goog-iap-",
    "x-group",
    "x-groups",
    "x-host",
    "x-http-destinationurl",
    "x-http-host-",
    "x-https",
    "x-identity",
    "x-identity-",
    "x-impersonate-",
    "x-invoke-",
    "x-jwt-",
    "x-ldap-",
    "x-matched-path",
    "x-middleware-",
    "x-ms-client-principal",
    "x-ms-client-principal-",
    "x-ms-token-",
    "x-mtls-",
    "x-nf-client-",
    "x-nginx-proxy",
    "x-now-",
    "x-oidc-",
    "x-original-",
    "x-originating-",
    "x-override-",
    "x-pomerium-",
    "x-principal",
    "x-principal-",
    "x-proxy-",
    "x-proxyuser-",
    "x-real-",
    "x-realip",
    "x-remote-",
    "x-remoteip",
    "x-remoteuser",
    "x-replaced-path",
    "x-request-uri",
    "x-rewrite-",
    "x-rh-identity",
    "x-role",
    "x-roles",
    "x-saml-",
    "x-scheme",
    "x-scope-orgid",
    "x-script-name",
    "x-sendfile-type",
    "x-source-ip",
    "x-spiffe-",
    "x-ssl",
    "x-ssl-",
    "x-sso-",
    "x-subject",
    "x-subject-",
    "x-sucuri-",
    "x-tls-",
    "x-true-",
    "x-url-scheme",
    "x-user",
    "x-user-",
    "x-userid",
    "x-userinfo",
    "x-username",
    "x-vercel-",
    "x-vouch-",
    "x-webauth-",
];

/// Names with these prefixes that clients use for their own credentials, or to name their program.
const CLIENTS: [&str; 8] = [
    "x-auth-key",
    "x-auth-nonce",
    "x-auth-signature",
    "x-auth-timestamp",
    "x-auth-token",
    "x-client-info",
    "x-client-version",
    "x-user-agent",
];

/// Whether a proxy is trusted with this field. Only with the exact name: a proxy that sets a field
/// still repeats its clients' other spellings.
pub(crate) fn is_trusted(trusted_fields: &[String], name: &str) -> bool {
    let is = |trusted: &String| trusted.eq_ignore_ascii_case(name);
    trusted_fields.iter().any(is)
}

/// Whether the field states who sent the request, from where, or for what, with any spelling that
/// CGI or WSGI treats as the same.
pub(crate) fn is_identity(name: &str) -> bool {
    // Most fields are none of these.
    let Some(first) = name.as_bytes().first() else {
        return false;
    };
    // The second and third letters tell nearly all others apart.
    let begins_as =
        |known: &str, at: usize| match (name.as_bytes().get(at), known.as_bytes().get(at)) {
            (Some(a), Some(b)) => is_byte_read_as(*a, *b),
            (_, known) => known.is_none(),
        };
    let is = |known: &&str| {
        if !begins_as(known, 1) || !begins_as(known, 2) {
            false
        } else if known.ends_with('-') {
            let start = name.get(..known.len());
            start.is_some_and(|start| is_read_as(start, known))
        } else {
            is_read_as(name, known)
        }
    };
    known(first.to_ascii_lowercase()).iter().any(is)
        && !CLIENTS.iter().any(|own| is_read_as(name, own))
}

/// Whether the field names a method, which frameworks then use instead of the request line's.
pub(crate) fn overrides_method(name: &str) -> bool {
    match name.len() {
        13 => is_read_as(name, "x-http-method"),
        17 => is_read_as(name, "x-method-override"),
        22 => is_read_as(name, "x-http-method-override"),
        _ => false,
    }
}

/// Whether CGI makes the same variable of both names (RFC 3875 §4.1.18). It writes `-` as `_`, and
/// some servers also replace every other character that is neither a letter nor a digit.
pub(in crate::judge) fn is_read_as(name: &str, other: &str) -> bool {
    name.len() == other.len()
        && name
            .bytes()
            .zip(other.bytes())
            .all(|(a, b)| is_byte_read_as(a, b))
}

fn is_byte_read_as(a: u8, b: u8) -> bool {
    a.eq_ignore_ascii_case(&b) || !(a.is_ascii_alphanumeric() || b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_state_its_own_identity() {
        for name in IDENTITIES {
            assert!(is_identity(name), "{name}");
        }
        for name in OTHERS {
            assert!(!is_identity(name), "{name}");
        }
    }

    const IDENTITIES: &[&str] = &[
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
        "Remote.User",
        "X!Real~IP",
        "x'forwarded|for",
        "WL-Proxy-Client-IP",
        "Proxy-Client-IP",
        "Proxy-Remote-User",
        "X-Auth-User",
        "X-Auth-Email",
        "X-Custom-IP-Authorization",
        "X-Proxy-User",
        "X-Userinfo",
        "X-ClientIP",
        "X-RealIP",
        "Cluster-Client-IP",
        "X-Amzn-Mtls-Clientcert-Subject",
        "X-Amzn-Oidc-Identity",
        "CloudFront-Viewer-Address",
        "X-Nf-Client-Connection-Ip",
        "Incap-Client-IP",
        "SM_USER",
        "SM-UserDN",
        "IV-User",
        "iv-groups",
        "OAM_REMOTE_USER",
        "Fastly-Client-IP",
        "CF-IPCountry",
        "X-Client-Cert",
        "X-SSL-Client-S-DN",
        "SSL-Client-Verify",
        "X-Goog-Authenticated-User-Email",
        "Auth-User",
        "X-Sendfile-Type",
        "X-Accel-Mapping",
        "X-Middleware-Subrequest",
        "X-Script-Name",
        // gunicorn and daphne cut these from the path.
        "SCRIPT_NAME",
        "Script-Name",
        "Daphne-Root-Path",
        "PATH_INFO",
        "Http-Remote-User",
        "$WSRU",
        "X-Scope-OrgID",
        "kubeflow-userid",
        "X-True-Client-IP",
    ];

    const OTHERS: &[&str] = &[
        "Host",
        "Cookie",
        "X-Requested-With",
        "X-Request-ID",
        "X-CSRF-Token",
        "X-Auth-Token",
        "Referer",
        "Content-Type",
        "Range",
        "X-Api-Key",
        "Traceparent",
        "Sec-Fetch-Site",
        "Origin",
        "From",
        "X-Userland",
        "Clients",
        "Accept",
        "Authorization",
        "Authority",
        "X-Auth-Key",
        "x_auth_token",
        "X-User-Agent",
        "X-Client-Info",
        "X-Access-Token",
        "X-Authorization",
        "X-Amz-Date",
        "X-Goog-Api-Key",
        "X-Tenant-Id",
        "Ssl",
        "IV",
        "HTTP2-Settings",
        "Content-Type",
        "Content-Length",
        "Request-Id",
    ];

    fn all() -> impl Iterator<Item = &'static str> {
        (b'a'..=b'z').flat_map(known).copied()
    }

    #[test]
    fn every_letter_has_its_names() {
        assert!(all().count() > 100);
        for known in all() {
            assert!(is_identity(known), "{known}");
            assert_eq!(known, known.to_ascii_lowercase());
        }
        for own in CLIENTS {
            assert!(all().any(|known| own.starts_with(known)), "{own}");
            assert!(!is_identity(own), "{own}");
        }
    }

    #[test]
    fn the_guide_has_them_all() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gate.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        for known in all().chain(CLIENTS) {
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
        assert!(overrides_method("X.HTTP.Method"));
        assert!(!overrides_method("X-HTTP-Methods"));
    }
}
