//! A box that overwrites the TCP fast-open option in SYN and SYN-ACK with padding, as some
//! firewalls do (RFC 7413 §7.1). Data in the SYN stays; a server without the option ignores it.

use roundtrip_wire::packet::{Flags, OptionValue, PacketMut};

use super::MiddleboxKind;
use super::rewrite::RewriteHop;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: "strip-fast-open",
    does: "removes the fast-open option (34, experimental 254) from SYN and SYN-ACK; data in the SYN stays",
    argument: None,
    make: |_| Ok(Box::new(RewriteHop(strip))),
};

fn strip(packet: &mut PacketMut<'_>) -> Option<String> {
    let segment = packet.view().tcp()?;
    if !segment.flags().contains(Flags::SYN) {
        return None;
    }
    let count = packet.blank_options(|option| matches!(option.value, OptionValue::FastOpen { .. }));
    (count > 0).then(|| "fast-open option overwritten".into())
}

#[cfg(test)]
mod tests {
    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, options, segment};
    use crate::direction::Direction;

    #[test]
    fn both_forms_of_the_option_become_padding() {
        // At an odd offset: a NOP, fast open with a cookie of eight bytes, then MSS and a NOP.
        let with_cookie = [1, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 5, 0xb4, 0];
        let experimental = [254, 4, 0xf9, 0x89];
        let mut strip = Trial::parse("strip-fast-open");
        for way in Direction::BOTH {
            for flags in [SYN, SYN_ACK] {
                let passed = strip.one(way, 0, &segment(way, flags, &with_cookie, b"early"));
                let left = [&[1; 11][..], &with_cookie[11..]].concat();
                assert_eq!(options(&passed.ip), left);
                assert!(passed.ip.ends_with(b"early"));
                assert_eq!(passed.remarks, ["fast-open option overwritten"]);
                let passed = strip.one(way, 0, &segment(way, flags, &experimental, b""));
                assert_eq!(options(&passed.ip), [1; 4]);
            }
        }
    }

    #[test]
    fn everything_else_passes_untouched() {
        let mut strip = Trial::parse("strip-fast-open");
        let acknowledged = segment(Direction::Up, ACK, &[34, 2, 0, 0], b"");
        let mut later_fragment = segment(Direction::Up, SYN, &[34, 2, 0, 0], b"");
        later_fragment[7] = 1;
        let broken = segment(Direction::Up, SYN, &[2, 0, 34, 2], b"");
        let overlong = segment(Direction::Up, SYN, &[34, 60, 0, 0], b"");
        for ip in [acknowledged, broken, overlong] {
            strip.passes_untouched(Direction::Up, 0, &ip);
        }
        for ip in [later_fragment, vec![0x45; 9], vec![]] {
            strip.passes_unread(&ip);
        }
    }
}
