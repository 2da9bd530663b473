//! Named networks: their properties, with sources. Values that were derived rather than measured
//! are marked as such.

/// A named network.
#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    /// The properties, as words of a path.
    pub words: &'static str,
    /// The network that the preset represents, and the source of the figures.
    pub source: &'static str,
}

const fn preset(name: &'static str, words: &'static str, source: &'static str) -> Preset {
    Preset {
        name,
        words,
        source,
    }
}

/// All presets: distances first, then access networks.
pub const PRESETS: &[Preset] = &[
    preset(
        "lan",
        "rtt=300us",
        "One building. An assumption: 10 µs for a kilometre of cable, the rest for two hosts and a switch",
    ),
    preset(
        "metro",
        "rtt=2ms",
        "One city. Between availability zones of one AWS region 0.25 to 3.37 ms were measured: \
         xkyle.com/Measuring-AWS-Region-and-AZ-Latency",
    ),
    preset(
        "continental",
        "rtt=30ms",
        "2 000 km. Derived: light in fibre travels 200 km in a millisecond, and cables are half as long again as the \
         straight line",
    ),
    preset(
        "transatlantic",
        "rtt=90ms",
        "US east coast to France, as in a registry's published experiment with persistent connections, whose SYN-ACK \
         came after 92.2 ms",
    ),
    preset(
        "tokyo-virginia",
        "rtt=170ms",
        "Tokyo to Virginia, as in a published experiment with TCP fast open: at best 161.8 ms for one round trip, \
         344.7 ms for two",
    ),
    preset(
        "geo",
        "rtt=630ms rate=down:18mbit rate=up:3mbit",
        "A geostationary satellite: 558 ms at the edge of its view by distance alone (RFC 2488 §2); 630 ms, 18.13 \
         Mbit/s down and under 3.5 up are the medians of Viasat in Ookla's Speedtest, Q2 2021 (RCR Wireless, 4 August 2021)",
    ),
    preset(
        "starlink",
        "rtt=30ms jitter=down:40ms rate=down:105mbit rate=up:15mbit",
        "Satellites in low orbit. 40 to 60 ms are the quartiles towards European RIPE Atlas anchors (UCLouvain, APNIC \
         blog, 28 November 2022); rates are US medians of Ookla's Speedtest, Q1 2025: 104.71 and 14.84 Mbit/s. We \
         assume that the spread is uniform, and all of it downstream",
    ),
    preset(
        "dial-up",
        "rtt=120ms rate=down:49kbit rate=up:30kbit",
        "WebPageTest's profile `Dial` (connectivity.ini.sample)",
    ),
    preset(
        "edge",
        "rtt=840ms rate=down:240kbit rate=up:200kbit",
        "WebPageTest's profile `Edge` (connectivity.ini.sample)",
    ),
    preset(
        "3g-slow",
        "rtt=400ms rate=500kbit",
        "Chrome's DevTools, preset `3G`: the figures it aims at (NetworkManager.ts)",
    ),
    preset(
        "3g",
        "rtt=300ms rate=down:1600kbit rate=up:768kbit",
        "WebPageTest's profile `3G` (connectivity.ini.sample)",
    ),
    preset(
        "4g-slow",
        "rtt=150ms rate=down:1600kbit rate=up:750kbit",
        "Chrome's DevTools, preset `Slow 4G`, before 2024 `Fast 3G`: the figures it aims at (NetworkManager.ts)",
    ),
    preset(
        "4g",
        "rtt=60ms rate=down:9mbit rate=up:1500kbit",
        "Chrome's DevTools, preset `Fast 4G`: the figures it aims at (NetworkManager.ts)",
    ),
    preset(
        "lte",
        "rtt=70ms jitter=up:10ms rate=12mbit",
        "WebPageTest's profile `LTE` (connectivity.ini.sample). A device waits for its turn to ask for room to send, \
         which comes every 5 to 80 ms (3GPP TS 36.213 §10.1.5); that it comes every 10 ms is our assumption",
    ),
    preset(
        "dsl",
        "rtt=50ms rate=down:1500kbit rate=up:384kbit",
        "WebPageTest's profile `DSL` (connectivity.ini.sample)",
    ),
    preset(
        "cable",
        "rtt=28ms rate=down:5mbit rate=up:1mbit",
        "WebPageTest's profile `Cable` (connectivity.ini.sample)",
    ),
    preset(
        "fibre",
        "rtt=4ms rate=down:20mbit rate=up:5mbit",
        "WebPageTest's profile `FIOS` (connectivity.ini.sample)",
    ),
    preset(
        "wifi",
        "rtt=2ms jitter=down:40ms,pareto",
        "A busy wireless network alone: at 47 access points of a university, half of TCP's packets took over 20 ms and a \
         tenth over 100 ms (WiFi can be the weakest link of round trip network latency in the wild). The \
         shape in between is our assumption",
    ),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_model::Random;

    use super::*;
    use crate::builder::Builder;
    use crate::direction::Direction;
    use crate::hop::{DelayHop, Hop, HopOutput};
    use crate::link::Link;
    use crate::packet::Packet;

    #[test]
    fn each_preset_is_valid_and_has_a_source() {
        for preset in PRESETS {
            let mut path = Builder::default();
            path.set("preset", preset.name).unwrap();
            assert!(preset.words.contains("rtt="), "{}", preset.name);
            assert!(preset.source.len() > 50, "{}", preset.name);
            let same = PRESETS.iter().filter(|other| other.name == preset.name);
            assert_eq!(same.count(), 1, "{}", preset.name);
        }
    }

    /// The delays, in ms, that `packets` packets meet on a link, at a rate of `a_second` per
    /// second.
    fn delays(link: &Link, seed: u64, a_second: f64, packets: u32) -> Vec<f64> {
        let mut hop = DelayHop::new(link.delay, link.jitter, None, Random::seeded(seed));
        let mut exit = HopOutput::default();
        let mut delay = |number| {
            let at = Duration::from_secs_f64(f64::from(number) / a_second);
            hop.pass(Packet::from_ip(&[], at), Direction::Up, at, &mut exit);
            let spent = exit.moves.pop().unwrap().at.saturating_sub(at);
            spent.as_secs_f64() * 1e3
        };
        (0..packets).map(&mut delay).collect()
    }

    #[test]
    fn delays_match_their_source_at_any_traffic_density() {
        // The share of packets that take at most this many ms, there and back.
        for (name, shares) in [
            ("starlink", [(0.25, 40.0), (0.75, 60.0)]),
            ("wifi", [(0.5, 20.0), (0.9, 100.0)]),
        ] {
            let mut path = Builder::default();
            path.set("preset", name).unwrap();
            let link = &path.current().link;
            for (a_second, packets) in [
                (5.0, 20_000),
                (50.0, 20_000),
                (500.0, 50_000),
                (2_000.0, 200_000),
            ] {
                let up = delays(&link.up, 1, a_second, packets);
                let down = delays(&link.down, 2, a_second, packets);
                let mut all: Vec<f64> = up.iter().zip(&down).map(|(up, down)| up + down).collect();
                all.sort_by(f64::total_cmp);
                for (share, expected_ms) in shares {
                    let found_ms = all[(share * f64::from(packets)) as usize];
                    let ratio = found_ms / expected_ms;
                    assert!(
                        (0.85..1.15).contains(&ratio),
                        "{name}, {a_second} a second: {share} under {found_ms}, not {expected_ms} ms"
                    );
                }
            }
        }
    }

    #[test]
    fn other_words_change_it() {
        let mut path = Builder::default();
        path.set("preset", "3g").unwrap();
        path.set("rtt", "10ms").unwrap();
        let link = &path.current().link.down;
        assert_eq!(link.delay.as_millis(), 5);
        assert!(link.rate.is_some());
    }
}
