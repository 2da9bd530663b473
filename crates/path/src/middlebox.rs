//! Middleboxes that interfere with packets: one file each, and one line in [`KINDS`].

mod bleach_ecn;
mod clamp_mss;
mod drop_after_syn_data;
mod drop_dns;
mod drop_icmp;
mod drop_ipv6;
mod drop_split_hello;
mod drop_syn_data;
mod drop_syn_options;
mod drop_udp;
mod duplicate_syn;
mod filter;
mod idle_timeout;
pub(crate) mod nat;
mod rebind;
mod reset;
mod rewrite;
mod strip_fast_open;
mod throttle;
#[cfg(test)]
pub(crate) mod trial;
mod wake_up;

use std::fmt;
use std::str::FromStr;

use crate::hop::Hop;

/// Every kind of middlebox.
const KINDS: &[&MiddleboxKind] = &[
    &strip_fast_open::KIND,
    &drop_syn_data::KIND,
    &drop_after_syn_data::KIND,
    &drop_syn_options::KIND,
    &duplicate_syn::KIND,
    &nat::KIND,
    &rebind::KIND,
    &idle_timeout::KIND,
    &reset::KIND,
    &drop_split_hello::KIND,
    &drop_udp::KIND,
    &drop_icmp::KIND,
    &drop_ipv6::KIND,
    &drop_dns::KIND,
    &bleach_ecn::KIND,
    &clamp_mss::KIND,
    &throttle::KIND,
    &wake_up::KIND,
];

/// A middlebox as a hop, or the reason why its argument is invalid.
pub(crate) type MiddleboxResult = Result<Box<dyn Hop>, String>;

/// A kind of middlebox.
#[derive(Debug)]
pub(crate) struct MiddleboxKind {
    pub(crate) name: &'static str,
    /// The middlebox's effect, as shown to users.
    pub(crate) does: &'static str,
    /// The form of the middlebox's argument, if it takes one.
    pub(crate) argument: Option<&'static str>,
    pub(crate) make: fn(Option<&str>) -> MiddleboxResult,
}

/// A middlebox as users write it: `strip-fast-open`, or with an argument, `idle-timeout:30s`.
#[derive(Clone, Debug)]
pub struct Middlebox {
    kind: &'static MiddleboxKind,
    argument: Option<String>,
}

impl Middlebox {
    /// The name, the form of the argument and the description of each kind.
    pub fn kinds() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
        KINDS
            .iter()
            .map(|kind| (kind.name, kind.argument, kind.does))
    }

    pub(crate) fn make(&self) -> MiddleboxResult {
        (self.kind.make)(self.argument.as_deref())
            .map_err(|why| format!("the box {}: {why}", self.kind.name))
    }
}

impl FromStr for Middlebox {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            format!("there is no box `{name}`; known are {}", names.join(", "))
        })?;
        if kind.argument.is_none() && argument.is_some() {
            return Err(format!("the box {name} takes no argument"));
        }
        let middlebox = Self {
            kind,
            argument: argument.map(Into::into),
        };
        // A wrong argument is reported at once, not when the path is built.
        middlebox.make().map(|_| middlebox)
    }
}

impl fmt::Display for Middlebox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.name)?;
        match &self.argument {
            Some(argument) => write!(formatter, ":{argument}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::trial::{ACK, SYN, datagram, packet, segment, segment_v6};
    use super::*;
    use crate::direction::Direction;
    use crate::hello::examples::client_hello;
    use crate::hop::HopOutput;
    use crate::packet::Packet;
    use roundtrip_model::Random;

    #[test]
    fn each_kind_is_found_by_its_name_and_says_what_it_does() {
        for (name, _, does) in Middlebox::kinds() {
            assert!(does.len() > 20 && does.len() < 110, "{name}: {does}");
            let found = KINDS.iter().filter(|kind| kind.name == name).count();
            assert_eq!(found, 1, "{name}");
        }
        assert!("strip-fast-open".parse::<Middlebox>().is_ok());
        assert!("strip-fast-open:3".parse::<Middlebox>().is_err());
        let unknown = "teapot".parse::<Middlebox>().unwrap_err();
        assert!(unknown.contains("strip-fast-open"), "{unknown}");
    }

    /// One middlebox of each kind, as users write them.
    const ONE_OF_EACH: &[&str] = &[
        "strip-fast-open",
        "drop-syn-data",
        "drop-after-syn-data",
        "drop-syn-options:unknown",
        "duplicate-syn",
        "nat",
        "rebind:1ms",
        "idle-timeout:1s",
        "reset:tls13",
        "drop-split-hello",
        "drop-udp:443",
        "drop-icmp",
        "drop-ipv6",
        "drop-dns:aaaa",
        "bleach-ecn",
        "clamp-mss:1200",
        "throttle:1mbit",
        "wake-up:1s",
    ];

    #[test]
    fn for_any_packet_no_box_panics_or_loses_it_uncounted() {
        let mut random = Random::seeded(5);
        let hello = client_hello(&[0x0304], 100);
        let both = |way| {
            [
                segment(way, SYN, &[2, 4, 5, 0xb4, 34, 4, 7, 8], &hello),
                segment_v6(way, ACK, &[], &hello),
                datagram(way, false, 443, b"something"),
                datagram(way, true, 53, b"something"),
                packet(way, false, 1, &[3, 3, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 20]),
            ]
        };
        assert_eq!(ONE_OF_EACH.len(), KINDS.len());
        for text in ONE_OF_EACH {
            let mut hop = text.parse::<Middlebox>().unwrap().make().unwrap();
            for number in 0..2000 {
                let way = Direction::BOTH[random.below(2)];
                let mut ip = both(way)[random.below(5)].clone();
                for _ in 0..random.below(4) {
                    let at = random.below(ip.len());
                    ip[at] = random.next_u64() as u8;
                }
                ip.truncate(ip.len() - random.below(2) * random.below(ip.len()));
                let at = Duration::from_millis(number);
                let mut exit = HopOutput::default();
                hop.pass(Packet::from_ip(&ip, at), way, at, &mut exit);
                let came_out = exit.moves.len() + exit.losses.len();
                assert!((1..=3).contains(&came_out), "{text}: {ip:?}");
            }
        }
    }
}
