//! Record types and their names.

use std::fmt;

/// A record type, with the numbers assigned by IANA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(pub u16);

impl Kind {
    pub const A: Self = Self(1);
    pub const CNAME: Self = Self(5);
    pub const SOA: Self = Self(6);
    pub const AAAA: Self = Self(28);
    pub const OPT: Self = Self(41);
    pub const SVCB: Self = Self(64);
    pub const HTTPS: Self = Self(65);
    /// All types at once. RFC 8482.
    pub const ANY: Self = Self(255);

    /// The type with this name, in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, number)| Self(*number))
    }

    pub(super) fn has_name(self) -> bool {
        NAMES.iter().any(|(_, number)| *number == self.0)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            // RFC 3597 §5.
            None => write!(f, "TYPE{}", self.0),
        }
    }
}

/// The types that IANA lists as assigned and that servers meet.
const NAMES: [(&str, u16); 82] = [
    ("A", 1),
    ("NS", 2),
    ("MD", 3),
    ("MF", 4),
    ("CNAME", 5),
    ("SOA", 6),
    ("MB", 7),
    ("MG", 8),
    ("MR", 9),
    ("NULL", 10),
    ("PTR", 12),
    ("HINFO", 13),
    ("MINFO", 14),
    ("MX", 15),
    ("TXT", 16),
    ("RP", 17),
    ("AFSDB", 18),
    ("X25", 19),
    ("ISDN", 20),
    ("RT", 21),
    ("NSAP-PTR", 23),
    ("SIG", 24),
    ("KEY", 25),
    ("PX", 26),
    ("GPOS", 27),
    ("AAAA", 28),
    ("LOC", 29),
    ("NXT", 30),
    ("EID", 31),
    ("NIMLOC", 32),
    ("SRV", 33),
    ("ATMA", 34),
    ("NAPTR", 35),
    ("KX", 36),
    ("CERT", 37),
    ("DNAME", 39),
    ("OPT", 41),
    ("APL", 42),
    ("DS", 43),
    ("SSHFP", 44),
    ("RRSIG", 46),
    ("NSEC", 47),
    ("DNSKEY", 48),
    ("DHCID", 49),
    ("NSEC3", 50),
    ("NSEC3PARAM", 51),
    ("TLSA", 52),
    ("SMIMEA", 53),
    ("HIP", 55),
    ("NINFO", 56),
    ("RKEY", 57),
    ("TALINK", 58),
    ("CDS", 59),
    ("CDNSKEY", 60),
    ("OPENPGPKEY", 61),
    ("CSYNC", 62),
    ("ZONEMD", 63),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("SPF", 99),
    ("UINFO", 100),
    ("UID", 101),
    ("GID", 102),
    ("UNSPEC", 103),
    ("NID", 104),
    ("L32", 105),
    ("L64", 106),
    ("LP", 107),
    ("EUI48", 108),
    ("EUI64", 109),
    ("TKEY", 249),
    ("TSIG", 250),
    ("IXFR", 251),
    ("AXFR", 252),
    ("MAILB", 253),
    ("MAILA", 254),
    ("ANY", 255),
    ("URI", 256),
    ("CAA", 257),
    ("AVC", 258),
    ("TA", 32_768),
    ("DLV", 32_769),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_number_and_back() {
        for (name, number) in NAMES {
            assert_eq!(Kind::from_name(name), Some(Kind(number)));
            assert_eq!(Kind(number).to_string(), name);
        }
        assert_eq!(Kind::from_name("a"), None);
        assert_eq!(Kind(65_280).to_string(), "TYPE65280");
    }
}
