//! Writes DNS messages, with name compression: queries, and the answers of a small name server.

use std::collections::HashMap;

use super::message::{
    AUTHORITATIVE, CLASS_IN, RCODE, RECURSION_AVAILABLE, RECURSION_DESIRED, RESPONSE, TRUNCATED,
};
use super::{Data, Kind, Message, Name, Record};
use crate::{Error, Result};

/// TCP's length prefix has 16 bits. RFC 1035 §4.2.2.
const MAX_MESSAGE: usize = u16::MAX as usize;
/// Pointers have 14 bits. RFC 1035 §4.1.4.
const FARTHEST_POINTER: usize = 0x3fff;

impl Message {
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut writer = DnsEncoder::default();
        writer.u16(self.id);
        writer.u16(self.flags());
        for (what, count) in [
            ("DNS questions", self.questions.len()),
            ("DNS answers", self.answers.len()),
            ("DNS authorities", self.authorities.len()),
            (
                "DNS additionals",
                self.additionals.len() + usize::from(self.udp_size.is_some()),
            ),
        ] {
            writer.length16(what, count)?;
        }
        for question in &self.questions {
            writer.name(&question.name);
            writer.u16(question.kind.0);
            writer.u16(CLASS_IN);
        }
        for section in [&self.answers, &self.authorities, &self.additionals] {
            for record in section {
                writer.record(record)?;
            }
        }
        self.write_opt(&mut writer)?;
        if writer.bytes.len() > MAX_MESSAGE {
            return Err(Error::TooLarge {
                what: "a DNS message",
                limit: MAX_MESSAGE,
            });
        }
        Ok(writer.into_bytes())
    }

    /// The message as a server sends it in a datagram: records that do not fit are left out, and
    /// the message is marked as truncated. RFC 2181 §9.
    pub fn encode_within(&self, limit: usize) -> Result<Vec<u8>> {
        match self.encode() {
            Ok(bytes) if bytes.len() <= limit => Ok(bytes),
            Ok(_) | Err(Error::TooLarge { .. }) => Self {
                truncated: true,
                answers: Vec::new(),
                authorities: Vec::new(),
                additionals: Vec::new(),
                ..self.clone()
            }
            .encode(),
            Err(error) => Err(error),
        }
    }

    fn flags(&self) -> u16 {
        [
            (self.response, RESPONSE),
            (self.authoritative, AUTHORITATIVE),
            (self.truncated, TRUNCATED),
            (self.recursion_desired, RECURSION_DESIRED),
            (self.recursion_available, RECURSION_AVAILABLE),
        ]
        .into_iter()
        .filter(|(set, _)| *set)
        .fold(self.rcode.0 & RCODE, |flags, (_, bit)| flags | bit)
    }

    /// RFC 6891 §6.1.2: the class holds the datagram size, the first byte of the TTL the upper bits
    /// of the response code.
    fn write_opt(&self, writer: &mut DnsEncoder) -> Result<()> {
        let upper = self.rcode.0 >> 4;
        let Some(size) = self.udp_size else {
            return match upper {
                0 => Ok(()),
                _ => Err(Error::malformed(
                    "a DNS message",
                    "its response code needs EDNS",
                )),
            };
        };
        let Ok(upper) = u8::try_from(upper) else {
            return Err(Error::TooLarge {
                what: "a DNS response code",
                limit: 0xfff,
            });
        };
        writer.name(&Name::root());
        writer.u16(Kind::OPT.0);
        writer.u16(size);
        writer.bytes.extend([upper, 0, 0, 0]);
        writer.u16(0);
        Ok(())
    }
}

/// A message under construction, with the positions of the names in it.
#[derive(Debug, Default)]
pub(super) struct DnsEncoder {
    bytes: Vec<u8>,
    names: HashMap<Vec<u8>, u16>,
}

impl DnsEncoder {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn length16(&mut self, what: &'static str, length: usize) -> Result<()> {
        let length = u16::try_from(length).map_err(|_| Error::TooLarge {
            what,
            limit: usize::from(u16::MAX),
        })?;
        self.u16(length);
        Ok(())
    }

    pub(super) fn bytes8(&mut self, what: &'static str, bytes: &[u8]) -> Result<()> {
        let length = u8::try_from(bytes.len()).map_err(|_| Error::TooLarge {
            what,
            limit: usize::from(u8::MAX),
        })?;
        self.bytes.push(length);
        self.bytes.extend(bytes);
        Ok(())
    }

    pub(super) fn bytes16(&mut self, what: &'static str, bytes: &[u8]) -> Result<()> {
        self.length16(what, bytes.len())?;
        self.bytes.extend(bytes);
        Ok(())
    }

    /// Writes a name, with a pointer to the longest suffix that has been written already.
    fn name(&mut self, name: &Name) {
        for (label, suffix) in name.suffixes() {
            if let Some(place) = self.names.get(suffix) {
                self.u16(0xc000 | place);
                return;
            }
            if self.bytes.len() <= FARTHEST_POINTER {
                self.names.insert(suffix.to_vec(), self.bytes.len() as u16);
            }
            self.label(label);
        }
        self.bytes.push(0);
    }

    pub(super) fn name_in_full(&mut self, name: &Name) {
        for label in name.labels() {
            self.label(label);
        }
        self.bytes.push(0);
    }

    /// The length of a label was checked when its name was made.
    fn label(&mut self, label: &[u8]) {
        self.bytes.push(label.len() as u8);
        self.bytes.extend(label);
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        self.name(&record.name);
        self.u16(record.kind().0);
        self.u16(CLASS_IN);
        self.u32(record.ttl);
        let length_at = self.bytes.len();
        self.u16(0);
        self.data(&record.data)?;
        let length = self.bytes.len() - length_at - 2;
        let length = u16::try_from(length).map_err(|_| Error::TooLarge {
            what: "the data of a DNS record",
            limit: usize::from(u16::MAX),
        })?;
        if let Some(place) = self.bytes.get_mut(length_at..length_at + 2) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }

    fn data(&mut self, data: &Data) -> Result<()> {
        match data {
            Data::A(address) => self.bytes.extend(address.octets()),
            Data::Aaaa(address) => self.bytes.extend(address.octets()),
            Data::Cname(target) => self.name(target),
            Data::Soa(soa) => {
                self.name(&soa.primary);
                self.name(&soa.mailbox);
                for number in [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum] {
                    self.u32(number);
                }
            }
            Data::Svcb(service) | Data::Https(service) => service.write(self)?,
            Data::Other { bytes, .. } => self.bytes.extend(bytes),
        }
        Ok(())
    }
}
