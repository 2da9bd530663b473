//! Heads that break the grammar of RFC 9112: names with blanks, folded or stray lines, versions
//! with more digits. What cannot be read of a line is skipped.

use super::{Http1Message, MAX_FIELDS, version};

pub(super) fn request(head: &[u8]) -> Option<Http1Message> {
    let (line, fields) = lines(head);
    let (method, rest) = line.split_once(' ')?;
    let (target, protocol) = rest.rsplit_once(' ')?;
    let protocol = protocol.strip_prefix("HTTP/1.")?;
    Some(Http1Message {
        method: method.to_owned(),
        target: target.trim().to_owned(),
        version: version(protocol.starts_with('0')),
        fields,
        ..Http1Message::default()
    })
}

pub(super) fn response(head: &[u8]) -> Option<Http1Message> {
    let (line, fields) = lines(head);
    let (protocol, rest) = line.strip_prefix("HTTP/1.")?.split_once(' ')?;
    let rest = rest.trim_start();
    let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let status = status.parse().ok()?;
    (100..=999).contains(&status).then(|| Http1Message {
        status,
        reason: reason.trim().to_owned(),
        version: version(protocol.starts_with('0')),
        fields,
        ..Http1Message::default()
    })
}

/// The first line, and the fields. A line that begins with a blank continues the one before it. RFC
/// 9112 §5.2.
fn lines(head: &[u8]) -> (String, Vec<(String, Vec<u8>)>) {
    let mut lines = head
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':');
        if let ([b' ' | b'\t', ..], Some((_, value))) = (line, fields.last_mut()) {
            if !value.is_empty() {
                value.push(b' ');
            }
            value.extend(line.trim_ascii());
        } else if let Some((name, value)) = colon.and_then(|colon| line.split_at_checked(colon))
            && fields.len() < MAX_FIELDS
        {
            let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            fields.push((name, value.to_vec()));
        }
    }
    (first, fields)
}
