//! The `icmp` table of a module.

use serde::Deserialize;

use super::http::IpProtocol;
use super::scalar::or_default;
use super::tcp::SourceAddress;

/// The text that blackbox_exporter sends.
const PAYLOAD: &[u8] = b"Prometheus Blackbox Exporter";
/// The largest payload in bytes, in a packet of IPv4.
const MAX_PAYLOAD: i64 = 65_507;
const DEFAULT_HOPS: i64 = 64;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct IcmpModule {
    #[serde(deserialize_with = "or_default")]
    pub(crate) preferred_ip_protocol: IpProtocol,
    ip_protocol_fallback: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) source_ip_address: SourceAddress,
    payload_size: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) dont_fragment: bool,
    ttl: Option<i64>,
}

impl IcmpModule {
    pub(crate) fn falls_back(&self) -> bool {
        self.ip_protocol_fallback.unwrap_or(true)
    }

    /// The text, cut or filled up with zeros.
    pub(crate) fn payload(&self) -> Vec<u8> {
        let mut payload = PAYLOAD.to_vec();
        if let Some(size) = self.payload_size.filter(|size| *size != 0) {
            payload.resize(usize::try_from(size).unwrap_or_default(), 0);
        }
        payload
    }

    /// The time to live; `None` leaves it to the system.
    pub(crate) fn hops(&self) -> Option<u8> {
        let hops = u8::try_from(self.ttl.unwrap_or(DEFAULT_HOPS)).ok();
        hops.filter(|hops| *hops > 0)
    }

    pub(super) fn mistake(&self) -> Option<&'static str> {
        if self.ttl.is_some_and(|ttl| !(0..=255).contains(&ttl)) {
            Some("ttl is not between 0 and 255")
        } else if self
            .payload_size
            .is_some_and(|size| !(0..=MAX_PAYLOAD).contains(&size))
        {
            Some("payload_size is not between 0 and 65507")
        } else {
            None
        }
    }
}
