//! The static table of QPACK. RFC 9204, appendix A.

/// The table's entry for a line, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Line(usize),
    Name(usize),
    Nothing,
}

/// The longest name is that of `access-control-allow-credentials`.
const MAX_NAME_LENGTH: usize = 32;

/// The indices, ordered by the lengths of their names.
const BY_LENGTH: [u8; ENTRIES.len()] = by_length();

/// The index in `BY_LENGTH` at which the names of each length begin.
const STARTS: [u8; MAX_NAME_LENGTH + 2] = starts();

const fn by_length() -> [u8; ENTRIES.len()] {
    let mut sorted = [0; ENTRIES.len()];
    let (mut length, mut count) = (0, 0);
    while length <= MAX_NAME_LENGTH {
        let mut index = 0;
        while index < ENTRIES.len() {
            if ENTRIES[index].0.len() == length {
                sorted[count] = index as u8;
                count += 1;
            }
            index += 1;
        }
        length += 1;
    }
    assert!(count == ENTRIES.len(), "no name is longer");
    sorted
}

const fn starts() -> [u8; MAX_NAME_LENGTH + 2] {
    let mut starts = [0; MAX_NAME_LENGTH + 2];
    let mut index = 0;
    while index < ENTRIES.len() {
        let mut longer = ENTRIES[index].0.len() + 1;
        while longer < starts.len() {
            starts[longer] += 1;
            longer += 1;
        }
        index += 1;
    }
    starts
}

/// Looks for a line; the name may have upper case.
pub(super) fn find(name: &[u8], value: &[u8]) -> Found {
    let start = |length: usize| STARTS.get(length).copied().map(usize::from);
    let (Some(from), Some(to)) = (start(name.len()), start(name.len() + 1)) else {
        return Found::Nothing;
    };
    let mut found = Found::Nothing;
    for index in BY_LENGTH.get(from..to).unwrap_or_default() {
        let index = usize::from(*index);
        let (known, its_value) = ENTRIES[index];
        if !known.as_bytes().eq_ignore_ascii_case(name) {
            continue;
        }
        if its_value.as_bytes() == value {
            return Found::Line(index);
        }
        if found == Found::Nothing {
            found = Found::Name(index);
        }
    }
    found
}

/// Names and values, by index.
pub(super) const ENTRIES: [(&str, &str); 99] = [
    (":authority", ""),
    (":path", "/"),
    ("age", "0"),
    ("content-disposition", ""),
    ("content-length", "0"),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("referer", ""),
    ("set-cookie", ""),
    (":method", "CONNECT"),
    (":method", "DELETE"),
    (":method", "GET"),
    (":method", "HEAD"),
    (":method", "OPTIONS"),
    (":method", "POST"),
    (":method", "PUT"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "103"),
    (":status", "200"),
    (":status", "304"),
    (":status", "404"),
    (":status", "503"),
    ("accept", "*/*"),
    ("accept", "application/dns-message"),
    ("accept-encoding", "gzip, deflate, br"),
    ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"),
    ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"),
    ("cache-control", "max-age=0"),
    ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"),
    ("cache-control", "no-cache"),
    ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"),
    ("content-encoding", "br"),
    ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"),
    ("content-type", "application/javascript"),
    ("content-type", "application/json"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"),
    ("content-type", "image/jpeg"),
    ("content-type", "image/png"),
    ("content-type", "text/css"),
    ("content-type", "text/html; charset=utf-8"),
    ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"),
    ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    (
        "strict-transport-security",
        "max-age=31536000; includesubdomains",
    ),
    (
        "strict-transport-security",
        "max-age=31536000; includesubdomains; preload",
    ),
    ("vary", "accept-encoding"),
    ("vary", "origin"),
    ("x-content-type-options", "nosniff"),
    ("x-xss-protection", "1; mode=block"),
    (":status", "100"),
    (":status", "204"),
    (":status", "206"),
    (":status", "302"),
    (":status", "400"),
    (":status", "403"),
    (":status", "421"),
    (":status", "425"),
    (":status", "500"),
    ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"),
    ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"),
    ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"),
    ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"),
    ("access-control-request-method", "post"),
    ("alt-svc", "clear"),
    ("authorization", ""),
    (
        "content-security-policy",
        "script-src 'none'; object-src 'none'; base-uri 'none'",
    ),
    ("early-data", "1"),
    ("expect-ct", ""),
    ("forwarded", ""),
    ("if-range", ""),
    ("origin", ""),
    ("purpose", "prefetch"),
    ("server", ""),
    ("timing-allow-origin", "*"),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", ""),
    ("x-forwarded-for", ""),
    ("x-frame-options", "deny"),
    ("x-frame-options", "sameorigin"),
];
