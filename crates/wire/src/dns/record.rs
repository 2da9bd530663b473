//! Resource records: the types that matter to a client that connects. Other types keep their bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Kind, Name, Service};
use crate::Result;
use crate::cursor::Cursor;

/// One record of class IN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub name: Name,
    /// The time to live in seconds.
    pub ttl: u32,
    pub data: Data,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    Cname(Name),
    Soa(Soa),
    Svcb(Service),
    Https(Service),
    /// The bytes on the wire. Compressed names in them cannot be read without the message.
    Other {
        kind: Kind,
        bytes: Vec<u8>,
    },
}

/// RFC 1035 §3.3.13.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soa {
    pub primary: Name,
    pub mailbox: Name,
    pub serial: u32,
    pub refresh: u32,
    pub retry: u32,
    pub expire: u32,
    /// How long the absence of a name may be cached, in seconds. RFC 2308 §4.
    pub minimum: u32,
}

impl Record {
    pub fn kind(&self) -> Kind {
        match &self.data {
            Data::A(_) => Kind::A,
            Data::Aaaa(_) => Kind::AAAA,
            Data::Cname(_) => Kind::CNAME,
            Data::Soa(_) => Kind::SOA,
            Data::Svcb(_) => Kind::SVCB,
            Data::Https(_) => Kind::HTTPS,
            Data::Other { kind, .. } => *kind,
        }
    }
}

impl Data {
    /// Parses the data of one record; `cursor` holds exactly that data.
    pub(super) fn read<'a>(kind: Kind, mut cursor: Cursor<'a>, message: &'a [u8]) -> Result<Self> {
        let data = match kind {
            Kind::A => Self::A(Ipv4Addr::from(cursor.array::<4>()?)),
            Kind::AAAA => Self::Aaaa(Ipv6Addr::from(cursor.array::<16>()?)),
            Kind::CNAME => Self::Cname(Name::read(&mut cursor, message)?),
            Kind::SOA => Self::Soa(Soa {
                primary: Name::read(&mut cursor, message)?,
                mailbox: Name::read(&mut cursor, message)?,
                serial: cursor.u32()?,
                refresh: cursor.u32()?,
                retry: cursor.u32()?,
                expire: cursor.u32()?,
                minimum: cursor.u32()?,
            }),
            Kind::SVCB => Self::Svcb(Service::read(&mut cursor, message)?),
            Kind::HTTPS => Self::Https(Service::read(&mut cursor, message)?),
            _ => {
                let bytes = cursor.rest();
                cursor.take(bytes.len())?;
                Self::Other {
                    kind,
                    bytes: bytes.to_vec(),
                }
            }
        };
        cursor.finish()?;
        Ok(data)
    }
}
