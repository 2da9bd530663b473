//! Every way in which a backend may read a path. Servers decode percent signs, drop parameters,
//! merge slashes and fold names, in different orders and sometimes twice; a route that protects a
//! path has to protect all of its spellings.
//!
//! Each step of some common server is a function here, and the readings of a path are the results
//! of all sequences of these steps. Case is not a step: routes are compared both ways
//! ([`Routes::find`](crate::forward::site::Routes::find)).

use icu_normalizer::ComposingNormalizerBorrowed;

use super::BadRequestError;

/// No legitimate path has more readings than this, or more bytes of them. The work for a path is
/// proportional to these bytes, and a client may repeat a long path with a few bytes (RFC 7541).
const MAX_READINGS: usize = 64;
const MAX_BYTES: usize = 16 * 1024;

/// A change that a server may make to a path; `None` if it changes nothing. Each step first
/// searches for what it changes, which costs far less than the change.
type Step = fn(&[u8]) -> Option<Vec<u8>>;

const STEPS: [Step; 10] = [
    decoded,
    without_query,
    without_parameters,
    with_slashes,
    merged,
    without_dots,
    without_blanks,
    normalized,
    without_session,
    without_streams,
];

/// The readings of one path.
#[derive(Debug)]
pub(crate) struct Readings<'a> {
    /// The path as received, without its query.
    pub(crate) literal: &'a [u8],
    others: Vec<Vec<u8>>,
}

impl Readings<'_> {
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.literal).chain(self.others.iter().map(Vec::as_slice))
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        self.all().nth(at)
    }
}

/// Returns all readings of a path. Refuses paths that no backend needs and that some misread: those
/// with control characters or dot segments, and those that are not UTF-8.
pub(crate) fn readings(target: &str) -> Result<Readings<'_>, BadRequestError> {
    let mut known = Readings {
        literal: path(target).as_bytes(),
        others: Vec::new(),
    };
    if is_plain(known.literal) {
        return Ok(known);
    }
    let (mut next, mut bytes) = (0, known.literal.len());
    while let Some(reading) = known.get(next) {
        refuse(reading)?;
        let more: Vec<_> = STEPS.iter().filter_map(|step| step(reading)).collect();
        for other in more {
            // Nearly all readings differ in length, so this compares few bytes.
            if known.all().any(|reading| *reading == *other) {
                continue;
            }
            bytes += other.len();
            if known.others.len() == MAX_READINGS || bytes > MAX_BYTES {
                return Err(BadRequestError::TwoWays);
            }
            known.others.push(other);
        }
        next += 1;
    }
    Ok(known)
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

/// Whether there is only one reading, as for most paths.
fn is_plain(path: &[u8]) -> bool {
    let mut before = b'x';
    for byte in path {
        match byte {
            b'%' | b';' | b'\\' | b' ' | 0x80.. => return false,
            b'/' if matches!(before, b'/' | b'.') => return false,
            // This segment may be `.` or `..`, or a session.
            b'.' | b'(' if before == b'/' => return false,
            b'$' if before == b':' => return false,
            _ => {}
        }
        before = *byte;
    }
    before != b'.'
}

fn refuse(reading: &[u8]) -> Result<(), BadRequestError> {
    if reading.iter().any(u8::is_ascii_control) || std::str::from_utf8(reading).is_err() {
        return Err(BadRequestError::Characters);
    }
    if segments(reading).any(|segment| matches!(segment, b"." | b"..")) {
        return Err(BadRequestError::DotSegments);
    }
    Ok(())
}

fn segments(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

/// Percent signs decoded once (RFC 3986 §2.1), and `%u0067`, which IIS knows. Anything that is not
/// an escape stays as it is.
fn decoded(path: &[u8]) -> Option<Vec<u8>> {
    if !path.contains(&b'%') {
        return None;
    }
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            out.push(*first);
        } else if let Some((byte, after)) = number(after, 2) {
            out.push(byte as u8);
            rest = after;
        } else if let Some((code, after)) = after.strip_prefix(b"u").and_then(|r| number(r, 4))
            && let Some(c) = char::from_u32(code)
        {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = after;
        } else {
            out.push(b'%');
        }
    }
    changed(path, out)
}

/// Parses a number from the first `digits` hexadecimal digits, and returns it with the rest.
fn number(bytes: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (digits, rest) = bytes.split_at_checked(digits)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(text, 16).ok()?, rest))
}

/// Servers that decode first treat an encoded question mark as the start of a query, and an encoded
/// `#` as that of a fragment.
fn without_query(path: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr2(b'?', b'#', path)?;
    path.get(..end).map(<[u8]>::to_vec)
}

/// `/a;x=y/b` is `/a/b` to servlet containers. RFC 3986 §3.3.
fn without_parameters(path: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b';', path)?;
    each_segment(path, |segment| {
        let end = memchr::memchr(b';', segment).unwrap_or(segment.len());
        segment.get(..end).unwrap_or_default()
    })
}

/// Windows, and programs that parse URLs like browsers, treat `\` as `/`.
fn with_slashes(path: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'\\', path)?;
    let other = path.iter().map(|b| if *b == b'\\' { b'/' } else { *b });
    changed(path, other.collect())
}

/// The path without empty segments.
fn merged(path: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(path, b"//")?;
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for byte in path {
        if !(*byte == b'/' && out.last() == Some(&b'/')) {
            out.push(*byte);
        }
    }
    changed(path, out)
}

/// Windows file systems ignore dots at the end of a name.
fn without_dots(path: &[u8]) -> Option<Vec<u8>> {
    if !path.ends_with(b".") {
        memchr::memmem::find(path, b"./")?;
    }
    each_segment(path, |segment| {
        let last = segment.iter().rposition(|byte| *byte != b'.');
        segment
            .get(..last.map_or(0, |at| at + 1))
            .unwrap_or_default()
    })
}

/// Windows file systems ignore blanks at the end of a name; some servers trim names as JavaScript
/// does.
fn without_blanks(path: &[u8]) -> Option<Vec<u8>> {
    if path.is_ascii() {
        memchr::memchr(b' ', path)?;
    }
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    each_segment(path, |segment| match std::str::from_utf8(segment) {
        Ok(text) => text.trim_matches(is_blank).as_bytes(),
        Err(_) => segment,
    })
}

/// Some programs and file systems normalize names (Unicode's form KC): full-width, circled and
/// mathematical letters, ligatures and superscripts become ASCII. So do the two letters whose other
/// case is an ASCII letter.
fn normalized(path: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(path)
        .ok()
        .filter(|text| !text.is_ascii())?;
    let plain = text.replace(['\u{130}', '\u{131}'], "i");
    let form_kc = ComposingNormalizerBorrowed::new_nfkc().normalize(&plain);
    changed(path, form_kc.into_owned().into_bytes())
}

/// ASP.NET removes a session without a cookie, `/(S(x))`, also where it is glued to a name:
/// `/pa/(S(x))th` is `/path`. This removes the first one.
fn without_session(path: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find_iter(path, b"/(").find_map(|begin| {
        let (before, rest) = path.split_at_checked(begin)?;
        let segment = segments(rest.get(1..)?).next()?;
        let length = memchr::memmem::find(segment, b"))")?;
        let after = rest.get(1 + length + 2..)?;
        Some([before, after].concat())
    })
}

/// On NTFS, `name::$DATA` is the file itself, and `name:$I30:$INDEX_ALLOCATION` the directory.
fn without_streams(path: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(path, b":$")?;
    each_segment(path, |segment| {
        let colon = memchr::memchr(b':', segment)
            .filter(|_| memchr::memmem::find(segment, b":$").is_some());
        segment
            .get(..colon.unwrap_or(segment.len()))
            .unwrap_or_default()
    })
}

fn each_segment(path: &[u8], made: impl Fn(&[u8]) -> &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    for (at, segment) in segments(path).enumerate() {
        if at > 0 {
            out.push(b'/');
        }
        out.extend_from_slice(made(segment));
    }
    changed(path, out)
}

fn changed(before: &[u8], after: Vec<u8>) -> Option<Vec<u8>> {
    (before != after).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<Vec<String>, BadRequestError> {
        let all = readings(path)?;
        let text = |reading: &[u8]| String::from_utf8_lossy(reading).into_owned();
        Ok(all.all().map(text).collect())
    }

    #[test]
    fn most_paths_are_read_in_one_way() {
        for path in [
            "/",
            "/jmap",
            "/a/b.c/",
            "/a..b/x.y?%6a;//",
            "*",
            "/A+b=c&d:e@f,g",
            "/Users('x')/a(S(x))/x:y/$z",
        ] {
            assert_eq!(read(path).unwrap(), [path.split('?').next().unwrap()]);
        }
    }

    #[test]
    fn other_spellings_are_read_as_what_they_may_mean() {
        for (path, meant) in [
            ("/%6amap", "/jmap"),
            ("/%256amap", "/jmap"),
            ("/%25256amap", "/jmap"),
            ("/%u006amap", "/jmap"),
            ("/x//jmap", "/x/jmap"),
            ("/x/%2fjmap", "/x/jmap"),
            ("/x%5cjmap", "/x/jmap"),
            ("/jmap;a=b", "/jmap"),
            ("/jmap%3b", "/jmap"),
            ("/;a/jmap/y;", "/jmap/y"),
            ("/jmap.", "/jmap"),
            ("/jmap%20./y", "/jmap/y"),
            ("/jmap%c2%a0", "/jmap"),
            ("/%e3%80%80jmap%ef%bb%bf/y", "/jmap/y"),
            ("/%ef%bd%8amap", "/jmap"),
            ("/%e2%84%aaey", "/Key"),
            ("/%e2%93%99%e1%b5%90ap", "/jmap"),
            ("/%f0%9d%92%8bmap", "/jmap"),
            ("/%ef%ac%81le", "/file"),
            ("/jmap%cd%bex", "/jmap"),
            ("/%c4%b1x", "/ix"),
            ("/x%e2%84%85", "/xc/o"),
            ("/jmap%3fx", "/jmap"),
            ("/jmap.%23x", "/jmap"),
            ("/(S(x))/jmap", "/jmap"),
            ("/(A(x)S(y)F(z))/jmap", "/jmap"),
            ("/%28s%28x%29%29/jmap", "/jmap"),
            ("/x/(S(x))/jm/(S(x))ap/y", "/x/jmap/y"),
            ("/(S(a/(S(x))/jmap", "/(S(a/jmap"),
            ("/jmap::$DATA", "/jmap"),
            ("/jmap:$i30:$INDEX_ALLOCATION/y", "/jmap/y"),
            ("/jmap%3a:%24data", "/jmap"),
        ] {
            let all = read(path).unwrap();
            assert_eq!(all[0], path);
            assert!(
                all.iter().any(|reading| reading == meant),
                "{path}: {all:?}"
            );
        }
    }

    #[test]
    fn a_percent_sign_without_two_digits_stays() {
        assert_eq!(read("/100%").unwrap(), ["/100%"]);
        assert_eq!(read("/%zz%4").unwrap(), ["/%zz%4"]);
        assert_eq!(read("/%+1").unwrap(), ["/%+1"]);
    }

    #[test]
    fn paths_that_no_backend_needs_are_refused() {
        for path in [
            "/a%00",
            "/a%0d",
            "/a%1f",
            "/a%7f",
            "/a%2500",
            "/%c0%af",
            "/a%ff",
            "/%25c0%25af",
            "/%ud800%ff",
        ] {
            assert_eq!(read(path), Err(BadRequestError::Characters), "{path}");
        }
        assert!(read("/a?b=%00%ff").is_ok(), "a query is the backend's own");
    }

    #[test]
    fn dot_segments_are_refused_however_they_are_written() {
        for (path, refused) in [
            ("/a/../b", true),
            ("/..", true),
            ("/./a", true),
            ("/a/%2e%2E/b", true),
            ("/a%2f..%2Fb", true),
            ("/a/.%2e;x/b", true),
            ("/a/..;/b", true),
            ("/a/%252e%252e/b", true),
            ("/a/..%252fb", true),
            ("/a%5c..%5cb", true),
            ("/a/..%20/b", true),
            ("/a/%ef%bc%8e./b", true),
            ("/a/%e2%80%a5/b", true),
            ("/a..b/.c/d.", false),
            ("/...", false),
            ("/a?b=/../c", false),
            ("/a%2fb", false),
            ("/.well-known/jmap", false),
        ] {
            let outcome = read(path).err() == Some(BadRequestError::DotSegments);
            assert_eq!(outcome, refused, "{path}");
        }
    }

    #[test]
    fn work_is_bounded() {
        let deep = format!("/%25{}", "25".repeat(100));
        assert_eq!(read(&deep), Err(BadRequestError::TwoWays));
        let long = format!("/{}", "%41;//".repeat(10_000));
        assert_eq!(read(&long), Err(BadRequestError::TwoWays));
        // One pass, not one for each beginning.
        let begins = format!("{}))", "/(".repeat(1_000_000));
        assert_eq!(without_session(begins.as_bytes()).unwrap().len(), 1_999_998);
    }

    proptest::proptest! {
        /// Every sequence of steps leads to one of the readings.
        #[test]
        fn steps_lead_nowhere_else(
            path in "/([ab.;/\\\\ %]|/\\(a\\(b\\)\\)|::\\$b|%3f|%2[5fe]|%5c|%3b|%6[12]|%25|%u0061){0,12}",
            steps in proptest::collection::vec(0..STEPS.len(), 0..8),
        ) {
            let Ok(all) = readings(&path) else { return Ok(()) };
            let mut reading = super::path(&path).as_bytes().to_vec();
            for step in steps {
                reading = STEPS[step](&reading).unwrap_or(reading);
                proptest::prop_assert!(all.all().any(|known| *known == *reading));
            }
        }

        #[test]
        fn no_path_panics(path: String) {
            let _ = readings(&path);
        }
    }
}
