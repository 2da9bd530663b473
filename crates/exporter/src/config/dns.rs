//! The `dns` table of a module.

use roundtrip_wire::dns::{Kind, Rcode, class_number};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::http::IpProtocol;
use super::scalar::Pattern;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DnsModule {
    pub(crate) query_name: String,
    #[serde(deserialize_with = "kind")]
    pub(crate) query_type: Kind,
    #[serde(deserialize_with = "class")]
    pub(crate) query_class: u16,
    pub(crate) recursion_desired: bool,
    pub(crate) transport_protocol: Transport,
    pub(crate) dns_over_tls: bool,
    pub(crate) tls_config: TlsSettings,
    pub(crate) preferred_ip_protocol: IpProtocol,
    pub(crate) ip_protocol_fallback: bool,
    #[serde(deserialize_with = "rcodes")]
    pub(crate) valid_rcodes: Vec<Rcode>,
    pub(crate) validate_answer_rrs: RecordRules,
    pub(crate) validate_authority_rrs: RecordRules,
    pub(crate) validate_additional_rrs: RecordRules,
    source_ip_address: Option<Spanned<IgnoredAny>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    #[default]
    Udp,
    Tcp,
}

/// What makes a probe fail, by the text of the records of one section.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecordRules {
    #[serde(rename = "fail_if_matches_regexp")]
    pub(crate) any_matches: Vec<Pattern>,
    #[serde(rename = "fail_if_all_match_regexp")]
    pub(crate) all_match: Vec<Pattern>,
    #[serde(rename = "fail_if_not_matches_regexp")]
    pub(crate) one_misses: Vec<Pattern>,
    #[serde(rename = "fail_if_none_matches_regexp")]
    pub(crate) none_matches: Vec<Pattern>,
}

impl Default for DnsModule {
    fn default() -> Self {
        Self {
            query_name: String::new(),
            query_type: Kind::ANY,
            query_class: 1,
            recursion_desired: true,
            transport_protocol: Transport::Udp,
            dns_over_tls: false,
            tls_config: TlsSettings::default(),
            preferred_ip_protocol: IpProtocol::Ip6,
            ip_protocol_fallback: true,
            valid_rcodes: vec![Rcode::NO_ERROR],
            validate_answer_rrs: RecordRules::default(),
            validate_authority_rrs: RecordRules::default(),
            validate_additional_rrs: RecordRules::default(),
            source_ip_address: None,
        }
    }
}

impl DnsModule {
    /// Errors in the table as a whole.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        if self.query_name.is_empty() {
            Some("a dns module needs query_name")
        } else if self.dns_over_tls && self.transport_protocol != Transport::Tcp {
            Some("dns_over_tls needs transport_protocol: tcp")
        } else {
            None
        }
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        if let Some(address) = &self.source_ip_address {
            reasons.push(("source_ip_address".into(), address.referenced));
        }
        self.tls_config.unsupported(reasons);
    }
}

fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<Kind, D::Error> {
    let name = String::deserialize(from)?;
    let unknown = || D::Error::custom(format!("'{name}' is not a DNS record type"));
    Kind::from_name(&name).ok_or_else(unknown)
}

fn class<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
    let name = String::deserialize(from)?;
    let unknown = || D::Error::custom(format!("'{name}' is not a DNS class"));
    class_number(&name).ok_or_else(unknown)
}

fn rcodes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Rcode>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let known = |name: &String| {
        let unknown = || D::Error::custom(format!("'{name}' is not a DNS response code"));
        Rcode::from_name(name).ok_or_else(unknown)
    };
    names.iter().map(known).collect()
}
