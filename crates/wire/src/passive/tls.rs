//! TLS over TCP, opened with the secrets of a key log: 1.3 with AES-GCM and ChaCha20, with early
//! data and key updates; 1.2 with the same ciphers, but not a renegotiation.
//!
//! Push the bytes of each side in the order of its TCP stream, and report bytes that are missing
//! from the capture. One record of each side is buffered.

mod epoch;
mod framing;

use std::ops::Range;

use self::epoch::{Older, Secrets, Unseen};
use self::framing::{FramedRecord, RECORD_HEAD, RecordAssembly};
use super::SealedReason;
use crate::key_log::KeyLog;
use crate::protection::TAG;
use crate::quic::Side;
use crate::tls::{CipherSuite, ContentKind, HandshakeKind, Handshakes, ServerHello, Version};

/// The limit for one side's first messages in bytes; the largest hellos have a tenth of this.
const MAX_HELLO: usize = 1 << 16;
/// After this number of consecutive records that do not open, no more are tried.
const MAX_FAILURES: u32 = 32;
/// The smallest sealed record in bytes: type, version, length, tag and one byte.
const MIN_SEALED: u64 = (RECORD_HEAD + TAG + 1) as u64;

/// A connection, seen from outside.
#[derive(Default)]
pub struct TlsReader {
    client: TlsHalf,
    server: TlsHalf,
    parties: Parties,
}

/// A record of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsRecord<'a> {
    pub side: Side,
    /// The inner type if the record was opened.
    pub kind: ContentKind,
    /// The whole record, as a range of that side's TCP stream, which starts at 0.
    pub at: Range<u64>,
    pub content: TlsContent<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsContent<'a> {
    Clear(&'a [u8]),
    Opened {
        epoch: TlsEpoch,
        bytes: &'a [u8],
    },
    /// The record was not opened. `length` is that of the content if there is no padding.
    Sealed {
        reason: SealedReason,
        length: usize,
    },
    /// Bytes between records whose limits could not be found.
    Lost,
}

/// Which keys opened a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsEpoch {
    /// Data that the client sent before the handshake was over.
    Early,
    Handshake,
    /// Application data after this many key updates.
    Application(u32),
}

#[derive(Default)]
struct TlsHalf {
    framing: RecordAssembly,
    /// Unencrypted handshake messages, until the hello is known.
    hello: Vec<u8>,
    secrets: Secrets,
    older: Option<Older>,
    /// TLS 1.2: ChangeCipherSpec was sent.
    sealed: bool,
    unseen: Unseen,
    failures: u32,
    opened: Vec<u8>,
}

/// The content of the hellos.
#[derive(Default)]
struct Parties {
    client_random: Option<[u8; 32]>,
    server_random: Option<[u8; 32]>,
    suite: Option<CipherSuite>,
    /// The server chose 1.2 or an earlier version.
    is_older: bool,
}

impl TlsReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the connection in a key log, once the ClientHello has arrived.
    pub fn client_random(&self) -> Option<&[u8; 32]> {
        self.parties.client_random.as_ref()
    }

    /// Roughly the number of bytes that the reader holds.
    pub fn held(&self) -> usize {
        let halves = [&self.client, &self.server].into_iter();
        let halves =
            halves.map(|half| half.framing.held() + half.hello.capacity() + half.opened.capacity());
        halves.sum()
    }

    /// Takes the next bytes of a side, and passes on the records that they complete.
    pub fn push(
        &mut self,
        side: Side,
        bytes: &[u8],
        keys: &KeyLog,
        mut each: impl FnMut(TlsRecord<'_>),
    ) {
        self.step(side, keys, &mut each, |framing, found| {
            framing.push(bytes, found);
        });
    }

    /// Notes that the next `length` bytes of a side are missing.
    pub fn skip(
        &mut self,
        side: Side,
        length: u64,
        keys: &KeyLog,
        mut each: impl FnMut(TlsRecord<'_>),
    ) {
        self.step(side, keys, &mut each, |framing, found| {
            framing.skip(length, found);
        });
    }

    fn step(
        &mut self,
        side: Side,
        keys: &KeyLog,
        each: &mut dyn FnMut(TlsRecord<'_>),
        advance: impl FnOnce(&mut RecordAssembly, &mut dyn FnMut(FramedRecord<'_>)),
    ) {
        let half = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let parties = &mut self.parties;
        // The framing is taken out, because its results change other fields.
        let mut framing = std::mem::take(&mut half.framing);
        advance(&mut framing, &mut |found| {
            each(half.read(side, found, parties, keys));
        });
        half.framing = framing;
    }
}

impl TlsHalf {
    fn read<'a>(
        &'a mut self,
        side: Side,
        found: FramedRecord<'a>,
        parties: &mut Parties,
        keys: &KeyLog,
    ) -> TlsRecord<'a> {
        let (kind, at, content) = match found {
            FramedRecord::Lost { at } => {
                let least = (at.end - at.start) / MIN_SEALED;
                self.unseen.lose(least + 1);
                (ContentKind::ApplicationData, at, TlsContent::Lost)
            }
            FramedRecord::Cut { head, at } if self.is_clear(head.kind, parties) => {
                let length = head.length;
                let reason = SealedReason::Cut;
                (head.kind, at, TlsContent::Sealed { reason, length })
            }
            FramedRecord::Cut { head, at } => {
                self.unseen.cut();
                let length = parties.content_length(head.length);
                let reason = SealedReason::Cut;
                (head.kind, at, TlsContent::Sealed { reason, length })
            }
            FramedRecord::Record { head, body, at } if self.is_clear(head.kind, parties) => {
                self.read_clear(side, head.kind, body, parties);
                (head.kind, at, TlsContent::Clear(body))
            }
            FramedRecord::Record { head, body, at } => {
                let opened = self.open(side, head.bytes, body, parties, keys);
                let (kind, content) = match opened {
                    Ok((kind, epoch)) => {
                        let bytes = &self.opened;
                        (kind, TlsContent::Opened { epoch, bytes })
                    }
                    Err(reason) => {
                        let length = parties.content_length(head.length);
                        (head.kind, TlsContent::Sealed { reason, length })
                    }
                };
                (kind, at, content)
            }
        };
        TlsRecord {
            side,
            kind,
            at,
            content,
        }
    }

    /// TLS 1.3 encrypts only records of this type, and TLS 1.2 everything after the change.
    fn is_clear(&self, kind: ContentKind, parties: &Parties) -> bool {
        if parties.is_older {
            return !self.sealed;
        }
        kind != ContentKind::ApplicationData
    }

    fn read_clear(&mut self, side: Side, kind: ContentKind, body: &[u8], parties: &mut Parties) {
        match kind {
            ContentKind::ChangeCipherSpec => self.sealed = true,
            ContentKind::Handshake => {
                let known = match side {
                    Side::Client => parties.client_random.is_some(),
                    Side::Server => parties.server_random.is_some(),
                };
                if known || self.hello.len() + body.len() > MAX_HELLO {
                    self.hello = Vec::new();
                    return;
                }
                self.hello.extend_from_slice(body);
                let mut messages = Handshakes::new(&self.hello);
                let read = messages
                    .by_ref()
                    .map(|m| parties.read_hello(m.kind, m.body));
                if read.fold(false, |any, read| any | read) {
                    self.hello = Vec::new();
                }
            }
            _ => {}
        }
    }

    /// Opens a record into `self.opened`.
    fn open(
        &mut self,
        side: Side,
        head: [u8; RECORD_HEAD],
        body: &[u8],
        parties: &Parties,
        keys: &KeyLog,
    ) -> Result<(ContentKind, TlsEpoch), SealedReason> {
        let random = parties
            .client_random
            .as_ref()
            .ok_or(SealedReason::NoHello)?;
        if !keys.has(random) {
            return Err(SealedReason::NoKeys);
        }
        if self.failures >= MAX_FAILURES {
            return Err(SealedReason::WrongKeys);
        }
        let opened = if parties.is_older {
            if self.older.is_none() {
                self.older = Some(parties.older_keys(side, keys)?);
            }
            let older = self.older.as_mut().ok_or(SealedReason::NoKeys)?;
            older.open(head, body, self.unseen, &mut self.opened)
        } else {
            let secret = |label| keys.get(random, label);
            self.secrets
                .open(side, secret, &head, body, self.unseen, &mut self.opened)
        };
        match opened {
            Ok(opened) => {
                self.failures = 0;
                self.unseen = Unseen::default();
                Ok(opened)
            }
            Err(reason) => {
                self.failures += u32::from(reason == SealedReason::WrongKeys);
                Err(reason)
            }
        }
    }
}

impl Parties {
    /// Whether this is the hello of its side, and no other hello follows it.
    fn read_hello(&mut self, kind: HandshakeKind, body: &[u8]) -> bool {
        let random = body.get(2..).and_then(|rest| rest.first_chunk::<32>());
        let Some(random) = random else {
            return false;
        };
        match kind {
            HandshakeKind::CLIENT_HELLO => self.client_random = Some(*random),
            HandshakeKind::SERVER_HELLO => {
                let Ok(hello) = ServerHello::parse(body) else {
                    return false;
                };
                if hello.is_retry {
                    return false;
                }
                self.server_random = Some(*random);
                self.suite = Some(hello.cipher_suite);
                self.is_older = hello.version < Version::TLS13;
            }
            _ => return false,
        }
        true
    }

    fn older_keys(&self, side: Side, keys: &KeyLog) -> Result<Older, SealedReason> {
        let client = self.client_random.as_ref().ok_or(SealedReason::NoHello)?;
        let server = self.server_random.as_ref().ok_or(SealedReason::NoHello)?;
        let suite = self.suite.ok_or(SealedReason::NoHello)?;
        Older::derive(side, suite, client, server, keys)
    }

    /// The length of a sealed body's content without padding.
    fn content_length(&self, sealed: usize) -> usize {
        let overhead = if self.is_older {
            self.suite.map_or(TAG, epoch::older_overhead)
        } else {
            // The type is inside. RFC 8446 §5.2.
            TAG + 1
        };
        sealed.saturating_sub(overhead)
    }
}
