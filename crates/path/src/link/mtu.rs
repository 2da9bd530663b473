//! A link with a smaller MTU than its neighbours assume, and whether it reports that.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMtu {
    /// The longest IP packet that passes.
    pub bytes: u16,
    /// Whether the link answers "packet too big", as the RFCs require (RFC 1191, RFC 8201). If not,
    /// it is a black hole (RFC 2923).
    pub says_so: bool,
}

/// The smallest MTU of an IPv4 link, in bytes (RFC 791; hosts accept 576).
const MIN_LINK_MTU: u16 = 68;

impl FromStr for LinkMtu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (bytes, manner) = text.split_once(',').unwrap_or((text, "icmp"));
        let says_so = match manner.trim() {
            "icmp" => true,
            "silent" => false,
            other => {
                return Err(format!(
                    "`{other}`: a small MTU is either `icmp` or `silent`"
                ));
            }
        };
        let bytes = bytes
            .trim()
            .parse()
            .ok()
            .filter(|bytes| *bytes >= MIN_LINK_MTU)
            .ok_or_else(|| {
                format!("`{bytes}` is not an MTU between {MIN_LINK_MTU} and 65535 bytes")
            })?;
        Ok(Self { bytes, says_so })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_a_report_to_the_sender() {
        let mtu = |text: &str| text.parse::<LinkMtu>().map(|mtu| (mtu.bytes, mtu.says_so));
        assert_eq!(mtu("1400"), Ok((1400, true)));
        assert_eq!(mtu("1400,silent"), Ok((1400, false)));
        for text in ["", "0", "67", "70000", "1400,loud"] {
            assert!(mtu(text).is_err(), "{text}");
        }
    }
}
