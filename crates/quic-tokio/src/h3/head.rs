//! Converts checked heads to and from the types of the `http` crate.

use http::uri::{PathAndQuery, Scheme};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version,
};
use roundtrip_wire::message::{MalformedError, Pair};
use roundtrip_wire::qpack::Section;

/// The head of a request, from a checked section.
pub fn request_head(section: &Section) -> Result<Request<()>, MalformedError> {
    let mut request = Request::new(());
    let (mut scheme, mut path) = (None, None);
    let (mut authority, mut host) = (None, None);
    for (name, value) in section.lines() {
        match name {
            b":method" => {
                let method = Method::from_bytes(value);
                *request.method_mut() = method.map_err(|_| MalformedError::Method)?;
            }
            b":scheme" => scheme = Some(value),
            b":path" => path = Some(value),
            b":authority" => authority = Some(value),
            name => {
                if name == b"host" {
                    host = Some(value);
                }
                append(request.headers_mut(), name, value)?;
            }
        }
    }
    let authority = authority.or(host).ok_or(MalformedError::Authority)?;
    let mut uri = Uri::builder().authority(authority);
    if let Some(scheme) = scheme {
        uri = uri.scheme(Scheme::try_from(scheme).map_err(|_| MalformedError::Scheme)?);
    }
    if let Some(path) = path {
        uri = uri.path_and_query(PathAndQuery::try_from(path).map_err(|_| MalformedError::Path)?);
    }
    *request.uri_mut() = uri.build().map_err(|_| MalformedError::Authority)?;
    *request.version_mut() = Version::HTTP_3;
    Ok(request)
}

/// The head of a response, from a checked section.
pub fn response_head(section: &Section) -> Result<Response<()>, MalformedError> {
    let mut response = Response::new(());
    for (name, value) in section.lines() {
        if name == b":status" {
            let status = StatusCode::from_bytes(value);
            *response.status_mut() = status.map_err(|_| MalformedError::Status)?;
        } else {
            append(response.headers_mut(), name, value)?;
        }
    }
    *response.version_mut() = Version::HTTP_3;
    Ok(response)
}

/// The lines of a request, pseudo-header fields first.
pub fn request_lines<T>(request: &Request<T>) -> impl Iterator<Item = Pair<'_>> {
    let uri = request.uri();
    let scheme = uri.scheme_str().unwrap_or("https").as_bytes();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let pseudo = [
        (b":method".as_slice(), request.method().as_str().as_bytes()),
        (b":scheme", scheme),
        (b":authority", authority.as_bytes()),
        (b":path", path.as_bytes()),
    ];
    pseudo.into_iter().chain(fields(request.headers()))
}

/// The lines of a response, its status first.
pub fn response_lines<'a>(
    status: &'a StatusCode,
    headers: &'a HeaderMap,
) -> impl Iterator<Item = Pair<'a>> {
    let status = (b":status".as_slice(), status.as_str().as_bytes());
    std::iter::once(status).chain(fields(headers))
}

fn fields(headers: &HeaderMap) -> impl Iterator<Item = Pair<'_>> {
    let fields = headers.iter();
    fields.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

fn append(headers: &mut HeaderMap, name: &[u8], value: &[u8]) -> Result<(), MalformedError> {
    let name = HeaderName::from_lowercase(name).map_err(|_| MalformedError::Name)?;
    let value = HeaderValue::from_bytes(value).map_err(|_| MalformedError::Value)?;
    // The reader has limited their number; a map has room for 2^15.
    let appended = headers.try_append(name, value);
    appended.map(|_| ()).map_err(|_| MalformedError::Name)
}
