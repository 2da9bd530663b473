//! The bytes of a netlink request and of its acknowledgement (netlink(7), rtnetlink(7)), in host byte order.

use std::io;

pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
pub(super) const VETH_INFO_PEER: u16 = 1;
pub(super) const IFLA_GSO_MAX_SEGS: u16 = 40;
pub(super) const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
pub(super) const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// `nlmsghdr`: length (4), type (2), flags (2), sequence (4), port (4).
const HEADER: usize = 16;

/// A request being written.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request to make something that does not exist yet.
    pub(super) fn create(kind: u16) -> Self {
        Self::new(
            kind,
            libc::NLM_F_CREATE | libc::NLM_F_EXCL | libc::NLM_F_ACK,
        )
    }

    /// A request to change something that exists.
    pub(super) fn change(kind: u16) -> Self {
        Self::new(kind, libc::NLM_F_ACK)
    }

    /// A question, answered by what was asked for instead of an acknowledgement.
    pub(super) fn query(kind: u16) -> Self {
        Self::new(kind, 0)
    }

    fn new(kind: u16, flags: i32) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST) as u16;
        let mut bytes = vec![0; HEADER];
        bytes.splice(4..6, kind.to_ne_bytes());
        bytes.splice(6..8, flags.to_ne_bytes());
        Self { bytes }
    }

    /// `ifinfomsg`: family, padding, type (2), index (4), flags (4), which flags change (4).
    pub(super) fn interface(&mut self, index: u32, flags: u32) {
        self.bytes.extend([0; 4]);
        for word in [index, flags, flags] {
            self.bytes.extend(word.to_ne_bytes());
        }
    }

    /// `ifaddrmsg`: family, prefix length, flags, scope, index (4).
    pub(super) fn address(&mut self, family: u8, prefix: u8, index: u32) {
        self.bytes.extend([family, prefix, 0, 0]);
        self.bytes.extend(index.to_ne_bytes());
    }

    /// `ndmsg`: family, padding (3), index (4), state (2), flags, type.
    pub(super) fn neighbour(&mut self, family: u8, index: u32, state: u16) {
        self.bytes.extend([family, 0, 0, 0]);
        self.bytes.extend(index.to_ne_bytes());
        self.bytes.extend(state.to_ne_bytes());
        self.bytes.extend([0, 0]);
    }

    /// `rtmsg`: family, lengths of destination and source, service, table, protocol, scope, type, flags (4).
    pub(super) fn route(&mut self, family: u8, prefix: u8) {
        self.bytes.extend([family, prefix, 0, 0, 0, 0, 0, 0]);
        self.bytes.extend([0; 4]);
    }

    /// The same for a route to be added: in the main table, of our making.
    pub(super) fn unicast_route(&mut self, family: u8, prefix: u8) {
        let (table, origin) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        let (scope, kind) = (libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST);
        self.bytes
            .extend([family, prefix, 0, 0, table, origin, scope, kind]);
        self.bytes.extend([0; 4]);
    }

    /// `rtattr`: length with its own header (2), type (2), the value, padding to four bytes.
    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |inner| inner.bytes.extend(value));
    }

    /// An attribute whose value `fill` writes.
    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes.splice(start..start + 2, length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes.splice(0..4, length.to_ne_bytes());
        self.bytes
    }
}

/// Whether the answer is a route into the stack itself. No route at all comes as an `NLMSG_ERROR`.
pub(super) fn is_local_route(answer: &[u8]) -> bool {
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok());
    kind.map(u16::from_ne_bytes) == Some(libc::RTM_NEWROUTE)
        && answer.get(HEADER + 7) == Some(&libc::RTN_LOCAL)
}

/// Reads an `NLMSG_ERROR`, whose code 0 is an acknowledgement.
pub(super) fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok());
    let code = answer
        .get(HEADER..HEADER + 4)
        .and_then(|code| code.try_into().ok());
    match (kind.map(u16::from_ne_bytes), code.map(i32::from_ne_bytes)) {
        (Some(kind), Some(code)) if i32::from(kind) == libc::NLMSG_ERROR => match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(-code)),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_tell_their_length_and_are_padded() {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.attribute(libc::IFLA_IFNAME, b"eth0\0");
        let bytes = message.finish();
        assert_eq!(bytes.len(), HEADER + 12);
        assert_eq!(bytes[..4], 28_u32.to_ne_bytes());
        assert_eq!(bytes[HEADER..HEADER + 2], 9_u16.to_ne_bytes());
        assert_eq!(bytes[HEADER + 4..], *b"eth0\0\0\0\0");
    }

    #[test]
    fn a_nest_counts_what_is_in_it() {
        let mut message = Message::change(libc::RTM_NEWLINK);
        message.nest(1, |inner| {
            inner.attribute(2, &[1]);
            inner.attribute(3, &[2; 4]);
        });
        let bytes = message.finish();
        assert_eq!(bytes[HEADER..HEADER + 2], 20_u16.to_ne_bytes());
    }

    #[test]
    fn only_a_route_of_type_local_is_local() {
        let mut answer = vec![0; HEADER + 12];
        answer.splice(4..6, libc::RTM_NEWROUTE.to_ne_bytes());
        assert!(!is_local_route(&answer));
        answer[HEADER + 7] = libc::RTN_LOCAL;
        assert!(is_local_route(&answer));
        answer.splice(4..6, (libc::NLMSG_ERROR as u16).to_ne_bytes());
        assert!(!is_local_route(&answer));
    }

    #[test]
    fn a_refusal_is_the_error_it_names() {
        let mut answer = vec![0; HEADER + 4];
        answer.splice(4..6, (libc::NLMSG_ERROR as u16).to_ne_bytes());
        assert!(acknowledged(&answer).is_ok());
        answer.splice(HEADER.., (-libc::EPERM).to_ne_bytes());
        assert_eq!(
            acknowledged(&answer).unwrap_err().raw_os_error(),
            Some(libc::EPERM)
        );
        assert!(acknowledged(&answer[..6]).is_err());
    }
}
