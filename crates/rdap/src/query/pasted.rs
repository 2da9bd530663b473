//! Text as people paste it: from the address bar of a browser, from a log or from a list.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use roundtrip_model::Target;

use super::{Collection, Resource};

/// Characters that may enclose a pasted text.
const ENCLOSURES: [(char, char); 10] = [
    ('<', '>'),
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('(', ')'),
    ('[', ']'),
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
];

/// The text as it was before it was made unusable as a link: `example[.]com`, `hxxp://…`.
pub(super) fn linkable(text: &str) -> Cow<'_, str> {
    let is_disguised = |start: &str| start.eq_ignore_ascii_case("hxxp");
    let text = match text.split_at_checked(4) {
        Some((start, rest)) if is_disguised(start) && rest.contains("://") => {
            Cow::Owned(format!("http{rest}"))
        }
        _ => Cow::Borrowed(text),
    };
    if !["[.]", "(.)", "[:]"].iter().any(|mark| text.contains(mark)) {
        return text;
    }
    let text = text.replace("[.]", ".").replace("(.)", ".");
    Cow::Owned(text.replace("[:]", ":"))
}

/// The text without what encloses it, and without the comma or semicolon behind it, or the full
/// stop behind an address.
pub(super) fn bare(text: &str) -> &str {
    let text = text.trim_end_matches([',', ';']).trim_end();
    let is_network = |text: &str| {
        text.split('/')
            .next()
            .is_some_and(|a| a.parse::<IpAddr>().is_ok())
    };
    let text = match text.strip_suffix('.') {
        Some(address) if is_network(address) => address,
        _ => text,
    };
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

/// The URL of an RDAP query, if the text is one without its scheme.
pub(super) fn rdap_url(text: &str) -> Option<String> {
    let (host, _) = text.trim_start_matches("//").split_once('/')?;
    let (host, _) = host.split_once(':').unwrap_or((host, ""));
    let is_whole = host.contains('.') && is_name(host) && !looks_like_url(text);
    let url = format!("https://{}", text.trim_start_matches("//"));
    let target = Target::parse(&url).ok().filter(|_| is_whole)?;
    has_rdap_path(&target).then_some(url)
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
    let (authority, path) = match text.find(['/', '?', '#']) {
        None => (text, None),
        Some(end) => (text.get(..end)?, text.get(end..)),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, Some(port)),
        _ => (authority, None),
    };
    // An address with a slash, but no port, is a prefix, or is meant to be one.
    let is_page = path.is_some() && is_name(host);
    let is_plain = !host.contains(|c: char| matches!(c, ':' | '?' | '#') || c.is_whitespace());
    let is_host = is_plain && host.contains('.') || is_bracketed(host);
    let is_whole = path.is_none_or(|path| path == "/" || port.is_some() || is_name(host));
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
    url.port().is_some()
        || !is_name(&host)
        || !host.contains('.')
        || says_so(&host)
        || says_so(url.path())
        || has_rdap_path(target)
        || url.path().ends_with("/help")
}

/// Whether the path is one of a lookup, or of a search with its property (RFC 9082, section 3).
fn has_rdap_path(target: &Target) -> bool {
    let url = target.url();
    let segments: Vec<&str> = url.path().split('/').filter(|s| !s.is_empty()).collect();
    let lookup = segments.windows(2).any(|two| match two {
        [kind, _] => Resource::named(kind).is_some(),
        _ => false,
    });
    let collections = segments.iter().any(|s| Collection::named(s).is_some());
    lookup || url.query().is_some() && collections
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_bracketed(host: &str) -> bool {
    let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    inside.is_some_and(|inside| inside.parse::<Ipv6Addr>().is_ok())
}

/// Whether the host is a name, and not an address or a part of one.
fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && host.contains(char::is_alphabetic)
}
