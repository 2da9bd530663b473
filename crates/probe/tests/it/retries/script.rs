//! An HTTP/2 server without TLS that follows a script for each connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Frame types of HTTP/2. RFC 9113 §6.
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// The server's actions after it has received all requests of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    /// It waits for this many requests,
    pub(crate) hears: usize,
    /// answers the first of them,
    pub(crate) answers: usize,
    /// resets the next with this code,
    pub(crate) resets: Option<u32>,
    /// and sends GOAWAY: no request after the last answered one was processed.
    pub(crate) goes_away: bool,
}

pub(crate) const ALL_THREE: Script = Script {
    hears: 3,
    answers: 3,
    resets: None,
    goes_away: false,
};

/// Serves one connection for each script, without TLS, and returns the total number of requests
/// that it received.
pub(crate) fn server(scripts: &'static [Script]) -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let serve = |script| serve(&mut listener.accept().unwrap().0, script).unwrap();
        scripts.iter().map(serve).sum()
    });
    (place, serving)
}

fn serve(stream: &mut TcpStream, script: &Script) -> io::Result<usize> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    write_frame(stream, SETTINGS, 0, 0, &[])?;
    let mut heard = Vec::new();
    while heard.len() < script.hears {
        let (kind, id) = read_frame(stream)?;
        if kind == HEADERS {
            heard.push(id);
        }
    }
    let answered = &heard[..script.answers];
    for id in answered {
        // END_STREAM and END_HEADERS; `:status 200` by its index in HPACK's static table.
        write_frame(stream, HEADERS, 5, *id, &[0x88])?;
    }
    if let Some(code) = script.resets {
        write_frame(stream, RESET, 0, heard[script.answers], &code.to_be_bytes())?;
    }
    if script.goes_away {
        let last = answered.last().copied().unwrap_or(0);
        let payload = [last.to_be_bytes(), [0; 4]].concat();
        write_frame(stream, GOAWAY, 0, 0, &payload)?;
    }
    if script.answers == script.hears || script.resets.is_some() {
        // Let the client close first.
        while read_frame(stream).is_ok() {}
    } else {
        // In order, so that unread data does not cause a reset.
        stream.shutdown(std::net::Shutdown::Write)?;
        while read_frame(stream).is_ok() {}
    }
    Ok(heard.len())
}

fn write_frame(
    stream: &mut TcpStream,
    kind: u8,
    flags: u8,
    id: u32,
    payload: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(id.to_be_bytes());
    frame.extend(payload);
    stream.write_all(&frame)
}

fn read_frame(stream: &mut TcpStream) -> io::Result<(u8, u32)> {
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    let [a, b, c, kind, _, id @ ..] = header;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((kind, u32::from_be_bytes(id)))
}
