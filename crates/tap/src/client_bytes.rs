//! Decides which write of a program begins a request, from the unencrypted part of the stream.
//!
//! TLS encrypts requests, but not the types and the lengths of records. A client's Finished is the
//! first encrypted record that follows its hello, and has one of two lengths; the request follows
//! it. HTTP/2 also sends frames that are not requests: these have known lengths as well.

use std::mem::MaybeUninit;

use roundtrip_wire::http1::{self, Strictness};
use roundtrip_wire::tls::{ClientHello, ContentKind, HandshakeKind, Handshakes, Records};

/// The bytes of a record's header.
const HEADER: usize = 5;
/// The longest incomplete record that is kept until its rest is written, in bytes.
const MAX_KEPT: usize = 20 * 1024;
/// How many bytes of a write after the handshake are read: enough for control frames, each in a
/// record.
const MAX_SEALED: usize = 256;
const MAX_FIELDS: usize = 128;
/// The lengths of an encrypted Finished of TLS 1.3 (RFC 8446 §4.4.4): its header, a hash, the
/// content type, and the tag.
const FINISHED: [usize; 2] = [4 + 32 + 17, 4 + 48 + 17];
/// An EndOfEarlyData of TLS 1.3.
const END_OF_EARLY_DATA: usize = 4 + 17;
/// The lengths of HTTP/2's frames that are not part of a request: SETTINGS with an acknowledgement,
/// WINDOW_UPDATE and RST_STREAM, PING and GOAWAY, and two such frames together. RFC 9113 §6.
const CONTROL_FRAMES: [usize; 5] = [9, 13, 17, 22, 26];
/// An alert that TLS 1.3 encrypts as application data: close_notify.
const ALERT_BYTES: usize = 2;
/// Types of records: from alerts to heartbeats, including application data.
const ALERT: u8 = 21;
const SEALED: u8 = 23;
const HEARTBEAT: u8 = 24;
/// What encryption adds to a record: TLS 1.3; TLS 1.2 with AES-GCM and with ChaCha20.
const OVERHEAD_13: [usize; 1] = [17];
const OVERHEAD_12: [usize; 2] = [24, 16];

/// A request line and the `Host` field, in clear text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PlainRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) host: Option<String>,
    pub(crate) is_http10: bool,
}

/// What one write carried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Written {
    /// Whether the write was a ClientHello, the first or a later one.
    pub(crate) hello: bool,
    /// The client's Finished: it has read the server's flight.
    pub(crate) finished: bool,
    /// The beginning or a part of a request.
    pub(crate) request: bool,
    /// The request is sent before the server has answered the hello.
    pub(crate) early: bool,
    pub(crate) asked: Option<PlainRequest>,
}

/// Follows the stream of one connection.
#[derive(Debug, Default)]
pub(crate) struct ClientBytes {
    protocol: Protocol,
    tls: Tls,
    /// The bytes of records that are not complete yet.
    kept: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Protocol {
    #[default]
    Unknown,
    Tls,
    Http1,
    Other,
}

#[derive(Debug, Default)]
struct Tls {
    hello: Option<ClientHello>,
    hellos: u32,
    changed_cipher: bool,
    /// A handshake message without a name followed ChangeCipherSpec: TLS 1.2.
    is_12: bool,
    finished: bool,
    sent_early: bool,
    /// The server has answered since the first hello.
    answered: bool,
    lost: bool,
}

impl ClientBytes {
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(crate) fn hello(&self) -> Option<&ClientHello> {
        self.tls.hello.as_ref()
    }

    pub(crate) fn hellos(&self) -> u32 {
        self.tls.hellos
    }

    /// Whether the handshake uses TLS 1.2 or an earlier version; `None` before that is known.
    pub(crate) fn is_tls12(&self) -> Option<bool> {
        self.tls.finished.then_some(self.tls.is_12)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.tls.finished
    }

    /// Whether the peer may send frames that answer no request.
    pub(crate) fn may_be_http2(&self) -> bool {
        let offers = |hello: &ClientHello| hello.alpn.iter().any(|name| name == "h2");
        self.hello().is_some_and(offers)
    }

    /// How much of the next write is worth reading, in bytes.
    pub(crate) fn appetite(&self) -> usize {
        match self.protocol {
            Protocol::Other => 0,
            Protocol::Tls if self.tls.finished || self.tls.lost => MAX_SEALED,
            _ => MAX_KEPT,
        }
    }

    /// Notes that something has arrived from the server.
    pub(crate) fn answered(&mut self) {
        self.tls.answered |= self.tls.hellos > 0;
    }

    /// Reads a write of `length` bytes that begins with `bytes`.
    pub(crate) fn read(&mut self, bytes: &[u8], length: u64) -> Written {
        if self.protocol == Protocol::Unknown {
            self.protocol = recognise(bytes);
        }
        match self.protocol {
            Protocol::Unknown | Protocol::Other => Written {
                request: true,
                ..Written::default()
            },
            Protocol::Http1 => {
                let asked = read_request(bytes);
                Written {
                    request: asked.is_some(),
                    asked,
                    ..Written::default()
                }
            }
            Protocol::Tls if self.tls.finished || self.tls.lost => self.sealed(bytes, length),
            Protocol::Tls => self.records(bytes, length),
        }
    }

    /// A write after the handshake: a request, unless all of its records are control frames or
    /// alerts.
    fn sealed(&self, bytes: &[u8], length: u64) -> Written {
        let mut at = 0;
        while let Some((kind, body)) = header(bytes.get(at..).unwrap_or_default()) {
            if !(ALERT..=HEARTBEAT).contains(&kind) || (kind == SEALED && !self.is_control(body)) {
                break;
            }
            at += HEADER + body;
            if at as u64 >= length {
                return Written::default();
            }
        }
        Written {
            request: true,
            ..Written::default()
        }
    }

    fn is_control(&self, record: usize) -> bool {
        let overhead: &[usize] = if self.tls.is_12 {
            &OVERHEAD_12
        } else {
            &OVERHEAD_13
        };
        overhead.iter().any(|added| {
            let content = record.saturating_sub(*added);
            content == ALERT_BYTES || (self.may_be_http2() && CONTROL_FRAMES.contains(&content))
        })
    }

    /// Reads a write of the handshake, and data that may follow it in the same write.
    fn records(&mut self, bytes: &[u8], length: u64) -> Written {
        self.kept.extend(bytes);
        let mut told = Written::default();
        let kept = std::mem::take(&mut self.kept);
        let mut records = Records::new(&kept);
        for record in records.by_ref() {
            match record {
                Ok(record) => self.tls.record(record.kind, record.body, &mut told),
                Err(_) => self.tls.lost = true,
            }
        }
        let rest = records.rest();
        // A client certificate may share a record with Finished: then this write ends the
        // handshake.
        if self.tls.answered && told.request && !self.tls.finished {
            self.tls.finished = true;
            told.finished = true;
            told.request = false;
        }
        if bytes.len() as u64 != length || rest.len() > MAX_KEPT {
            // The part that was not read may contain the start of a record.
            self.tls.lost = true;
        } else if !self.tls.finished {
            self.kept = rest.to_vec();
        }
        if self.tls.finished && !rest.is_empty() {
            told.request = true;
        }
        told
    }
}

impl Tls {
    fn record(&mut self, kind: ContentKind, body: &[u8], told: &mut Written) {
        match kind {
            ContentKind::Handshake => self.handshake(body, told),
            ContentKind::ChangeCipherSpec => self.changed_cipher = true,
            ContentKind::ApplicationData if self.finished => {
                told.request = true;
            }
            ContentKind::ApplicationData if !self.answered => {
                self.sent_early = true;
                told.early = true;
                told.request = true;
            }
            ContentKind::ApplicationData => self.first_sealed(body.len(), told),
            ContentKind::Alert | ContentKind::Heartbeat => {}
        }
    }

    fn handshake(&mut self, body: &[u8], told: &mut Written) {
        let mut messages = Handshakes::new(body);
        match messages.next() {
            Some(message) if message.kind == HandshakeKind::CLIENT_HELLO => {
                told.hello = true;
                self.hellos += 1;
                self.answered = false;
                if let Ok(hello) = ClientHello::parse(message.body) {
                    self.hello = Some(hello);
                }
            }
            _ if self.changed_cipher => {
                self.is_12 = true;
                self.finished = true;
                told.finished = true;
            }
            _ => {}
        }
    }

    /// An encrypted record of TLS 1.3 that answers the server's flight.
    fn first_sealed(&mut self, length: usize, told: &mut Written) {
        if FINISHED.contains(&length) {
            self.finished = true;
            told.finished = true;
            told.request = false;
        } else if length != END_OF_EARLY_DATA || !self.sent_early {
            // A certificate, or everything in one record.
            told.request = true;
        }
    }
}

/// The type and the length of the record that `bytes` begin with.
fn header(bytes: &[u8]) -> Option<(u8, usize)> {
    match bytes {
        [kind, 3, _, high, low, ..] => {
            Some((*kind, usize::from(u16::from_be_bytes([*high, *low]))))
        }
        _ => None,
    }
}

fn recognise(bytes: &[u8]) -> Protocol {
    match bytes {
        [] => Protocol::Unknown,
        [22, 3, ..] => Protocol::Tls,
        _ if read_request(bytes).is_some() => Protocol::Http1,
        _ => Protocol::Other,
    }
}

/// The request at the start of `bytes`, if there is one.
fn read_request(bytes: &[u8]) -> Option<PlainRequest> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let parsed = http1::request(bytes, &mut room, Strictness::AsCurl);
    if let Ok(Some(head)) = parsed {
        let named = |field: &&http1::Field<'_>| field.name.eq_ignore_ascii_case("host");
        let host = head.fields.iter().find(named);
        return Some(PlainRequest {
            method: head.method.into(),
            target: head.target.into(),
            host: host.map(|field| String::from_utf8_lossy(field.value).into_owned()),
            is_http10: head.is_http10,
        });
    }
    // A head in several writes: the first line is enough.
    let line = bytes.split(|b| *b == b'\n').next()?.strip_suffix(b"\r")?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_http10 = version == "HTTP/1.0";
    let is_known = is_http10 || version == "HTTP/1.1";
    (is_known && words.next().is_none()).then(|| PlainRequest {
        method: method.into(),
        target: target.into(),
        host: None,
        is_http10,
    })
}

#[cfg(test)]
mod tests;
