//! A strict HTTP/1.1 reader that shares no code with the one that it checks: anything that can be
//! read in two ways is an error here.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) start: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Response,
}

impl Message {
    pub(crate) fn status(&self) -> u16 {
        let status = self.start.split(' ').nth(1).unwrap_or_default();
        status.parse().unwrap_or_default()
    }

    /// Method and target.
    pub(crate) fn asked(&self) -> &str {
        self.start.strip_suffix(" HTTP/1.1").unwrap_or_default()
    }

    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.fields
            .iter()
            .filter(named)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn value<'a>(&'a self, name: &'a str) -> &'a str {
        self.values(name).next().unwrap_or_default()
    }
}

/// The complete messages, and what follows the last of them.
pub(crate) fn messages(mut bytes: &[u8], kind: Kind) -> Result<(Vec<Message>, &[u8]), String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Some((message, length)) = message(bytes, kind)? else {
            break;
        };
        all.push(message);
        bytes = &bytes[length..];
    }
    Ok((all, bytes))
}

/// One message with its length; `None` if it is incomplete.
pub(crate) fn message(bytes: &[u8], kind: Kind) -> Result<Option<(Message, usize)>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    // Values may have any encoding.
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    let start = lines.next().unwrap_or_default().to_owned();
    check_start(&start, kind)?;
    let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
    let mut message = Message {
        start,
        fields,
        body: Vec::new(),
    };
    if kind == Kind::Request && message.values("host").count() != 1 {
        return Err(format!("not one Host: {message:?}"));
    }
    let rest = &bytes[end + 4..];
    let Some(length) = body(&mut message, rest, kind)? else {
        return Ok(None);
    };
    Ok(Some((message, end + 4 + length)))
}

fn check_start(start: &str, kind: Kind) -> Result<(), String> {
    let parts: Vec<&str> = start.split(' ').collect();
    let sound = match (kind, parts.as_slice()) {
        (Kind::Request, [method, target, "HTTP/1.1"]) => is_token(method) && !target.is_empty(),
        (Kind::Response, ["HTTP/1.1", status, ..]) => {
            status.len() == 3 && matches!(status.parse(), Ok(100..=999_u16))
        }
        _ => false,
    };
    // RFC 9112 §4: a reason may contain tabs.
    let may_tab = kind == Kind::Response;
    let clean = start
        .bytes()
        .all(|b| (b == b'\t' && may_tab) || (b >= b' ' && b != 0x7f));
    if sound && clean {
        Ok(())
    } else {
        Err(format!("a first line: {start:?}"))
    }
}

fn field(line: &str) -> Result<(String, String), String> {
    let (name, value) = line
        .split_once(':')
        .ok_or(format!("no colon in {line:?}"))?;
    let clean = value.bytes().all(|b| b == b'\t' || b >= b' ' && b != 0x7f);
    if !is_token(name) || !clean {
        return Err(format!("a field: {line:?}"));
    }
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

/// Reads the body, and returns its length on the wire.
fn body(message: &mut Message, rest: &[u8], kind: Kind) -> Result<Option<usize>, String> {
    let lengths: Vec<&str> = message.values("content-length").collect();
    let codings: Vec<&str> = message.values("transfer-encoding").collect();
    let nothing = kind == Kind::Response && matches!(message.status(), 100..=199 | 204 | 304);
    let length = match (lengths.as_slice(), codings.as_slice()) {
        (_, []) if nothing && message.status() == 304 => 0,
        ([], []) if nothing => 0,
        ([], []) if kind == Kind::Request => 0,
        // Until the end of the connection.
        ([], []) => rest.len(),
        ([length], []) if !nothing && length.bytes().all(|b| b.is_ascii_digit()) => length
            .parse()
            .map_err(|_| format!("a length: {length:?}"))?,
        ([], ["chunked"]) if !nothing => {
            let Some((data, length)) = chunks(rest)? else {
                return Ok(None);
            };
            message.body = data;
            return Ok(Some(length));
        }
        _ => return Err(format!("two lengths, or none that is one: {message:?}")),
    };
    let Some(data) = rest.get(..length) else {
        return Ok(None);
    };
    message.body = data.to_vec();
    Ok(Some(length))
}

/// Reads a chunked body, without chunk extensions. Trailers may not be fields that frame a message
/// or identify a user.
fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let (mut data, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else {
            return Ok(None);
        };
        let digits = std::str::from_utf8(&bytes[at..at + line]).map_err(|_| "a size")?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("a size: {digits:?}"));
        }
        let size = usize::from_str_radix(digits, 16).map_err(|_| format!("a size: {digits:?}"))?;
        at += line + 2;
        if size == 0 {
            return Ok(trailers(&bytes[at..])?.map(|length| (data, at + length)));
        }
        let Some(chunk) = bytes.get(at..at + size + 2) else {
            return Ok(None);
        };
        if !chunk.ends_with(b"\r\n") {
            return Err("a chunk longer than its size".into());
        }
        data.extend_from_slice(&chunk[..size]);
        at += size + 2;
    }
}

/// Their length, with the empty line after them.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, String> {
    let mut at = 0;
    while let Some(line) = find(&bytes[at..], b"\r\n") {
        let text = String::from_utf8_lossy(&bytes[at..at + line]);
        at += line + 2;
        if text.is_empty() {
            return Ok(Some(at));
        }
        let (name, _) = field(&text)?;
        let name = name.to_ascii_lowercase().replace('_', "-");
        let frames = name.starts_with("content-") || name.starts_with("transfer-");
        let says_who = name.starts_with("x-forwarded") || name.ends_with("authorization");
        let never = ["host", "connection", "te", "trailer", "upgrade", "cookie"];
        if frames || says_who || never.contains(&name.as_str()) {
            return Err(format!("a trailer: {text:?}"));
        }
    }
    Ok(None)
}

fn is_token(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(allowed)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

#[test]
fn two_readings_are_an_error() {
    let request = |text: &str| messages(text.as_bytes(), Kind::Request).map(|(all, _)| all.len());
    let head = "POST / HTTP/1.1\r\nHost: a\r\n";
    assert_eq!(request(&format!("{head}\r\n")), Ok(1));
    assert_eq!(
        request(&format!("{head}Content-Length: 2\r\n\r\nab")),
        Ok(1)
    );
    assert_eq!(request(&format!("{head}Content-Length: 2\r\n\r\na")), Ok(0));
    for bad in [
        "Host: a\r\n\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
        "X : a\r\n\r\n",
        "X: a\nb\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1;a\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nA : b\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nContent_Length: 5\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nhost: b\r\n\r\n",
    ] {
        assert!(request(&format!("{head}{bad}")).is_err(), "{bad:?}");
    }
}
