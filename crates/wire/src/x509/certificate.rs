//! The certificate as a whole. RFC 5280 §4.1.

use std::net::IpAddr;

use super::der::{BOOLEAN, Der, INTEGER, OBJECT_ID, OCTET_STRING, SEQUENCE, context};
use super::{DistinguishedName, key, oid, time};
use crate::Result;
use crate::text::{hex, printable};

const SUBJECT_ALTERNATIVE_NAME: &[u8] = b"\x55\x1d\x11";
/// The kinds of `GeneralName` that are used here. RFC 5280 §4.2.1.6.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub subject: DistinguishedName,
    pub issuer: DistinguishedName,
    /// The host names and addresses for which the certificate is valid.
    pub names: Vec<String>,
    /// Seconds since 1970.
    pub not_before: i64,
    pub not_after: i64,
    /// The algorithm of the key, for example "ECDSA P-256".
    pub key: String,
    /// The algorithm of the signature, for example "ecdsa-with-SHA256".
    pub signature: String,
    /// Lower-case hexadecimal digits.
    pub serial: String,
}

impl Certificate {
    pub fn parse(der: &[u8]) -> Result<Self> {
        let mut outer = Der::new(der);
        let mut certificate = outer.open(SEQUENCE)?;
        outer.finish()?;

        let mut body = certificate.open(SEQUENCE)?;
        body.optional(context(0))?; // version
        let serial = body.expect(INTEGER)?;
        let signature = body.open(SEQUENCE)?.expect(OBJECT_ID)?;
        let issuer = DistinguishedName::read(body.open(SEQUENCE)?)?;
        let mut validity = body.open(SEQUENCE)?;
        let (not_before, not_after) = (time::read(&mut validity)?, time::read(&mut validity)?);
        let subject = DistinguishedName::read(body.open(SEQUENCE)?)?;
        let key = key::describe(body.open(SEQUENCE)?)?;
        Ok(Self {
            subject,
            issuer,
            names: read_names(body)?,
            not_before,
            not_after,
            key,
            signature: oid::signature(signature)
                .map_or_else(|| oid::dotted(signature), str::to_owned),
            serial: hex(without_sign_byte(serial)),
        })
    }

    /// Whether subject and issuer are the same. A chain need not contain such a certificate, which
    /// only costs bytes.
    pub fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }
}

/// The alternative names in the extensions; `rest` is what follows the key.
fn read_names(mut rest: Der<'_>) -> Result<Vec<String>> {
    while !rest.is_empty() {
        let (tag, content) = rest.any()?;
        // Unique identifiers may precede the extensions.
        if tag != context(3) {
            continue;
        }
        let mut extensions = Der::new(content).open(SEQUENCE)?;
        while !extensions.is_empty() {
            let mut extension = extensions.open(SEQUENCE)?;
            let id = extension.expect(OBJECT_ID)?;
            extension.optional(BOOLEAN)?; // critical
            let value = extension.expect(OCTET_STRING)?;
            if id == SUBJECT_ALTERNATIVE_NAME {
                return general_names(Der::new(value).open(SEQUENCE)?);
            }
        }
    }
    Ok(Vec::new())
}

fn general_names(mut list: Der<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    while !list.is_empty() {
        match list.any()? {
            (DNS_NAME, name) => names.push(printable(name)),
            (IP_ADDRESS, bytes) => {
                let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
                let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
                let address =
                    address.map_err(|_| list.malformed("an address has neither 4 nor 16 bytes"))?;
                names.push(address.to_string());
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Removes the zero that DER puts before an integer whose top bit is set. ITU-T X.690 §8.3.
fn without_sign_byte(integer: &[u8]) -> &[u8] {
    match integer {
        [0, rest @ ..] if !rest.is_empty() => rest,
        _ => integer,
    }
}
