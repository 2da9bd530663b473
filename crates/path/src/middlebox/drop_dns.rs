//! A box that drops DNS queries over UDP for one record type, as some firewalls and home routers do
//! with AAAA or HTTPS: other queries are answered, queries of this type never (RFC 4074 §4.1).

use roundtrip_wire::dns;
use roundtrip_wire::packet::Packet;

use super::MiddleboxKind;
use super::filter::FilterHop;

const NAME: &str = "drop-dns";
const DNS: u16 = 53;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops DNS queries over UDP for records of one TYPE, so the answer never comes",
    argument: Some("a|aaaa|https"),
    make: |argument| {
        let kind = kind(argument.unwrap_or_default())?;
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, _, _| asks_for(packet, kind),
        }))
    },
};

fn kind(text: &str) -> Result<dns::Kind, String> {
    match text {
        "a" => Ok(dns::Kind::A),
        "aaaa" => Ok(dns::Kind::AAAA),
        "https" => Ok(dns::Kind::HTTPS),
        _ => Err(format!(
            "`{text}` is not a record type that clients ask for; write a, aaaa or https, as in {NAME}:aaaa"
        )),
    }
}

fn asks_for(packet: &Packet<'_>, kind: dns::Kind) -> bool {
    let datagram = packet
        .udp()
        .filter(|datagram| datagram.destination_port() == DNS);
    let message = datagram.and_then(|datagram| dns::Message::parse(datagram.payload()).ok());
    message.is_some_and(|message| {
        let mut questions = message.questions.iter();
        !message.response && questions.any(|question| question.kind == kind)
    })
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::dns::{Kind, Query};

    use super::super::trial::{Trial, datagram};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn queries_for_that_type_and_no_others() {
        let up = Direction::Up;
        let mut filter = Trial::parse("drop-dns:aaaa");
        let query = |kind| {
            let name = "origin.test".parse().unwrap();
            Query::new(7, name, kind).encode().unwrap()
        };
        for is_v6 in [false, true] {
            let aaaa = query(Kind::AAAA);
            filter.loses(up, 0, &datagram(up, is_v6, 53, &aaaa), "drop-dns");
            filter.passes_untouched(up, 0, &datagram(up, is_v6, 5353, &aaaa));
            for other in [query(Kind::A), query(Kind::HTTPS), b"no DNS".to_vec()] {
                filter.passes_untouched(up, 0, &datagram(up, is_v6, 53, &other));
            }
        }
    }

    #[test]
    fn the_type_is_required() {
        for text in ["drop-dns", "drop-dns:mx"] {
            let error = text.parse::<Middlebox>().unwrap_err();
            assert!(error.contains("drop-dns:aaaa"), "{error}");
        }
    }
}
