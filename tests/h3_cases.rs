//! What RFC 9114 and RFC 9204 say of requests and streams that a client sends, as bytes, and the
//! outcome that each must have. Servers are tested by [`cases`] through a QUIC connection of
//! another project.

#![allow(clippy::panic)]

#[path = "h3_cases/messages.rs"]
mod messages;
#[path = "h3_cases/streams.rs"]
mod streams;

use std::time::Duration;

use quinn::{ConnectionError, ReadError, ReadToEndError};
use roundtrip_wire::h3::Code;

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_mins(1);

/// The fields of a valid request without the authority, which the server chooses.
const SOUND: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "https"), (":path", "/")];
const POST: [(&str, &str); 3] = [(":method", "POST"), (":scheme", "https"), (":path", "/")];

/// The outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request was answered.
    Answered(u16),
    /// Its stream was reset.
    Reset(Code),
    /// The connection was closed.
    Closed(Code),
}

/// The permitted outcomes of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The request is answered, with an error of the request or without.
    Answered,
    /// A stream error of H3_MESSAGE_ERROR, or an answer that says so. RFC 9114 §4.1.2.
    Malformed,
    Reset(Code),
    Closed(Code),
}

/// The bytes of a stream of one direction, and whether it ends behind them.
type Uni = (Vec<u8>, bool);

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// All bytes of the request's stream.
    request: Vec<u8>,
    /// A control stream is among them.
    streams: Vec<Uni>,
    /// The server's first stream of one direction is stopped.
    stops: bool,
    pub(crate) expected: Expected,
}

impl Expected {
    pub(crate) fn permits(self, outcome: Outcome) -> bool {
        match (self, outcome) {
            (Self::Answered, Outcome::Answered(_)) | (Self::Malformed, Outcome::Answered(400)) => {
                true
            }
            (Self::Malformed, Outcome::Reset(code)) => code == Code::H3_MESSAGE_ERROR,
            (Self::Reset(expected), Outcome::Reset(code))
            | (Self::Closed(expected), Outcome::Closed(code)) => expected == code,
            _ => false,
        }
    }
}

impl Case {
    /// Plays the case on a connection that was not used yet.
    pub(crate) async fn play(&self, quic: &quinn::Connection) -> Outcome {
        let mut open = Vec::new();
        for (bytes, ends) in &self.streams {
            let mut stream = quic.open_uni().await.unwrap();
            // The connection may be over because of the stream before.
            let _ = stream.write_all(bytes).await;
            if *ends {
                let _ = stream.finish();
            }
            open.push(stream);
        }
        if self.stops {
            let mut stream = quic.accept_uni().await.unwrap();
            // Everything that the server says at first has come.
            stream.read_chunk(1, true).await.unwrap();
            stream.stop(0_u32.into()).unwrap();
        }
        let outcome = async {
            if let Ok((mut up, mut down)) = quic.open_bi().await {
                let _ = up.write_all(&self.request).await;
                let _ = up.finish();
                let outcome = outcome(down.read_to_end(1 << 20).await);
                // An answer may be on its way already when something else closes the connection.
                if !matches!(self.expected, Expected::Closed(_)) {
                    return outcome;
                }
            }
            closed(&quic.closed().await)
        };
        let outcome = tokio::time::timeout(PATIENCE, outcome).await;
        outcome.unwrap_or_else(|_| panic!("nothing comes of {}", self.name))
    }
}

fn outcome(read: Result<Vec<u8>, ReadToEndError>) -> Outcome {
    match read {
        Ok(bytes) => Outcome::Answered(status(&bytes)),
        Err(ReadToEndError::Read(ReadError::Reset(code))) => {
            Outcome::Reset(Code::from_value(code.into_inner()))
        }
        Err(ReadToEndError::Read(ReadError::ConnectionLost(error))) => closed(&error),
        Err(error) => panic!("{error}"),
    }
}

fn closed(error: &ConnectionError) -> Outcome {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            Outcome::Closed(Code::from_value(close.error_code.into_inner()))
        }
        error => panic!("{error}"),
    }
}

/// The status of a response whose head is its first frame. Its length takes one byte or two.
fn status(bytes: &[u8]) -> u16 {
    let (payload, length) = match bytes[1] {
        short @ 0..0x40 => (2, usize::from(short)),
        long => (3, usize::from(long & 0x3f) << 8 | usize::from(bytes[2])),
    };
    let bounds = roundtrip_wire::qpack::SectionBounds {
        lines: 100,
        size: 1 << 16,
    };
    let section = &bytes[payload..payload + length];
    let section = roundtrip_wire::qpack::read_section(section, bounds).unwrap();
    let (name, value) = section.lines().next().unwrap();
    assert_eq!(name, b":status");
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// Each field as a literal. RFC 9204 §4.5.6.
pub(crate) fn section(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in lines {
        integer(&mut section, 0x20, 7, name.len());
        section.extend_from_slice(name.as_bytes());
        integer(&mut section, 0, 0x7f, value.len());
        section.extend_from_slice(value.as_bytes());
    }
    section
}

/// RFC 7541 §5.1.
fn integer(into: &mut Vec<u8>, flags: u8, most: u8, value: usize) {
    let Some(mut rest) = value.checked_sub(most.into()) else {
        return into.push(flags | u8::try_from(value).unwrap());
    };
    into.push(flags | most);
    while rest >= 0x80 {
        into.push(0x80 | u8::try_from(rest & 0x7f).unwrap());
        rest >>= 7;
    }
    into.push(u8::try_from(rest).unwrap());
}

/// With a length of four bytes.
pub(crate) fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = 0x8000_0000 | u32::try_from(content.len()).unwrap();
    [&[kind], length.to_be_bytes().as_slice(), content].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// All cases, for a server that answers requests for `/` at `authority`.
pub(crate) fn cases(authority: &str) -> Vec<Case> {
    let host = (":authority", authority);
    let mut cases = messages::cases(host);
    cases.append(&mut streams::cases(host));
    cases
}

fn head(lines: &[&[(&str, &str)]]) -> Vec<u8> {
    frame(HEADERS, &section(&lines.concat()))
}

/// A request, with a control stream that says nothing special.
fn request(name: &str, frames: &[&[u8]], expected: Expected) -> Case {
    Case {
        name: name.to_owned(),
        request: frames.concat(),
        streams: vec![(vec![0, 4, 0], false)],
        stops: false,
        expected,
    }
}
