//! Finds the earlier session that a ClientHello names. This happens before the TLS handshake, while
//! there is time to fetch the session.

use std::io;

use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, Records, clear_handshake};
use tokio::io::AsyncReadExt;

use super::ClientSocket;

/// TLS refuses longer hellos.
const MAX_HELLO: usize = 64 * 1024;
/// Clients need fewer records, and each further record makes us read all of them again.
const MAX_RECORDS: usize = 64;

pub(super) enum Hello {
    /// The hello is incomplete.
    Part,
    Whole(HelloFacts),
}

/// What a ClientHello asks for.
#[derive(Debug, Default)]
pub(super) struct HelloFacts {
    /// The name of the session that the client wants to resume.
    pub(super) identity: Option<Vec<u8>>,
    pub(super) server_name: Option<String>,
    pub(super) alpn: Vec<String>,
    /// Whether there was a hello that could be read.
    pub(super) is_whole: bool,
}

impl Hello {
    /// Parses the handshake messages that have arrived so far.
    pub(super) fn in_messages(messages: &[u8]) -> Self {
        match Handshakes::new(messages).next() {
            None if messages.len() < MAX_HELLO => Self::Part,
            Some(first) if first.kind == HandshakeKind::CLIENT_HELLO => {
                let hello = ClientHello::parse(first.body).ok();
                Self::Whole(hello.map(HelloFacts::from).unwrap_or_default())
            }
            // Not a ClientHello, so nothing is fetched for it.
            _ => Self::Whole(HelloFacts::default()),
        }
    }

    fn in_records(records: &[u8]) -> Self {
        match clear_handshake(records) {
            Ok(_) if records.len() >= MAX_HELLO => Self::Whole(HelloFacts::default()),
            Ok(messages) => Self::in_messages(&messages),
            Err(_) => Self::Whole(HelloFacts::default()),
        }
    }
}

impl From<ClientHello> for HelloFacts {
    fn from(hello: ClientHello) -> Self {
        Self {
            identity: hello.first_identity,
            server_name: hello.server_name,
            alpn: hello.alpn,
            is_whole: true,
        }
    }
}

/// Reads until the ClientHello is complete, or until it is clear that there is none. TLS gets the
/// bytes afterwards.
pub(super) async fn read(stream: &mut ClientSocket) -> io::Result<(Vec<u8>, HelloFacts)> {
    let mut records = Vec::with_capacity(2048);
    let mut complete = 0;
    loop {
        if stream.read_buf(&mut records).await? == 0 {
            return Ok((records, HelloFacts::default()));
        }
        let first = Records::new(&records).take(MAX_RECORDS + 1);
        match { first }.try_fold(0, |count, record| record.map(|_| count + 1)) {
            // Otherwise the same messages would be read again for each byte.
            Ok(count) if count == complete && records.len() < MAX_HELLO => continue,
            Ok(count) if count > MAX_RECORDS => return Ok((records, HelloFacts::default())),
            Ok(count) => complete = count,
            Err(_) => {}
        }
        if let Hello::Whole(facts) = Hello::in_records(&records) {
            return Ok((records, facts));
        }
    }
}
