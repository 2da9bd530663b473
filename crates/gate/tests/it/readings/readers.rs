//! Servers of a few lines that read paths as known programs do, for programs that may not be
//! installed: any path that such a program finds below `/guarded` is answered with the protected
//! content.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::readings::{MARKER, OPEN};

/// How a server reads a path.
pub(crate) type Reading = fn(&[u8]) -> Vec<u8>;

/// Reads as C programs do: the path is decoded in place, and NUL ends it.
pub(crate) fn c_string(path: &[u8]) -> Vec<u8> {
    until(&decoded(path), |b| b == 0)
}

/// The first control character ends it, like the end of a line or field.
pub(crate) fn line(path: &[u8]) -> Vec<u8> {
    until(&decoded(path), |b| b.is_ascii_control())
}

/// Query and fragment are separated after decoding.
pub(crate) fn late_query(path: &[u8]) -> Vec<u8> {
    until(&decoded(path), |b| b == b'?' || b == b'#')
}

/// Two layers, both of which decode.
pub(crate) fn twice(path: &[u8]) -> Vec<u8> {
    decoded(&decoded(path))
}

pub(crate) fn thrice(path: &[u8]) -> Vec<u8> {
    decoded(&twice(path))
}

/// Parameters of segments are removed (RFC 3986 §3.3), before or after decoding.
pub(crate) fn parameters(path: &[u8]) -> Vec<u8> {
    bare(&decoded(&bare(path)))
}

/// Overlong and full-width characters are read as what they look like.
pub(crate) fn best_fit(path: &[u8]) -> Vec<u8> {
    let bytes = decoded(path);
    let mut read = Vec::new();
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let more = match first {
            0xc0..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf7 => 3,
            _ => 0,
        };
        let rest = bytes.get(at + 1..=at + more).unwrap_or_default();
        let head = u32::from(*first) & (0x7f >> if more > 0 { more + 1 } else { 0 });
        let code = rest
            .iter()
            .fold(head, |code, b| code << 6 | u32::from(b & 0x3f));
        let code = match code {
            0xff01..=0xff5e => code - 0xfee0,
            // Circled and mathematical letters.
            0x24d0..=0x24e9 => code - 0x24d0 + u32::from(b'a'),
            0x1d41a..=0x1d433 => code - 0x1d41a + u32::from(b'a'),
            code => code,
        };
        match u8::try_from(code) {
            Ok(byte) if rest.len() == more && byte.is_ascii() => {
                read.push(byte);
                at += more;
            }
            _ => read.push(*first),
        }
        at += 1;
    }
    read
}

/// `%u0067`, backslashes, case, and dots and blanks at the end of a name.
pub(crate) fn windows(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    while let Some(at) = path
        .windows(4)
        .position(|w| w.eq_ignore_ascii_case(b"%u00"))
    {
        path.splice(at..at + 4, *b"%");
    }
    let path = decoded(&path).to_ascii_lowercase();
    let slashed: Vec<u8> = path
        .iter()
        .map(|b| if *b == b'\\' { b'/' } else { *b })
        .collect();
    let named = slashed.split(|b| *b == b'/').map(|segment| {
        let length = segment.iter().rposition(|b| *b != b'.' && *b != b' ');
        if segment == b"." || segment == b".." {
            segment
        } else {
            &segment[..length.map_or(0, |at| at + 1)]
        }
    });
    named.collect::<Vec<_>>().join(&b'/')
}

/// Reads as Windows does; NTFS opens a name without its stream.
pub(crate) fn ntfs(path: &[u8]) -> Vec<u8> {
    let path = windows(path);
    let named = path.split(|b| *b == b'/').map(|segment| {
        let is_stream = segment.windows(2).any(|two| two == b":$");
        until(segment, |b| is_stream && b == b':')
    });
    named.collect::<Vec<_>>().join(&b'/')
}

/// Removes ASP.NET's cookieless sessions: `/(S(x))`, and `/(A(x)S(y))`.
pub(crate) fn sessions(path: &[u8]) -> Vec<u8> {
    let mut path = decoded(path);
    let session = |path: &[u8]| {
        let begins = path.windows(2).enumerate().filter(|(_, two)| *two == b"/(");
        begins.into_iter().find_map(|(begin, _)| {
            let end = path[begin..].windows(2).position(|two| two == b"))")?;
            let whole = begin..begin + end + 2;
            let is_one = !path[begin + 1..whole.end].contains(&b'/');
            is_one.then_some(whole)
        })
    };
    while let Some(range) = session(&path) {
        path.drain(range);
    }
    path
}

/// All of these.
pub(crate) fn lenient(path: &[u8]) -> Vec<u8> {
    sessions(&ntfs(&parameters(&late_query(path))))
}

/// A server with this reading.
pub(crate) fn serve(reading: Reading) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap(), reading));
        }
    });
    address
}

fn answer(mut stream: TcpStream, reading: Reading) {
    let (mut buffer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head: Vec<u8> = buffer.drain(..end + 4).collect();
            let target = head.split(|b| *b == b' ').nth(1).unwrap_or_default();
            let body = if is_guarded(target, reading) {
                MARKER
            } else {
                OPEN
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(n @ 1..) => buffer.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
}

fn is_guarded(target: &[u8], reading: Reading) -> bool {
    let path = reading(&until(target, |b| b == b'?' || b == b'#'));
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|b| *b == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    segments.first().is_some_and(|first| *first == b"guarded")
}

fn until(path: &[u8], end: impl Fn(u8) -> bool) -> Vec<u8> {
    path.iter().copied().take_while(|b| !end(*b)).collect()
}

/// Segments without what follows a semicolon.
fn bare(path: &[u8]) -> Vec<u8> {
    let segments = path.split(|b| *b == b'/');
    segments
        .map(|segment| until(segment, |b| b == b';'))
        .collect::<Vec<_>>()
        .join(&b'/')
}

/// Invalid escapes stay as they are.
fn decoded(path: &[u8]) -> Vec<u8> {
    let mut read = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        let digits = path.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        read.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    read
}
