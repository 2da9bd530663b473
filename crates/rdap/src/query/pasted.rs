//! Text as people paste it: from the address bar of a browser, from a log or from a list.

use std::net::{IpAddr, Ipv6Addr};

use roundtrip_model::Target;

use super::{Collection, Resource};

/// What encloses a pasted text.
const ENCLOSURES: [(char, char); 5] =
    [('<', '>'), ('"', '"'), ('\'', '\''), ('“', '”'), ('«', '»')];

/// The text without what encloses it, and without the comma or semicolon behind it.
pub(super) fn bare(text: &str) -> &str {
    let text = text.trim_end_matches([',', ';']).trim_end();
    let inside = ENCLOSURES
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    match inside.map(str::trim) {
        Some(inside) if !inside.is_empty() => inside,
        _ => text,
    }
}

pub(super) fn looks_like_url(text: &str) -> bool {
    let starts = |scheme: &str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("http://") || starts("https://")
}

/// Whether the text is a URL of another scheme, such as `ftp://`.
pub(super) fn has_other_scheme(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.contains(char::is_alphabetic)) && !looks_like_url(text)
}

/// The word before the first colon, if it cannot be the first group of an IPv6 address.
pub(super) fn word(text: &str) -> Option<&str> {
    let (word, _) = text.split_once(':')?;
    let is_word = word
        .chars()
        .all(|c| c.is_alphabetic() || matches!(c, '-' | '_'));
    (is_word && word.contains(|c: char| !c.is_ascii_hexdigit())).then_some(word)
}

/// The host of a web page or service. The text is a URL that cannot be one of RDAP, or the same
/// without a scheme: with a port, or with a path.
pub(super) fn web_host(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("//") {
        return page_host(&format!("https://{rest}"));
    }
    if looks_like_url(text) {
        return page_host(text);
    }
    let (authority, path) = match text.find('/') {
        None => (text, None),
        Some(slash) => (text.get(..slash)?, text.get(slash..)),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, Some(port)),
        _ => (authority, None),
    };
    // An address with a slash is a prefix, or is meant to be one.
    let is_page = path.is_some() && is_name(host);
    let is_plain = !host.contains(|c: char| matches!(c, ':' | '?' | '#') || c.is_whitespace());
    let is_host = is_plain && host.contains('.') || is_bracketed(host);
    let is_whole = path.is_none_or(|path| path == "/" || is_name(host));
    let is_web = is_host && is_whole && (port.is_some() || is_page);
    is_web.then(|| host.to_owned())
}

fn page_host(url: &str) -> Option<String> {
    let target = Target::parse(url).ok()?;
    let is_page = target.userinfo().is_none() && !may_be_rdap(&target);
    let host = target.url().host_str();
    host.filter(|_| is_page).map(str::to_owned)
}

/// Whether a URL could be a query of RDAP: its path has a segment of RFC 9082, it says so, or its
/// host or port are unusual for a web page.
fn may_be_rdap(target: &Target) -> bool {
    let url = target.url();
    if url.path() == "/" && url.query().is_none() {
        return false;
    }
    let host = target.host.to_string();
    let says_so = |text: &str| text.to_ascii_lowercase().contains("rdap");
    let is_of_rdap = |segment: &str| {
        segment == "help"
            || Resource::named(segment).is_some()
            || Collection::named(segment).is_some()
    };
    url.port().is_some()
        || !is_name(&host)
        || !host.contains('.')
        || says_so(&host)
        || says_so(url.path())
        || url.path().split('/').any(is_of_rdap)
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_bracketed(host: &str) -> bool {
    let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    inside.is_some_and(|inside| inside.parse::<Ipv6Addr>().is_ok())
}

/// Whether it is a name, and not an address or a part of one.
fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && host.contains(char::is_alphabetic)
}
