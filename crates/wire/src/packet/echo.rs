//! The echo of ICMP, in both versions. RFC 792, RFC 4443 §4.

use super::IpVersion;
use super::checksum::sum;

/// Request and reply. RFC 792 (page 14), RFC 4443 §4.1 and §4.2.
const TYPES_V4: [u8; 2] = [8, 0];
const TYPES_V6: [u8; 2] = [128, 129];

/// The content of a request, which its reply repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo<'a> {
    pub identifier: u16,
    pub sequence: u16,
    pub payload: &'a [u8],
}

impl<'a> Echo<'a> {
    /// The message that asks for an echo, with its checksum in IPv4. In IPv6 the checksum also
    /// covers the addresses, and the kernel fills it in.
    pub fn request(&self, version: IpVersion) -> Vec<u8> {
        let [kind, _] = types(version);
        let mut message = vec![kind, 0, 0, 0];
        message.extend(self.identifier.to_be_bytes());
        message.extend(self.sequence.to_be_bytes());
        message.extend(self.payload);
        if version == IpVersion::V4 {
            let checksum = !sum(&message);
            for (to, from) in message.iter_mut().skip(2).zip(checksum.to_be_bytes()) {
                *to = from;
            }
        }
        message
    }

    /// Reads a reply, from its type on; `None` for any other message.
    pub fn from_reply(version: IpVersion, message: &'a [u8]) -> Option<Self> {
        let ([kind, code, _, _, a, b, c, d], payload) = message.split_first_chunk()?;
        let [_, reply] = types(version);
        (*kind == reply && *code == 0).then_some(Self {
            identifier: u16::from_be_bytes([*a, *b]),
            sequence: u16::from_be_bytes([*c, *d]),
            payload,
        })
    }
}

fn types(version: IpVersion) -> [u8; 2] {
    match version {
        IpVersion::V4 => TYPES_V4,
        IpVersion::V6 => TYPES_V6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_repeats_its_request() {
        for (version, reply) in [(IpVersion::V4, 0), (IpVersion::V6, 129)] {
            let echo = Echo {
                identifier: 0x1234,
                sequence: 7,
                payload: b"odd",
            };
            let mut message = echo.request(version);
            assert_eq!(Echo::from_reply(version, &message), None, "a request");
            if version == IpVersion::V4 {
                assert_eq!(sum(&message), 0xffff, "the checksum is right");
            }
            message[0] = reply;
            assert_eq!(Echo::from_reply(version, &message), Some(echo));
            for end in 0..8 {
                assert_eq!(Echo::from_reply(version, &message[..end]), None);
            }
        }
    }
}
