//! Finds the earlier session that a ClientHello names. This happens before the TLS handshake, while
//! there is time to fetch the session.

use std::io;

use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, clear_handshake};
use tokio::io::AsyncReadExt;

use super::ClientSocket;

/// TLS refuses longer ones.
const MAX_HELLO: usize = 64 * 1024;
/// No client needs more; each of them costs us a look at all of them.
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

/// The length of the first record with its head (RFC 8446 §5.1); `None` if the head is incomplete.
fn record_length(records: &[u8]) -> Option<usize> {
    let (_, length) = records.split_at_checked(3)?;
    let length = length.first_chunk::<2>()?;
    Some(5 + usize::from(u16::from_be_bytes(*length)))
}

fn is_handshake(records: &[u8]) -> bool {
    records.first() == Some(&22)
}

/// Reads until the ClientHello is complete, or until it is clear that there is none. TLS gets the
/// bytes afterwards.
pub(super) async fn read(stream: &mut ClientSocket) -> io::Result<(Vec<u8>, HelloFacts)> {
    let mut records = Vec::with_capacity(2048);
    // The records that are complete: their number, and their length in all.
    let (mut count, mut whole) = (0, 0);
    loop {
        if stream.read_buf(&mut records).await? == 0 {
            return Ok((records, HelloFacts::default()));
        }
        let before = count;
        while let Some(length) = record_length(records.get(whole..).unwrap_or_default())
            && records.len() - whole >= length
        {
            whole += length;
            count += 1;
        }
        // Otherwise the same records would be read again for each byte.
        if count == before && records.len() < MAX_HELLO && is_handshake(&records) {
            continue;
        }
        if count > MAX_RECORDS {
            return Ok((records, HelloFacts::default()));
        }
        if let Hello::Whole(facts) = Hello::in_records(&records) {
            return Ok((records, facts));
        }
    }
}
