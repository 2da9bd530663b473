//! Any DNS message that is written is read back the same, including compression.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use roundtrip_wire::dns::{Data, Kind, Message, Name, Question, Rcode, Record, Service, Soa};

fn any_name() -> impl Strategy<Value = Name> {
    let labels = vec("[a-c_-][a-z0-9]{0,8}", 0..5);
    labels.prop_map(|labels| {
        if labels.is_empty() {
            Name::root()
        } else {
            labels.join(".").parse().unwrap()
        }
    })
}

prop_compose! {
    fn any_service()(
        (priority, port, no_default_alpn) in any::<(u16, Option<u16>, bool)>(),
        target in any_name(),
        alpn in vec("[a-z0-9/.]{1,10}", 0..3),
        four in vec(any::<u32>(), 0..3),
        six in vec(any::<u128>(), 0..3),
        ech in option::of(vec(any::<u8>(), 0..9)),
        others in btree_map(7_u16.., vec(any::<u8>(), 0..9), 0..3),
    ) -> Service {
        Service {
            priority,
            target,
            mandatory: others.keys().copied().collect(),
            no_default_alpn: no_default_alpn && !alpn.is_empty(),
            alpn,
            port,
            ipv4_hints: four.into_iter().map(Ipv4Addr::from).collect(),
            ipv6_hints: six.into_iter().map(Ipv6Addr::from).collect(),
            ech,
            others: others.into_iter().collect(),
        }
    }
}

fn any_soa() -> impl Strategy<Value = Soa> {
    (any_name(), any_name(), any::<[u32; 5]>()).prop_map(|(primary, mailbox, numbers)| {
        let [serial, refresh, retry, expire, minimum] = numbers;
        Soa {
            primary,
            mailbox,
            serial,
            refresh,
            retry,
            expire,
            minimum,
        }
    })
}

fn any_record() -> impl Strategy<Value = Record> {
    let other = (1000_u16.., vec(any::<u8>(), 0..20));
    let data = prop_oneof![
        any::<u32>().prop_map(|bits| Data::A(bits.into())),
        any::<u128>().prop_map(|bits| Data::Aaaa(bits.into())),
        any_name().prop_map(Data::Cname),
        any_soa().prop_map(Data::Soa),
        any_service().prop_map(Data::Https),
        any_service().prop_map(Data::Svcb),
        other.prop_map(|(kind, bytes)| Data::Other {
            kind: Kind(kind),
            bytes
        }),
    ];
    (any_name(), 0..1_u32 << 31, data).prop_map(|(name, ttl, data)| Record { name, ttl, data })
}

prop_compose! {
    fn any_message()(
        id in any::<u16>(),
        flags in any::<[bool; 5]>(),
        rcode in 0_u16..0x1000,
        udp_size in option::of(any::<u16>()),
        questions in vec((any_name(), any::<u16>()), 0..3),
        sections in [vec(any_record(), 0..8), vec(any_record(), 0..3), vec(any_record(), 0..3)],
    ) -> Message {
        let [response, authoritative, truncated, recursion_desired, recursion_available] = flags;
        let [answers, authorities, additionals] = sections;
        Message {
            id, response, authoritative, truncated, recursion_desired, recursion_available,
            rcode: Rcode(if udp_size.is_some() { rcode } else { rcode & 0xf }),
            questions: questions
                .into_iter()
                .map(|(name, kind)| Question { name, kind: Kind(kind) })
                .collect(),
            answers, authorities, additionals, udp_size,
        }
    }
}

fn escape(byte: u8) -> String {
    format!("\\{byte:03}")
}

proptest! {
    #[test]
    fn written_messages_are_read_back(message in any_message()) {
        let bytes = message.encode().unwrap();
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
    }

    #[test]
    fn names_survive_their_presentation(labels in vec(vec(any::<u8>(), 1..20), 1..6)) {
        let escaped: Vec<String> = labels
            .iter()
            .map(|label| label.iter().copied().map(escape).collect::<Vec<_>>().concat())
            .collect();
        let name: Name = escaped.join(".").parse().unwrap();
        prop_assert_eq!(name.to_string().parse(), Ok(name.clone()));
        let lower: Vec<Vec<u8>> = labels.iter().map(|label| label.to_ascii_lowercase()).collect();
        prop_assert_eq!(name.labels().collect::<Vec<_>>(), lower);
    }
}
