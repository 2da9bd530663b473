//! Reads from a ClientHello which earlier session it names, before the TLS handshake begins, while
//! there is time to fetch the session.

use std::io;

use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, clear_handshake};
use tokio::io::AsyncReadExt;

use super::ClientSocket;

/// What is longer is for TLS to refuse.
const MAX_HELLO: usize = 64 * 1024;

pub(super) enum Hello {
    /// More has to come.
    Part,
    /// By what name the client knows the session that it wants to go on with.
    Whole(Option<Vec<u8>>),
}

impl Hello {
    /// The handshake messages of a client, as far as they have come.
    pub(super) fn in_messages(messages: &[u8]) -> Self {
        match Handshakes::new(messages).next() {
            None if messages.len() < MAX_HELLO => Self::Part,
            Some(first) if first.kind == HandshakeKind::CLIENT_HELLO => {
                let hello = ClientHello::parse(first.body).ok();
                Self::Whole(hello.and_then(|hello| hello.first_identity))
            }
            // It is no hello, and nothing is fetched for it.
            _ => Self::Whole(None),
        }
    }

    fn in_records(records: &[u8]) -> Self {
        match clear_handshake(records) {
            Ok(_) if records.len() >= MAX_HELLO => Self::Whole(None),
            Ok(messages) => Self::in_messages(&messages),
            Err(_) => Self::Whole(None),
        }
    }
}

/// Reads until the hello is there, or what comes is none; what was read goes to TLS.
pub(super) async fn read(stream: &mut ClientSocket) -> io::Result<(Vec<u8>, Option<Vec<u8>>)> {
    let mut records = Vec::with_capacity(2048);
    loop {
        if stream.read_buf(&mut records).await? == 0 {
            return Ok((records, None));
        }
        if let Hello::Whole(identity) = Hello::in_records(&records) {
            return Ok((records, identity));
        }
    }
}
