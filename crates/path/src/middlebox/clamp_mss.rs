//! A box that lowers the segment size that SYN and SYN-ACK announce, as routers in front of tunnels
//! and DSL lines do: full segments then fit, and path MTU discovery is not needed (RFC 4459 §3.2,
//! RFC 2923 §2.3).

use roundtrip_wire::packet::{Flags, OptionValue, PacketMut};

use super::MiddleboxKind;
use super::rewrite::RewriteHop;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: "clamp-mss",
    does: "lowers the segment size that SYN and SYN-ACK announce to BYTES",
    argument: Some("BYTES"),
    make: |argument| {
        let most = size(argument.unwrap_or_default())?;
        Ok(Box::new(RewriteHop(move |packet: &mut PacketMut<'_>| {
            clamp(packet, most)
        })))
    },
};

fn size(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("`{text}` is not a number of bytes; write it like clamp-mss:1360"))
}

fn clamp(packet: &mut PacketMut<'_>, most: u16) -> Option<String> {
    let segment = packet.view().tcp()?;
    if !segment.flags().contains(Flags::SYN) {
        return None;
    }
    let announced = segment.options().find_map(|option| match option.value {
        OptionValue::MaximumSegmentSize(size) => Some(size),
        _ => None,
    })?;
    let done = announced > most && packet.set_maximum_segment_size(most);
    done.then(|| format!("MSS lowered from {announced} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{ACK, SYN, SYN_ACK, Trial, options, segment, segment_v6};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn a_larger_size_is_lowered_and_a_smaller_one_stays() {
        let mut clamp = Trial::parse("clamp-mss:1360");
        let mss = |size: u16| [&[1, 2, 4][..], &size.to_be_bytes(), &[1, 1, 1]].concat();
        for (way, flags) in [(Direction::Up, SYN), (Direction::Down, SYN_ACK)] {
            for ip in [
                segment(way, flags, &mss(1460), b""),
                segment_v6(way, flags, &mss(1440), b""),
            ] {
                let passed = clamp.one(way, 0, &ip);
                assert_eq!(options(&passed.ip), mss(1360));
                assert!(passed.remarks[0].ends_with("to 1360"));
            }
            clamp.passes_untouched(way, 0, &segment(way, flags, &mss(1360), b""));
            clamp.passes_untouched(way, 0, &segment(way, flags, &[], b""));
            clamp.passes_untouched(way, 0, &segment(way, ACK, &mss(1460), b""));
        }
    }

    #[test]
    fn the_size_must_be_one() {
        for text in ["clamp-mss", "clamp-mss:", "clamp-mss:0", "clamp-mss:70000"] {
            let error = text.parse::<Middlebox>().unwrap_err();
            assert!(error.contains("clamp-mss:1360"), "{error}");
        }
    }
}
