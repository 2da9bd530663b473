//! SVCB and HTTPS record data: where a service is and which protocols it supports. RFC 9460.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roundtrip_model::HttpsRecord;

use super::Name;
use super::encode::DnsEncoder;
use crate::Result;
use crate::cursor::Cursor;
use crate::text::printable;

/// Parameter keys. RFC 9460 §14.3.2.
const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4_HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6_HINT: u16 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// 0 means alias mode: the target replaces the owner. Otherwise the lowest is tried first.
    pub priority: u16,
    /// The root means the owner of the record. RFC 9460 §2.5.
    pub target: Name,
    /// Keys that a client must understand to use the record.
    pub mandatory: Vec<u16>,
    pub alpn: Vec<String>,
    pub no_default_alpn: bool,
    pub port: Option<u16>,
    pub ipv4_hints: Vec<Ipv4Addr>,
    pub ipv6_hints: Vec<Ipv6Addr>,
    /// The `ECHConfigList` for an encrypted `ClientHello`, not parsed.
    pub ech: Option<Vec<u8>>,
    /// Other parameters, by key.
    pub others: Vec<(u16, Vec<u8>)>,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            priority: 1,
            target: Name::root(),
            mandatory: Vec::new(),
            alpn: Vec::new(),
            no_default_alpn: false,
            port: None,
            ipv4_hints: Vec::new(),
            ipv6_hints: Vec::new(),
            ech: None,
            others: Vec::new(),
        }
    }
}

impl Service {
    pub fn is_alias(&self) -> bool {
        self.priority == 0
    }

    /// Whether all mandatory keys are understood; otherwise the record must be ignored. RFC 9460
    /// §8.
    pub fn is_usable(&self) -> bool {
        self.mandatory.iter().all(|key| *key <= IPV6_HINT)
    }

    pub fn hints(&self) -> impl Iterator<Item = IpAddr> {
        let six = self.ipv6_hints.iter().copied().map(IpAddr::V6);
        six.chain(self.ipv4_hints.iter().copied().map(IpAddr::V4))
    }

    pub(super) fn read<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<Self> {
        let mut service = Self {
            priority: cursor.u16()?,
            target: Name::read(cursor, message)?,
            ..Self::default()
        };
        let mut keys = Vec::new();
        while !cursor.is_empty() {
            let key = cursor.u16()?;
            // RFC 9460 §2.2: keys are strictly increasing, so none is repeated.
            if keys.last().is_some_and(|last| *last >= key) {
                return Err(cursor.malformed("service parameters are out of order"));
            }
            keys.push(key);
            service.read_parameter(key, cursor.vector16()?)?;
        }
        let absent = |key: &u16| !keys.contains(key);
        if service.mandatory.iter().any(absent) {
            return Err(cursor.malformed("a mandatory service parameter is absent"));
        }
        if service.no_default_alpn && service.alpn.is_empty() {
            return Err(cursor.malformed("no-default-alpn occurs without alpn"));
        }
        Ok(service)
    }

    fn read_parameter(&mut self, key: u16, mut value: Cursor<'_>) -> Result<()> {
        // RFC 9460 §7 and §8: lists are never empty.
        if value.is_empty() && matches!(key, MANDATORY | ALPN | IPV4_HINT | IPV6_HINT) {
            return Err(value.malformed("a service parameter is an empty list"));
        }
        match key {
            MANDATORY => {
                let order = value.malformed("mandatory service parameters are out of order");
                self.mandatory = value.collect(Cursor::u16)?;
                let mut with_zero = vec![MANDATORY];
                with_zero.extend(&self.mandatory);
                if !with_zero.is_sorted_by(|a, b| a < b) {
                    return Err(order);
                }
            }
            ALPN => self.alpn = value.collect(read_alpn)?,
            NO_DEFAULT_ALPN => {
                self.no_default_alpn = true;
                value.finish()?;
            }
            PORT => {
                self.port = Some(value.u16()?);
                value.finish()?;
            }
            IPV4_HINT => self.ipv4_hints = value.collect(|c| c.array::<4>().map(Ipv4Addr::from))?,
            IPV6_HINT => {
                self.ipv6_hints = value.collect(|c| c.array::<16>().map(Ipv6Addr::from))?;
            }
            ECH => self.ech = Some(value.rest().to_vec()),
            _ => self.others.push((key, value.rest().to_vec())),
        }
        Ok(())
    }

    /// Writes the parameters in the order of their keys, without compressing names. RFC 9460 §2.2.
    pub(super) fn write(&self, writer: &mut DnsEncoder) -> Result<()> {
        writer.u16(self.priority);
        writer.name_in_full(&self.target);
        let mut parameters: Vec<(u16, Vec<u8>)> = self.others.clone();
        let mut add = |present: bool, key: u16, value: Vec<u8>| {
            if present {
                parameters.push((key, value));
            }
        };
        let numbers = self.mandatory.iter().flat_map(|key| key.to_be_bytes());
        add(!self.mandatory.is_empty(), MANDATORY, numbers.collect());
        let mut alpn = DnsEncoder::default();
        for protocol in &self.alpn {
            alpn.bytes8("an ALPN identifier", protocol.as_bytes())?;
        }
        add(!self.alpn.is_empty(), ALPN, alpn.into_bytes());
        add(self.no_default_alpn, NO_DEFAULT_ALPN, Vec::new());
        let port = self.port.unwrap_or_default().to_be_bytes();
        add(self.port.is_some(), PORT, port.to_vec());
        let four = self.ipv4_hints.iter().flat_map(Ipv4Addr::octets);
        add(!self.ipv4_hints.is_empty(), IPV4_HINT, four.collect());
        let ech = self.ech.clone().unwrap_or_default();
        add(self.ech.is_some(), ECH, ech);
        let six = self.ipv6_hints.iter().flat_map(Ipv6Addr::octets);
        add(!self.ipv6_hints.is_empty(), IPV6_HINT, six.collect());
        parameters.sort_by_key(|(key, _)| *key);
        for (key, value) in parameters {
            writer.u16(key);
            writer.bytes16("a service parameter", &value)?;
        }
        Ok(())
    }
}

fn read_alpn(cursor: &mut Cursor<'_>) -> Result<String> {
    let protocol = cursor.vector8()?;
    if protocol.is_empty() {
        return Err(protocol.malformed("an ALPN identifier is empty"));
    }
    Ok(printable(protocol.rest()))
}

impl From<&Service> for HttpsRecord {
    fn from(service: &Service) -> Self {
        let target = if service.target.is_root() {
            String::new()
        } else {
            service.target.to_string()
        };
        Self {
            priority: service.priority,
            target,
            alpn: service.alpn.clone(),
            port: service.port,
            hints: service.hints().collect(),
            ech: service.ech.is_some(),
        }
    }
}
