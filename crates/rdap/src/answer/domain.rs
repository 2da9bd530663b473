//! Domains and name servers (RFC 9083, sections 5.2 and 5.3).

use std::net::IpAddr;

use super::item::{Item, views};
use super::resource::{Network, parse_address};

views! {
    /// Section 5.3.
    Domain,
    /// Section 5.2.
    Nameserver,
    /// `secureDNS` of a domain.
    SecureDns,
    /// An entry of `dsData`.
    Ds,
    /// An entry of `keyData`.
    Key,
    /// An entry of `variants`.
    Variant,
}

impl<'a> Domain<'a> {
    pub fn ldh_name(self) -> Option<&'a str> {
        self.text("ldhName")
    }

    pub fn unicode_name(self) -> Option<&'a str> {
        self.text("unicodeName")
    }

    pub fn nameservers(self) -> impl Iterator<Item = Nameserver<'a>> + use<'a> {
        self.items("nameservers").map(Nameserver)
    }

    pub fn secure_dns(self) -> Option<SecureDns<'a>> {
        self.item("secureDNS").map(SecureDns)
    }

    pub fn variants(self) -> impl Iterator<Item = Variant<'a>> + use<'a> {
        self.items("variants").map(Variant)
    }

    /// The network that a reverse name belongs to.
    pub fn network(self) -> Option<Network<'a>> {
        self.item("network").map(Network)
    }
}

impl<'a> Nameserver<'a> {
    pub fn ldh_name(self) -> Option<&'a str> {
        self.text("ldhName")
    }

    pub fn unicode_name(self) -> Option<&'a str> {
        self.text("unicodeName")
    }

    /// The addresses that can be parsed, IPv4 first.
    pub fn addresses(self) -> Vec<IpAddr> {
        let texts = self.item("ipAddresses").into_iter();
        texts
            .flat_map(|a| a.texts("v4").chain(a.texts("v6")))
            .filter_map(parse_address)
            .collect()
    }
}

impl<'a> SecureDns<'a> {
    /// Whether the parent zone signs the delegation, as stated in the answer or implied by its DS
    /// or key records.
    pub fn delegation_signed(self) -> Option<bool> {
        let has_data = || self.ds().next().is_some() || self.keys().next().is_some();
        self.flag("delegationSigned")
            .or_else(|| has_data().then_some(true))
    }

    pub fn ds(self) -> impl Iterator<Item = Ds<'a>> + use<'a> {
        self.items("dsData").map(Ds)
    }

    pub fn keys(self) -> impl Iterator<Item = Key<'a>> + use<'a> {
        self.items("keyData").map(Key)
    }
}

impl<'a> Ds<'a> {
    pub fn key_tag(self) -> Option<u64> {
        self.number("keyTag")
    }

    pub fn algorithm(self) -> Option<u64> {
        self.number("algorithm")
    }

    pub fn digest_type(self) -> Option<u64> {
        self.number("digestType")
    }

    pub fn digest(self) -> Option<&'a str> {
        self.text("digest")
    }
}

impl<'a> Key<'a> {
    pub fn flags(self) -> Option<u64> {
        self.number("flags")
    }

    pub fn protocol(self) -> Option<u64> {
        self.number("protocol")
    }

    pub fn algorithm(self) -> Option<u64> {
        self.number("algorithm")
    }

    pub fn public_key(self) -> Option<&'a str> {
        self.text("publicKey")
    }
}

impl<'a> Variant<'a> {
    pub fn relations(self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts("relation")
    }

    pub fn idn_table(self) -> Option<&'a str> {
        self.text("idnTable")
    }

    /// The A-label and U-label of each name, if they are given.
    pub fn names(self) -> impl Iterator<Item = (Option<&'a str>, Option<&'a str>)> + use<'a> {
        self.items("variantNames")
            .map(|n: Item<'a>| (n.text("ldhName"), n.text("unicodeName")))
    }
}
