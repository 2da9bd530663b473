//! A box that drops SYNs because of their options: fast open, MPTCP, ECN, or any option that it
//! does not know. Clients notice only a timeout, and retry with fewer options (RFC 3168 §6.1.1.1,
//! RFC 8684 §3.8, RFC 7413 §4.2.1).

use roundtrip_wire::packet::{Flags, OptionValue, Packet, Tcp};

use super::MiddleboxKind;
use super::filter::FilterHop;
use crate::flow::is_syn;

const NAME: &str = "drop-syn-options";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops each SYN that requests tfo (option 34 or 254), mptcp or ecn, or has an option unknown to old boxes",
    argument: Some("tfo|mptcp|ecn|unknown"),
    make: |argument| {
        let dislike = dislike(argument.unwrap_or_default())?;
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, _, _| {
                packet
                    .tcp()
                    .is_some_and(|segment| is_syn(&segment) && dislike(&segment))
            },
        }))
    },
};

fn dislike(text: &str) -> Result<fn(&Tcp<'_>) -> bool, String> {
    match text {
        "tfo" => Ok(|syn| has(syn, |value| matches!(value, OptionValue::FastOpen { .. }))),
        "mptcp" => Ok(|syn| has(syn, |value| matches!(value, OptionValue::Mptcp(_)))),
        // RFC 3168 §6.1.1: an ECN-setup SYN; RFC 9768 §3.1.1 adds a third flag.
        "ecn" => Ok(|syn| syn.flags().contains(Flags::ECE | Flags::CWR)),
        "unknown" => Ok(|syn| has(syn, |value| !is_classic(value))),
        _ => Err(format!(
            "`{text}` is not a feature that a SYN can request; write tfo, mptcp, ecn or unknown, as in {NAME}:tfo"
        )),
    }
}

fn has(syn: &Tcp<'_>, which: impl Fn(OptionValue<'_>) -> bool) -> bool {
    syn.options().any(|option| which(option.value))
}

/// The options of RFC 9293 §3.2, RFC 7323 and RFC 2018.
fn is_classic(value: OptionValue<'_>) -> bool {
    matches!(
        value,
        OptionValue::MaximumSegmentSize(_)
            | OptionValue::WindowScale(_)
            | OptionValue::SackPermitted
            | OptionValue::Timestamps { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, SYN_ACK, Trial, segment};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn each_drops_only_syns_with_its_option() {
        let classic = [
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        let with = |more: &[u8]| [&classic[..], more].concat();
        let way = Direction::Up;
        let syns = [
            segment(way, SYN, &classic, b""),
            segment(way, SYN, &with(&[34, 2, 1, 1]), b""),
            segment(way, SYN, &with(&[254, 4, 0xf9, 0x89]), b""),
            segment(way, SYN, &with(&[30, 4, 0, 1]), b""),
            segment(way, SYN | 0xc0, &classic, b""),
            segment(way, SYN, &with(&[253, 4, 9, 9]), b""),
        ];
        for (dislike, lost) in [
            ("tfo", [false, true, true, false, false, false]),
            ("mptcp", [false, false, false, true, false, false]),
            ("ecn", [false, false, false, false, true, false]),
            ("unknown", [false, true, true, true, false, true]),
        ] {
            let mut filter = Trial::parse(&format!("drop-syn-options:{dislike}"));
            let drops = |ip: &Vec<u8>| filter.send(way, 0, ip).1 == ["drop-syn-options"];
            assert_eq!(syns.each_ref().map(drops), lost, "{dislike}");
            let answer = segment(Direction::Down, SYN_ACK | 0xc0, &with(&[34, 2, 1, 1]), b"");
            filter.passes_untouched(Direction::Down, 0, &answer);
        }
    }

    #[test]
    fn the_option_is_required() {
        for text in ["drop-syn-options", "drop-syn-options:sack"] {
            let error = text.parse::<Middlebox>().unwrap_err();
            assert!(error.contains("drop-syn-options:tfo"), "{error}");
        }
    }
}
