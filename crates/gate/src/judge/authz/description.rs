//! The ways in which proxies describe the request that they ask about.
//!
//! Every part of a description must be present exactly once. If a proxy is not configured to send
//! it, all its clients are refused, so that a client cannot supply it instead.

use std::net::IpAddr;

use roundtrip_wire::ext_authz::CheckRequest;

use super::asking_proxies::SECRET;
use crate::judge::RequestContext;
use crate::judge::request::{Field, Inspected, Request, Version, is_identity};

const GRPC_PATH: &str = "/envoy.service.auth.v3.Authorization/Check";
const MIRROR: &str = "/mirrored";
/// Fields of the connection between the proxy and gate, and those that describe the request.
const NOT_PASSED: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    SECRET,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Convention {
    /// `X-Original-Method`, and `X-Original-URL` or `X-Original-URI` with `X-Original-Host`: nginx.
    Original,
    /// `X-Forwarded-Method`, `-Proto`, `-Host` and `-Uri`: Traefik, Caddy, HAProxy.
    Forwarded,
    /// The request itself, below a prefix: Envoy's HTTP service, the Gateway API.
    Mirrored,
    /// Envoy's gRPC service.
    Grpc,
}

/// A request as a proxy describes it.
pub(super) struct Described<'a> {
    convention: Convention,
    method: &'a str,
    target: &'a str,
    host: &'a str,
    /// Whether the proxy's client used TLS.
    pub(super) secure: bool,
    /// The proxy's client.
    pub(super) client: IpAddr,
    fields: Vec<Field<'a>>,
}

impl Convention {
    pub(super) fn from_request(request: &Request<'_>, path: &str) -> Option<Self> {
        let (path, _) = path.split_once('?').unwrap_or((path, ""));
        match path {
            "/original" => Some(Self::Original),
            "/forwarded" => Some(Self::Forwarded),
            GRPC_PATH if request.version.frames() && request.method == "POST" => Some(Self::Grpc),
            path if path.strip_prefix(MIRROR)?.starts_with('/') => Some(Self::Mirrored),
            _ => None,
        }
    }
}

impl Convention {
    /// Whether proxies set this field themselves when they ask in this way.
    fn sets(self, name: &str) -> bool {
        let of_nginx = [
            "x-original-method",
            "x-original-url",
            "x-original-uri",
            "x-original-host",
            "x-original-forwarded-for",
            "x-auth-request-redirect",
        ];
        let of_traefik = [
            "x-forwarded-method",
            "x-forwarded-uri",
            "x-forwarded-server",
        ];
        match self {
            Self::Original => of_nginx.iter().any(|own| own.eq_ignore_ascii_case(name)),
            Self::Forwarded => of_traefik.iter().any(|own| own.eq_ignore_ascii_case(name)),
            // Envoy removes them from requests that come from outside.
            Self::Mirrored | Self::Grpc => {
                let start = name.get(.."x-envoy-".len());
                start.is_some_and(|start| start.eq_ignore_ascii_case("x-envoy-"))
            }
        }
    }
}

impl<'a> Described<'a> {
    /// Fields that only a proxy may set, and that this one does not set.
    pub(super) fn identity_fields(
        &self,
        is_trusted: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'a str> {
        let names = self.fields.iter().map(|field| field.name);
        names.filter(move |name| {
            is_identity(name) && !is_trusted(name) && !self.convention.sets(name)
        })
    }

    /// Whether the proxy removes the fields that the answer names.
    pub(super) fn can_remove(&self) -> bool {
        self.convention == Convention::Grpc
    }

    /// Reads the description; `None` if it lacks a part, or has one twice.
    pub(super) fn read(
        convention: Convention,
        request: &Request<'a>,
        inspected: &Inspected<'a>,
        arrival: &RequestContext<'a>,
    ) -> Option<Self> {
        let only = |name| only(request, name);
        let (method, target, host, scheme) = match convention {
            Convention::Original => {
                let method = only("x-original-method")?;
                match (
                    count(request, "x-original-url"),
                    count(request, "x-original-uri"),
                ) {
                    (1, 0) => {
                        let (scheme, host, target) = split(only("x-original-url")?)?;
                        (method, target, host, scheme)
                    }
                    (0, 1) => {
                        let target = only("x-original-uri")?;
                        (method, target, only("x-original-host")?, "https")
                    }
                    _ => return None,
                }
            }
            Convention::Forwarded => (
                only("x-forwarded-method")?,
                only("x-forwarded-uri")?,
                only("x-forwarded-host")?,
                only("x-forwarded-proto")?,
            ),
            Convention::Mirrored => {
                let host = request.authority.or_else(|| only("host"))?;
                let scheme = only("x-forwarded-proto").unwrap_or("https");
                let target = inspected.path.strip_prefix(MIRROR)?;
                (request.method, target, host, scheme)
            }
            Convention::Grpc => return Self::from_message(arrival),
        };
        let fields = request.fields.iter().filter(|f| passes(f.name)).copied();
        Some(Self {
            convention,
            secure: is_secure(scheme)?,
            client: client(request).unwrap_or(arrival.client),
            fields: with_host(host, fields),
            method,
            target,
            host,
        })
    }

    fn from_message(arrival: &RequestContext<'a>) -> Option<Self> {
        let asked = CheckRequest::parse(arrival.body?).ok()?;
        let fields = asked.fields.iter().filter(|(name, _)| passes(name));
        let fields = fields.map(|(name, value)| Field { name, value });
        Some(Self {
            convention: Convention::Grpc,
            secure: is_secure(asked.scheme)?,
            client: asked.client.parse().unwrap_or(arrival.client),
            fields: with_host(asked.host, fields),
            method: asked.method,
            target: asked.path,
            host: asked.host,
        })
        .filter(|described| !described.method.is_empty() && !described.host.is_empty())
    }

    /// Passes on the described request as if it had arrived directly, without a body.
    pub(super) fn with_request<T>(&self, take: impl FnOnce(&Request<'_>) -> T) -> T {
        take(&Request {
            method: self.method,
            target: self.target,
            authority: None,
            version: Version::H11,
            ended: true,
            protocol: None,
            fields: &self.fields,
        })
    }
}

fn with_host<'a>(host: &'a str, fields: impl Iterator<Item = Field<'a>>) -> Vec<Field<'a>> {
    let host = Field {
        name: "host",
        value: host.as_bytes(),
    };
    std::iter::once(host).chain(fields).collect()
}

fn passes(name: &str) -> bool {
    !NOT_PASSED.iter().any(|not| name.eq_ignore_ascii_case(not))
}

fn values<'a>(request: &Request<'a>, name: &str) -> impl Iterator<Item = &'a [u8]> {
    request.values(name).map(<[u8]>::trim_ascii)
}

fn count(request: &Request<'_>, name: &str) -> usize {
    values(request, name).count()
}

fn only<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    let mut values = values(request, name);
    let value = values.next().filter(|value| !value.is_empty())?;
    let value = std::str::from_utf8(value).ok()?;
    values.next().is_none().then_some(value)
}

/// Splits `https://host/path?query`, as nginx writes it from its variables, into scheme, host and
/// target.
fn split(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let slash = rest.find('/')?;
    let (host, target) = rest.split_at_checked(slash)?;
    Some((scheme, host, target))
}

/// Whether the scheme uses TLS; `None` if it is unknown. Proxies name a WebSocket's scheme, too.
fn is_secure(scheme: &str) -> Option<bool> {
    match scheme {
        "https" | "wss" => Some(true),
        "http" | "ws" => Some(false),
        _ => None,
    }
}

/// The last address of `X-Forwarded-For`: the asking proxy added it.
fn client(request: &Request<'_>) -> Option<IpAddr> {
    let last = values(request, "x-forwarded-for").last()?;
    let text = std::str::from_utf8(last).ok()?;
    text.rsplit(',').next()?.trim().parse().ok()
}
