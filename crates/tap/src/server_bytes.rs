//! The first bytes of the server, if they could be looked at before the program read them: its
//! hello, or the head of an answer in clear text.
//!
//! The program and the tap wake up together. If the program was faster, the bytes are gone and
//! remain unknown; times never depend on them.

use std::mem::MaybeUninit;

use roundtrip_model::HttpFacts;
use roundtrip_wire::http1::{self, Strictness};
use roundtrip_wire::server_timing;
use roundtrip_wire::tls::{
    Group, HandshakeKind, Handshakes, ServerHello, clear_handshake, server_key_exchange_group,
};

/// The largest part of an answer that is kept, in bytes.
const MAX_KEPT: usize = 64 * 1024;
const MAX_FIELDS: usize = 128;

/// The beginning of a stream, kept while it has no gap.
#[derive(Debug, Default)]
pub(crate) struct ServerBytes {
    /// The position of `bytes` in the stream.
    start: u64,
    bytes: Vec<u8>,
}

/// The server's choices in its hello.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) hello: Option<ServerHello>,
    pub(crate) group: Option<String>,
    pub(crate) retried: bool,
}

impl ServerBytes {
    /// Forgets everything up to `offset`: another answer begins there.
    pub(crate) fn begin(&mut self, offset: u64) {
        self.start = offset;
        self.bytes.clear();
    }

    /// The offset of the first missing byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= MAX_KEPT
    }

    /// Adds bytes at `offset` of the stream; bytes beyond a gap are ignored.
    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let Some(known) = self.end().checked_sub(offset) else {
            return;
        };
        let new = usize::try_from(known)
            .ok()
            .and_then(|known| bytes.get(known..));
        let room = MAX_KEPT.saturating_sub(self.bytes.len());
        self.bytes.extend(new.unwrap_or_default().iter().take(room));
    }

    pub(crate) fn chosen(&self) -> Chosen {
        let mut chosen = Chosen::default();
        let handshake = clear_handshake(&self.bytes).unwrap_or_default();
        for message in Handshakes::new(&handshake) {
            match message.kind {
                HandshakeKind::SERVER_HELLO => {
                    let Ok(hello) = ServerHello::parse(message.body) else {
                        continue;
                    };
                    if hello.is_retry {
                        chosen.retried = true;
                    } else {
                        let group = hello.group.and_then(Group::name);
                        chosen.group = group.map(Into::into);
                        chosen.hello = Some(hello);
                    }
                }
                HandshakeKind::SERVER_KEY_EXCHANGE => {
                    let group = server_key_exchange_group(message.body);
                    let group = group.and_then(Group::name);
                    chosen.group = chosen.group.or(group.map(Into::into));
                }
                _ => {}
            }
        }
        chosen
    }

    /// Fills in the facts from the head of the final answer.
    pub(crate) fn answer(&self, facts: &mut HttpFacts) {
        let mut rest = self.bytes.as_slice();
        loop {
            let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
            let Ok(Some(head)) = http1::response(rest, &mut room, Strictness::AsCurl) else {
                return;
            };
            if (100..200).contains(&head.status) && head.status != 101 {
                facts.interim.push(head.status);
                rest = rest.get(head.length..).unwrap_or_default();
                continue;
            }
            facts.status = head.status;
            head.reason.clone_into(&mut facts.reason);
            facts.version = if head.is_http10 { "1.0" } else { "1.1" }.into();
            facts.header_bytes = head.length as u64;
            facts.headers = head
                .fields
                .iter()
                .map(|field| (field.name.to_owned(), field.value.to_vec()))
                .collect();
            let location = facts.header("location").map(String::from_utf8_lossy);
            facts.redirect = location
                .filter(|_| (300..400).contains(&head.status))
                .map(std::borrow::Cow::into_owned);
            let timing = facts.header("server-timing").map(server_timing::parse);
            let timing = timing.unwrap_or_default().into_iter();
            facts.server_timing = timing
                .map(|metric| (metric.name.clone(), metric.duration(), metric.description))
                .collect();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_behind_interim_ones() {
        let mut heard = ServerBytes::default();
        heard.begin(100);
        let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n";
        heard.add(100, &text[..30]);
        // Bytes that were looked at twice count once.
        heard.add(100, &text[..40]);
        heard.add(140, &text[40..]);
        let mut facts = HttpFacts::default();
        heard.answer(&mut facts);
        assert_eq!((facts.interim, facts.status), (vec![100], 302));
        assert_eq!(facts.redirect.as_deref(), Some("/b"));
    }

    #[test]
    fn bytes_behind_a_gap_are_not_taken_for_others() {
        let mut heard = ServerBytes::default();
        heard.add(5, b"HTTP/1.1 200 OK\r\n\r\n");
        let mut facts = HttpFacts::default();
        heard.answer(&mut facts);
        assert_eq!(facts, HttpFacts::default());
        assert_eq!(heard.end(), 0);
    }
}
