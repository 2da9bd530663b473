//! The `dns` table of a module.

use roundtrip_wire::dns::{Kind, Rcode, class_number};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Location;

use super::http::IpProtocol;
use super::pattern::Pattern;
use super::scalar::or_default;
use super::tcp::SourceAddress;
use super::tls::TlsSettings;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DnsModule {
    #[serde(deserialize_with = "or_default")]
    pub(crate) query_name: String,
    #[serde(deserialize_with = "kind")]
    query_type: Option<Kind>,
    #[serde(deserialize_with = "class")]
    query_class: Option<u16>,
    recursion_desired: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) transport_protocol: Transport,
    #[serde(deserialize_with = "or_default")]
    pub(crate) dns_over_tls: bool,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tls_config: TlsSettings,
    #[serde(deserialize_with = "or_default")]
    pub(crate) preferred_ip_protocol: IpProtocol,
    ip_protocol_fallback: Option<bool>,
    #[serde(deserialize_with = "rcodes")]
    valid_rcodes: Option<Vec<Rcode>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) validate_answer_rrs: RecordRules,
    #[serde(deserialize_with = "or_default")]
    pub(crate) validate_authority_rrs: RecordRules,
    #[serde(deserialize_with = "or_default")]
    pub(crate) validate_additional_rrs: RecordRules,
    #[serde(deserialize_with = "or_default")]
    pub(crate) source_ip_address: SourceAddress,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    #[default]
    #[serde(alias = "")]
    Udp,
    Tcp,
}

/// Rules by which the text of one section's records makes a probe fail.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecordRules {
    #[serde(rename = "fail_if_matches_regexp", deserialize_with = "or_default")]
    pub(crate) any_matches: Vec<Pattern>,
    #[serde(rename = "fail_if_all_match_regexp", deserialize_with = "or_default")]
    pub(crate) all_match: Vec<Pattern>,
    #[serde(rename = "fail_if_not_matches_regexp", deserialize_with = "or_default")]
    pub(crate) one_misses: Vec<Pattern>,
    #[serde(
        rename = "fail_if_none_matches_regexp",
        deserialize_with = "or_default"
    )]
    pub(crate) none_matches: Vec<Pattern>,
}

impl DnsModule {
    pub(crate) fn kind(&self) -> Kind {
        self.query_type.unwrap_or(Kind::ANY)
    }

    pub(crate) fn class(&self) -> u16 {
        self.query_class.unwrap_or(1)
    }

    pub(crate) fn wants_recursion(&self) -> bool {
        self.recursion_desired.unwrap_or(true)
    }

    pub(crate) fn falls_back(&self) -> bool {
        self.ip_protocol_fallback.unwrap_or(true)
    }

    pub(crate) fn is_valid(&self, rcode: u16) -> bool {
        match &self.valid_rcodes {
            Some(valid) => valid.iter().any(|valid| valid.0 == rcode),
            None => rcode == Rcode::NO_ERROR.0,
        }
    }

    /// Errors in the table as a whole.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        if self.query_name.is_empty() {
            Some("a dns module needs query_name")
        } else if self.dns_over_tls && self.transport_protocol != Transport::Tcp {
            Some("dns_over_tls needs transport_protocol: tcp")
        } else {
            self.tls_config.mistake()
        }
    }

    pub(super) fn unsupported(&self, reasons: &mut Vec<(String, Location)>) {
        self.tls_config.unsupported(reasons);
    }
}

fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Kind>, D::Error> {
    let Some(name) = word(from)? else {
        return Ok(None);
    };
    let unknown = || D::Error::custom(format!("'{name}' is not a DNS record type"));
    Kind::from_name(&name).map(Some).ok_or_else(unknown)
}

fn class<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    let Some(name) = word(from)? else {
        return Ok(None);
    };
    let unknown = || D::Error::custom(format!("'{name}' is not a DNS class"));
    class_number(&name).map(Some).ok_or_else(unknown)
}

/// Text that is not empty.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let given = Option::<String>::deserialize(from)?;
    Ok(given.filter(|text| !text.is_empty()))
}

fn rcodes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Rcode>>, D::Error> {
    let Some(names) = Option::<Vec<String>>::deserialize(from)? else {
        return Ok(None);
    };
    let known = |name: &String| {
        let unknown = || D::Error::custom(format!("'{name}' is not a DNS response code"));
        Rcode::from_name(name).ok_or_else(unknown)
    };
    names.iter().map(known).collect::<Result<_, _>>().map(Some)
}
