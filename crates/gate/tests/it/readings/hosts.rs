//! Other spellings of a host, in every place where a request can name one.

use std::collections::BTreeSet;

use crate::readings::random::Dice;

const BEFORE: [&str; 10] = [
    ".", "..", "x@", "x:y@", "@", "//", "%2e", "\t", "[", "\u{200b}",
];
const BEHIND: [&str; 30] = [
    ".",
    "..",
    "...",
    ":",
    ":80",
    ":080",
    ":00080",
    ":8080",
    ":65535",
    ":65536",
    ":0",
    ".:80",
    "..:80",
    ":80.",
    ":x",
    ":80:80",
    "@x",
    "@open.example",
    ",open.example",
    " open.example",
    "/",
    "/x",
    "?",
    "#",
    "\\",
    "%00",
    "%2e",
    ";",
    "]",
    "\u{3002}",
];

/// How a request names a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Host,
    Absolute,
    /// The target names it, and `Host` another one; and the reverse.
    AbsoluteOverHost,
    HostUnderAbsolute,
    Twice,
    Old,
    OldAbsolute,
    Folded,
}

pub(crate) const FORMS: [Form; 8] = [
    Form::Host,
    Form::Absolute,
    Form::AbsoluteOverHost,
    Form::HostUnderAbsolute,
    Form::Twice,
    Form::Old,
    Form::OldAbsolute,
    Form::Folded,
];

/// A request for `/`, and whether the connection ends after it.
pub(crate) fn request(form: Form, host: &[u8]) -> (Vec<u8>, bool) {
    let open = b"open.example".as_slice();
    let parts: Vec<&[u8]> = match form {
        Form::Host => vec![b"GET / HTTP/1.1\r\nHost: ", host],
        Form::Absolute => vec![b"GET http://", host, b"/ HTTP/1.1\r\nHost: ", host],
        Form::AbsoluteOverHost => vec![b"GET http://", host, b"/ HTTP/1.1\r\nHost: ", open],
        Form::HostUnderAbsolute => vec![b"GET http://", open, b"/ HTTP/1.1\r\nHost: ", host],
        Form::Twice => vec![b"GET / HTTP/1.1\r\nHost: ", open, b"\r\nHost: ", host],
        Form::Old => vec![b"GET / HTTP/1.0\r\nHost: ", host],
        Form::OldAbsolute => vec![b"GET http://", host, b"/ HTTP/1.0\r\nX: y"],
        Form::Folded => vec![b"GET / HTTP/1.1\r\nHost:\r\n ", host],
    };
    let old = matches!(form, Form::Old | Form::OldAbsolute);
    let mut bytes = parts.concat();
    bytes.extend_from_slice(b"\r\n\r\n");
    (bytes, old)
}

/// Other spellings of a name, without the name itself.
pub(crate) fn spellings(name: &str, most: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut all: BTreeSet<Vec<u8>> = BTreeSet::new();
    for before in [""].iter().chain(&BEFORE) {
        for behind in [""].iter().chain(&BEHIND) {
            all.insert(format!("{before}{name}{behind}").into_bytes());
            all.insert(format!("{before}{}{behind}", name.to_uppercase()).into_bytes());
        }
    }
    for at in 0..name.len() {
        all.extend(letters(name, at).map(String::into_bytes));
    }
    let mut dice = Dice(seed);
    for _ in 0..most {
        let mut text = name.to_owned();
        for _ in 0..=dice.roll(2) {
            let places: Vec<usize> = (0..text.len())
                .filter(|at| text.as_bytes()[*at].is_ascii())
                .collect();
            let at = *dice.one_of(&places);
            let all: Vec<String> = letters(&text, at).collect();
            text.clone_from(dice.one_of(&all));
        }
        text.push_str(dice.one_of::<&str>(&BEHIND));
        if dice.roll(3) == 0 {
            text.insert_str(0, dice.one_of::<&str>(&BEFORE));
        }
        all.insert(text.into_bytes());
    }
    all.remove(name.as_bytes());
    all.into_iter().collect()
}

/// Other spellings of the byte at this place.
fn letters(name: &str, at: usize) -> impl Iterator<Item = String> {
    let byte = name.as_bytes()[at];
    let wide = char::from_u32(0xfee0 + u32::from(byte)).unwrap_or('x');
    let all = [
        format!("%{byte:02x}"),
        format!("%25{byte:02x}"),
        char::from(if byte.is_ascii_alphabetic() {
            byte ^ 0x20
        } else {
            byte
        })
        .to_string(),
        wide.to_string(),
        format!("{}\u{ad}", char::from(byte)),
        format!("{}.", char::from(byte)),
    ];
    let (before, behind) = (name[..at].to_owned(), name[at + 1..].to_owned());
    all.into_iter()
        .map(move |one| format!("{before}{one}{behind}"))
}
